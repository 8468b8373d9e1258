// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exchanges of the columns kernel touch every bank of shared memory once in each of their phases.
#include "emulator.hpp"
// After the emulator:
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "kernels/columns.cuh"
#include "tuning/sm_90.hpp"

namespace {

using papillon::cuda::ColumnShape;

/// Eight lanes at a time move 16 bytes each: 128 bytes, which must lie in different 16-byte columns of banks.
template <class Shape, int LogW, class PointOf>
bool without_conflicts(const PointOf& point_of) {
  for (int i = 0; i < 16; ++i)
    for (int first = 0; first < Shape::threads; first += 8) {
      std::set<unsigned> columns;
      for (int thread = first; thread < first + 8; ++thread)
        columns.insert(Shape::offset(point_of(thread >> LogW, i), thread & ((1 << LogW) - 1)) / 16 % 8);
      if (columns.size() != 8) return false;
    }
  return true;
}

template <class S, int LogN>
void check() {
  constexpr int log_w = papillon::cuda::sm_90::column_tuning(sizeof(S), LogN).chunk_bits;
  using C = papillon::compute_type<S>;
  using Shape = ColumnShape<C, LogN, log_w, 16 / sizeof(C), true>;
  INFO(sizeof(S), "-byte scalar, 2^", LogN, " points");
  CHECK(without_conflicts<Shape, log_w>([](int rest, int i) { return rest * 16 + i; }));
  if (Shape::rounds == 3) {
    CHECK(without_conflicts<Shape, log_w>(
        [](int rest, int i) { return (rest & 15) | (rest & ~15) << 4 | i << 4; }));
  }
  CHECK(without_conflicts<Shape, log_w>([](int rest, int i) { return rest | i << (LogN - 4); }));
}

template <class S, int... K>
void check_all(std::integer_sequence<int, K...>) {
  (check<S, K + 6>(), ...);
}

}  // namespace

TEST_CASE("columns: no bank conflicts" * doctest::test_suite("reduced")) {
  check_all<float>(std::make_integer_sequence<int, 7>{});
  check_all<double>(std::make_integer_sequence<int, 7>{});
  check_all<papillon::half>(std::make_integer_sequence<int, 7>{});
}
