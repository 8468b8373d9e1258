// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fold visits exactly the lines of the caller's array, whatever the strides; and merges what it can.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "papillon/core/fold.hpp"
#include "papillon/core/ordering.hpp"

namespace {

using papillon::ConstTensorDescriptor;
using papillon::Fold;
using papillon::ScalarType;
using Line =
    std::vector<std::pair<std::int64_t, std::int64_t>>;  // the offsets in x and y of one transform's points

ConstTensorDescriptor make(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides,
                           ScalarType type = ScalarType::float32) {
  ConstTensorDescriptor tensor{nullptr, type, static_cast<int>(extents.size()), {}, {}};
  std::copy(extents.begin(), extents.end(), tensor.extents.begin());
  std::copy(strides.begin(), strides.end(), tensor.strides.begin());
  return tensor;
}

std::vector<std::int64_t> dense(const std::vector<std::int64_t>& extents,
                                const std::vector<std::size_t>& slowest_first) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[slowest_first[d]] = stride;
    stride *= std::max<std::int64_t>(extents[slowest_first[d]], 1);
  }
  return strides;
}

/// The lines, from the definition: every index tuple but the axis, and along the axis by groups.
std::vector<Line> lines_of(const ConstTensorDescriptor& x, const ConstTensorDescriptor& y, int axis,
                           std::int64_t group) {
  std::vector<Line> lines;
  const std::int64_t parts = papillon::is_complex(x.type) ? 2 : 1;
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t length = group > 0 ? group : x.extents[a];
  std::array<std::int64_t, papillon::max_rank> index{};
  std::int64_t count = 1;
  for (int d = 0; d < x.rank; ++d) count *= d == axis ? 1 : x.extents[static_cast<std::size_t>(d)];
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, fx = 0, fy = 0;
    for (int d = x.rank - 1; d >= 0; --d) {
      if (d == axis) continue;
      const auto e = static_cast<std::size_t>(d);
      index[e] = rest % x.extents[e];
      rest /= x.extents[e];
      fx += index[e] * x.strides[e];
      fy += index[e] * y.strides[e];
    }
    for (std::int64_t first = 0; first < x.extents[a]; first += length)
      for (std::int64_t part = 0; part < parts; ++part) {
        Line line;
        for (std::int64_t j = first; j < first + length; ++j)
          line.emplace_back((fx + j * x.strides[a]) * parts + part, (fy + j * y.strides[a]) * parts + part);
        lines.push_back(line);
      }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<Line> lines_of(const Fold& fold) {
  std::vector<Line> lines;
  for (std::int64_t o = 0; o < fold.outer_count(); ++o) {
    const auto offset = fold.outer_offset(o);
    for (std::int64_t i = 0; i < fold.inner.extent; ++i) {
      Line line;
      for (std::int64_t j = 0; j < fold.axis.extent; ++j)
        line.emplace_back(offset.x + i * fold.inner.x_stride + j * fold.axis.x_stride,
                          offset.y + i * fold.inner.y_stride + j * fold.axis.y_stride);
      lines.push_back(line);
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The fold of x and y around one axis.
Fold fold_of(const papillon::ConstTensorDescriptor& x, const papillon::ConstTensorDescriptor& y, int axis,
             std::int64_t group = 0) {
  const auto split = papillon::split_indices(x, y, std::span<const int>(&axis, 1), group);
  return papillon::fold_around(split.axes, 0, split.others);
}

}  // namespace

TEST_CASE("fold: visits every line once, for any strides, axis, group and rank") {
  std::mt19937 engine(11);
  const auto below = [&](int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 20000; ++trial) {
    const int rank = 1 + below(papillon::max_rank);
    const int axis = below(rank);
    std::vector<std::int64_t> extents;
    std::vector<std::size_t> x_order, y_order;
    for (int d = 0; d < rank; ++d) {
      extents.push_back(1 + below(rank > 5 ? 2 : 4));
      x_order.push_back(static_cast<std::size_t>(d));
      y_order.push_back(static_cast<std::size_t>(d));
    }
    extents[static_cast<std::size_t>(axis)] = std::int64_t{1} << below(4);
    if (below(2) == 0) std::shuffle(x_order.begin(), x_order.end(), engine);
    if (below(2) == 0) y_order = x_order;
    if (below(3) == 0) std::shuffle(y_order.begin(), y_order.end(), engine);
    auto x_strides = dense(extents, x_order), y_strides = dense(extents, y_order);
    for (auto* strides : {&x_strides, &y_strides})
      for (auto& stride : *strides) {
        if (below(8) == 0) stride *= 1 + below(3);
        if (below(12) == 0) stride = -stride;
      }
    if (below(6) == 0) x_strides[static_cast<std::size_t>(below(rank))] = 0;
    const auto type = papillon::all_scalar_types[static_cast<std::size_t>(below(8))];
    const auto x = make(extents, x_strides, type), y = make(extents, y_strides, type);
    const std::int64_t n = extents[static_cast<std::size_t>(axis)];
    const std::int64_t group = below(2) == 0 ? 0 : std::int64_t{1} << below(4);
    if (group > n) continue;
    const Fold fold = fold_of(x, y, axis, group);
    CHECK(fold.axis.extent == (group > 0 ? group : n));
    REQUIRE(lines_of(fold) == lines_of(x, y, axis, group));
  }
}

TEST_CASE("fold: a dense array has at most one outer index, and the inner is all that varies faster") {
  const std::vector<std::int64_t> extents = {2, 3, 4, 8, 5, 6};
  const auto strides = dense(extents, {0, 1, 2, 3, 4, 5});
  const auto x = make(extents, strides);
  std::int64_t outer = 1, inner = 2 * 3 * 4 * 8 * 5 * 6;
  for (int axis = 0; axis < 6; ++axis) {
    const std::int64_t n = extents[static_cast<std::size_t>(axis)];
    inner /= n;
    const Fold fold = fold_of(x, x, axis);
    CHECK(fold.outer_rank <= 1);
    CHECK(fold.outer_count() == outer);
    CHECK(fold.axis.extent == n);
    CHECK(fold.axis.x_stride == inner);
    CHECK(fold.inner.extent == inner);
    if (inner > 1) CHECK(fold.inner.x_stride == 1);
    outer *= n;
  }
}

TEST_CASE("fold: a complex array has its parts as the fastest index") {
  const auto x = make({3, 8}, {8, 1}, ScalarType::complex64);
  const Fold fold = fold_of(x, x, 1);
  CHECK(fold.axis.extent == 8);
  CHECK(fold.axis.x_stride == 2);
  CHECK(fold.inner.extent == 2);
  CHECK(fold.inner.x_stride == 1);
  CHECK(fold.outer_count() == 3);
  const Fold columns = fold_of(x, x, 0);
  CHECK(columns.axis.x_stride == 16);
  CHECK(columns.inner.extent == 16);  // columns and parts together
}

TEST_CASE("fold: sizes beyond 32 bits") {
  const std::int64_t n = std::int64_t{1} << 20, rows = (std::int64_t{1} << 31) + 1;
  const auto x = make({rows, n}, {n, 1});
  const Fold fold = fold_of(x, x, 1);
  CHECK(fold.outer_count() == rows);
  CHECK(fold.outer_offset(rows - 1).x == (rows - 1) * n);
  CHECK(fold.outer_offset(rows - 1).y == (rows - 1) * n);
  const Fold columns = fold_of(make({n, rows}, {rows, 1}), make({n, rows}, {rows, 1}), 0);
  CHECK(columns.inner.extent == rows);
  CHECK(columns.axis.x_stride == rows);
  const auto split = make({67, 33554432, 8}, {std::int64_t{33554432} * 9, 9, 1});
  const Fold wide = fold_of(split, split, 2);
  CHECK(wide.outer_count() == std::int64_t{67} * 33554432);
  CHECK(wide.outer_offset(wide.outer_count() - 1).x == (std::int64_t{67} * 33554432 - 1) * 9);
}

TEST_CASE("ordering: places and rows are inverse, and as defined") {
  for (int bits = 0; bits <= 12; ++bits)
    for (std::int64_t i = 0; i < std::int64_t{1} << bits; ++i) {
      std::int64_t reversed = 0;
      for (int b = 0; b < bits; ++b) reversed |= ((i >> b) & 1) << (bits - 1 - b);
      REQUIRE(papillon::reverse_bits(i, bits) == reversed);
      REQUIRE(papillon::natural_index(papillon::Ordering::natural, i, bits) == i);
      REQUIRE(papillon::natural_index(papillon::Ordering::dyadic, i, bits) == reversed);
      for (const auto ordering :
           {papillon::Ordering::natural, papillon::Ordering::sequency, papillon::Ordering::dyadic}) {
        REQUIRE(papillon::ordered_place(ordering, papillon::natural_index(ordering, i, bits), bits) == i);
        REQUIRE(papillon::natural_index(ordering, papillon::ordered_place(ordering, i, bits), bits) == i);
      }
    }
  for (const int bits : {33, 40, 62}) {
    const std::int64_t top = std::int64_t{1} << (bits - 1);
    CHECK(papillon::reverse_bits(1, bits) == top);
    CHECK(papillon::reverse_bits(top, bits) == 1);
    for (const std::int64_t i : {top + 5, top / 3, top * 2 - 1})
      for (const auto ordering : {papillon::Ordering::sequency, papillon::Ordering::dyadic})
        CHECK(papillon::ordered_place(ordering, papillon::natural_index(ordering, i, bits), bits) == i);
  }
}

TEST_CASE("tensor: row_major descriptors") {
  std::vector<float> data(24);
  const auto y = papillon::row_major(data.data(), {2, 3, 4});
  CHECK(y.data == data.data());
  CHECK(y.type == ScalarType::float32);
  CHECK(y.rank == 3);
  CHECK(std::vector<std::int64_t>(y.shape().begin(), y.shape().end()) == std::vector<std::int64_t>{2, 3, 4});
  CHECK(y.strides[0] == 12);
  CHECK(y.strides[1] == 4);
  CHECK(y.strides[2] == 1);
  const papillon::ConstTensorDescriptor x = y;
  CHECK(x.data == data.data());
  CHECK(x.strides == y.strides);
  static_assert(std::is_same_v<decltype(papillon::row_major(static_cast<const float*>(nullptr), {1})),
                               ConstTensorDescriptor>);
  static_assert(!std::is_convertible_v<ConstTensorDescriptor, papillon::TensorDescriptor>);
}
