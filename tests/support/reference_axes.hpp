// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The oracle for transforms of several axes, and for results rounded between passes.

#include <algorithm>
#include <vector>

#include "support/reference.hpp"

namespace papillon_test {

/// Where `intermediate = storage` rounds on the way along an axis: after the stage of the bit returned; -1
/// for nowhere. As documented: axes of up to 2^19 points are not rounded within.
inline int rounded_after_bit(std::int64_t n, int bits) {
  if (n <= 1 << 19) return -1;
  int whole = 0;
  while ((n >> whole) > 1) ++whole;
  int lower = 13;
  if (whole > 24) lower = whole - 11;
  if (whole > 26) lower = 15;
  if (whole > 30) lower = whole - 15;
  return std::min(lower, bits) - 1;
}

/// The contract for `options.axes` of a dense row-major array of reals: the axes from the last to the first,
/// each line of each as `reference_sums` says; signs by the index tuple over the axes, the last one fastest.
template <class T>
std::vector<T> reference_axes(const Shape& shape, const std::vector<T>& values,
                              const papillon::HadamardOptions& options) {
  using C = papillon::compute_type<T>;
  const bool rounds = options.intermediate == papillon::Intermediate::storage;
  const auto rank = std::ssize(shape);
  std::vector<int> axes;
  for (const int axis : options.axes.values())
    axes.push_back(axis < 0 ? axis + static_cast<int>(rank) : axis);
  std::sort(axes.begin(), axes.end(), std::greater<>());

  // The number of each element's index tuple over the axes.
  std::int64_t points = 1;
  std::vector<std::int64_t> number(values.size(), 0);
  for (const int axis : axes) {
    std::int64_t inner = 1;
    for (auto d = rank - 1; d > axis; --d) inner *= shape[static_cast<std::size_t>(d)];
    const std::int64_t n = shape[static_cast<std::size_t>(axis)];
    for (std::size_t e = 0; e < values.size(); ++e)
      number[e] += static_cast<std::int64_t>(e) / inner % n * points;
    points *= n;
  }
  std::vector<std::int8_t> signs(options.signs.values.begin(), options.signs.values.end());
  if (options.signs.seed) signs = signs_of_seed(*options.signs.seed, points);
  const auto with_sign = [&](C value, std::size_t element, papillon::SignSide side) {
    const bool flip =
        !signs.empty() && options.signs.side == side && signs[static_cast<std::size_t>(number[element])] < 0;
    return flip ? detail::negated(value) : value;
  };

  std::vector<C> v(values.size());
  for (std::size_t e = 0; e < v.size(); ++e)
    v[e] = with_sign(static_cast<C>(values[e]), e, papillon::SignSide::input);
  for (const int axis : axes) {
    const bool last_axis = axis == axes.back();
    for_each_line(shape, axis, 0, [&](const std::vector<std::size_t>& line) {
      std::vector<C> sums;
      for (const auto e : line) sums.push_back(v[e]);
      const auto n = std::ssize(line);
      const int bits = size_of_transform(n).bits;
      const auto round = [&] {
        if (rounds)
          for (C& value : sums) value = static_cast<C>(static_cast<T>(value));
      };
      reference_sums(sums, [&](int bit) {
        if (bit == rounded_after_bit(n, bits)) round();
      });
      if (!last_axis) round();
      for (std::size_t i = 0; i < line.size(); ++i) {
        const auto place = options.ordering == papillon::Ordering::natural
                               ? i
                               : static_cast<std::size_t>(places_of_rows(options.ordering, bits)[i]);
        v[line[place]] = sums[i];
      }
    });
  }
  const C factor = static_cast<C>(factor_of(options, points));
  std::vector<T> result(values.size());
  for (std::size_t e = 0; e < v.size(); ++e)
    result[e] = static_cast<T>(with_sign(detail::times(v[e], factor), e, papillon::SignSide::output));
  return result;
}

}  // namespace papillon_test
