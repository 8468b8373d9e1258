// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exchanges of the kernels for columns touch every bank of shared memory once in each of their phases.
#include "emulator.hpp"
// After the emulator:
#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "kernels/columns.cuh"
#include "kernels/tile_columns.cuh"
#include "tuning/sm_90.hpp"

namespace {

using papillon::cuda::ColumnShape;
using papillon::cuda::TileColumnShape;
using papillon::cuda::TileColumnTuning;

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
  using Shape = ColumnShape<C, LogN, log_w, 16 / sizeof(C), false>;
  INFO(sizeof(S), "-byte scalar, 2^", LogN, " points");
  CHECK(without_conflicts<Shape, log_w>([](int rest, int i) { return rest * 16 + i; }));
  if (Shape::rounds == 3) {
    CHECK(without_conflicts<Shape, log_w>(
        [](int rest, int i) { return (rest & 15) | (rest & ~15) << 4 | i << 4; }));
  }
  CHECK(without_conflicts<Shape, log_w>([](int rest, int i) { return rest | i << (LogN - 4); }));
}

/// `lanes` lanes at a time read a word of 128 / lanes bytes each, at `offset(thread, i)`: all of 128 bytes.
template <class Offset>
bool all_banks(int threads, int lanes, const Offset& offset) {
  const unsigned word = 128 / lanes;
  for (int i = 0; i < 32; ++i)
    for (int first = 0; first < threads; first += lanes) {
      std::set<unsigned> words;
      for (int thread = first; thread < first + lanes; ++thread)
        words.insert(offset(thread, i) / word % lanes);
      if (words.size() != static_cast<std::size_t>(lanes)) return false;
    }
  return true;
}

template <class S, int LogN, int RowBytes>
void check_tiles() {
  using C = papillon::compute_type<S>;
  constexpr TileColumnTuning t =
      papillon::cuda::sm_90::tile_column_tuning(sizeof(S), sizeof(C), LogN, RowBytes);
  constexpr int width = 1 << t.width_bits;
  using Shape = TileColumnShape<C, LogN - t.split, t.width_bits>;
  INFO(sizeof(S), "-byte scalar, 2^", LogN, " points, rows of ", RowBytes, " bytes");
  CHECK(all_banks(Shape::threads, 16, [](int thread, int i) {
    return Shape::cell_offset(thread % 32 / width * 32 + i, thread % width);
  }));
  CHECK(all_banks(Shape::threads, 16, [](int thread, int i) {
    return Shape::cell_offset(thread / width | i << Shape::last_bit, thread % width);
  }));
  if constexpr (sizeof(S) == 2) {
    CHECK(all_banks(Shape::threads, 32, [](int thread, int i) {
      return Shape::template offset<t.width_bits + 2, 7>(thread % 32 / width * 32 + i, thread % width << 2);
    }));
  }
}

template <class S, int... K>
void check_all(std::integer_sequence<int, K...>) {
  (check<S, K + 6>(), ...);
  (check_tiles<S, K + 6, 128>(), ...);
  (check_tiles<S, K + 6, 64>(), ...);
  (check_tiles<S, K + 6, 32>(), ...);
}

}  // namespace

TEST_CASE("columns: no bank conflicts" * doctest::test_suite("reduced")) {
  check_all<float>(std::make_integer_sequence<int, 7>{});
  check_all<double>(std::make_integer_sequence<int, 7>{});
  check_all<papillon::half>(std::make_integer_sequence<int, 7>{});
}
