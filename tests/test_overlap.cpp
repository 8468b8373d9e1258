// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Overlap of strided arrays against the sets of bytes themselves.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "papillon/core/overlap.hpp"
#include "papillon/core/scalar.hpp"

namespace {

using papillon::ConstTensorDescriptor;
using papillon::detail::Overlap;

const char memory[1] = {};  // addresses only; nothing is read

ConstTensorDescriptor make(std::int64_t first, const std::vector<std::int64_t>& extents,
                           const std::vector<std::int64_t>& strides,
                           papillon::ScalarType type = papillon::ScalarType::float32) {
  const auto address =
      reinterpret_cast<std::uintptr_t>(&memory[0]) + (std::uintptr_t{1} << 20) +
      static_cast<std::uintptr_t>(first * static_cast<std::int64_t>(papillon::size_of(type)));
  ConstTensorDescriptor tensor{
      reinterpret_cast<const void*>(address), type, static_cast<int>(extents.size()), {}, {}};
  std::copy(extents.begin(), extents.end(), tensor.extents.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  return tensor;
}

std::vector<std::uintptr_t> bytes_of(const ConstTensorDescriptor& tensor) {
  std::vector<std::uintptr_t> bytes;
  const auto size = papillon::size_of(tensor.type);
  std::int64_t count = 1;
  for (const auto extent : tensor.shape()) count *= extent;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, offset = 0;
    for (std::size_t d = static_cast<std::size_t>(tensor.rank); d-- > 0; rest /= tensor.extents[d])
      offset += rest % tensor.extents[d] * tensor.strides[d];
    const auto first = reinterpret_cast<std::uintptr_t>(tensor.data) +
                       static_cast<std::uintptr_t>(offset * static_cast<std::int64_t>(size));
    for (std::size_t b = 0; b < size; ++b) bytes.push_back(first + b);
  }
  return bytes;
}

}  // namespace

TEST_CASE("overlap: equals the intersection of the bytes") {
  std::mt19937 engine(13);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  int counts[3] = {};
  for (int trial = 0; trial < 60000; ++trial) {
    const int rank = 1 + below(4);
    std::vector<std::int64_t> extents, x_strides, y_strides;
    for (int d = 0; d < rank; ++d) {
      extents.push_back(below(20) == 0 ? 0 : 1 + below(5));
      x_strides.push_back(below(25) - 8);
      y_strides.push_back(below(2) == 0 ? x_strides.back() : below(25) - 8);
    }
    const auto type = papillon::all_scalar_types[static_cast<std::size_t>(below(8))];
    const auto x = make(below(3) == 0 ? 0 : below(60), extents, x_strides, type);
    const auto y = make(below(3) == 0 ? 0 : below(60), extents, y_strides, type);
    const auto x_bytes = bytes_of(x);
    const std::set<std::uintptr_t> y_bytes = [&] {
      const auto all = bytes_of(y);
      return std::set(all.begin(), all.end());
    }();
    const bool meets =
        std::any_of(x_bytes.begin(), x_bytes.end(), [&](auto byte) { return y_bytes.contains(byte); });
    const auto answer = papillon::detail::overlap(x, y);
    ++counts[static_cast<int>(answer)];
    INFO("trial ", trial);
    if (!meets) {
      // Empty arrays may also count as the same when their descriptors agree.
      REQUIRE((answer == Overlap::none || (x_bytes.empty() && answer == Overlap::same)));
    } else {
      REQUIRE(answer != Overlap::none);
      const bool same = x.data == y.data && x.strides == y.strides;
      if (same) REQUIRE(answer == Overlap::same);
      // Strides of an extent of 1 mean nothing: two that differ there only may count as the same.
      if (answer == Overlap::same) {
        REQUIRE(x.data == y.data);
        for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d)
          REQUIRE((x.strides[d] == y.strides[d] || extents[d] == 1));
      }
    }
    const std::set<std::uintptr_t> distinct(x_bytes.begin(), x_bytes.end());
    REQUIRE(papillon::detail::overlaps_itself(x) == (distinct.size() < x_bytes.size()));
  }
  for (const int count : counts) CHECK(count > 500);  // every answer was met
}

TEST_CASE("overlap: named cases") {
  using papillon::detail::overlap;
  const auto array = make(0, {64, 64}, {64, 1});
  CHECK(overlap(array, array) == Overlap::same);
  CHECK(overlap(array, make(0, {64, 64}, {1, 64})) == Overlap::partial);
  CHECK(overlap(array, make(64 * 64, {64, 64}, {64, 1})) == Overlap::none);
  CHECK(overlap(array, make(64 * 64 - 1, {64, 64}, {64, 1})) == Overlap::partial);
  // Even and odd columns, even and odd rows, left and right halves, upper and lower.
  CHECK(overlap(make(0, {64, 32}, {64, 2}), make(1, {64, 32}, {64, 2})) == Overlap::none);
  CHECK(overlap(make(0, {32, 64}, {128, 1}), make(64, {32, 64}, {128, 1})) == Overlap::none);
  CHECK(overlap(make(0, {64, 32}, {64, 1}), make(32, {64, 32}, {64, 1})) == Overlap::none);
  CHECK(overlap(make(0, {64, 33}, {64, 1}), make(32, {64, 32}, {64, 1})) == Overlap::partial);
  // The same in arrays of billions of elements: the answer does not enumerate.
  for (const std::int64_t rows : {std::int64_t{1000}, std::int64_t{100000}, (std::int64_t{1} << 31) + 1}) {
    INFO("rows ", rows);
    CHECK(overlap(make(0, {rows, 4}, {8, 2}), make(1, {rows, 4}, {8, 2})) == Overlap::none);
    CHECK(overlap(make(0, {rows, 4}, {8, 1}), make(4, {rows, 4}, {8, 1})) == Overlap::none);
    CHECK(overlap(make(0, {4, rows}, {2 * rows, 2}), make(1, {4, rows}, {2 * rows, 2})) == Overlap::none);
    CHECK(overlap(make(0, {rows, 8}, {8, 1}), make(8, {rows, 8}, {8, 1})) == Overlap::partial);
    CHECK(overlap(make(0, {rows, 8}, {8, 1}), make(8 * rows, {rows, 8}, {8, 1})) == Overlap::none);
  }
  const std::int64_t rows = (std::int64_t{1} << 31) + 1;
  CHECK(!papillon::detail::overlaps_itself(make(0, {rows, 8}, {8, 1})));
  CHECK(papillon::detail::overlaps_itself(make(0, {rows, 8}, {7, 1})));
  CHECK(papillon::detail::overlaps_itself(make(0, {2, 8}, {0, 1})));
  CHECK(!papillon::detail::overlaps_itself(make(0, {1, 8}, {0, 1})));
  // A misaligned neighbour: elements of y start inside elements of x.
  auto shifted = make(0, {4}, {2});
  shifted.data = static_cast<const char*>(shifted.data) + 2;
  CHECK(overlap(make(0, {4}, {2}), shifted) == Overlap::partial);
}
