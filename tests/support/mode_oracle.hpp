// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "papillon/core/half.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"

namespace papillon_test {

/// What sums of the oracles are formed in, for every scalar.
using Wide = std::complex<long double>;

template <class T>
Wide wide(const T& value) {
  if constexpr (is_std_complex<T>) {
    return {static_cast<long double>(value.real()), static_cast<long double>(value.imag())};
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<long double>(value);
  } else {
    return static_cast<long double>(static_cast<float>(value));
  }
}

/// Unit roundoff of the sums of T and of a result.
template <class T>
constexpr long double sum_roundoff() {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) return 0x1p-53L;
  return 0x1p-24L;
}
template <class T>
constexpr long double result_roundoff() {
  if constexpr (std::is_same_v<T, papillon::half>) return 0x1p-11L;
  if constexpr (std::is_same_v<T, papillon::bfloat16>) return 0x1p-8L;
  return sum_roundoff<T>();
}

/// Where the axis of a call and its batch's lie in an array of some shape.
struct ModeShape {
  Shape shape;  ///< of x
  int axis = -1;
  std::optional<int> batch_axis = {};

  std::size_t position(int a) const {
    return static_cast<std::size_t>(a < 0 ? a + static_cast<int>(shape.size()) : a);
  }
  std::int64_t outer() const { return product(0, position(axis)); }
  std::int64_t inner() const { return product(position(axis) + 1, shape.size()); }
  /// The batch entry of a line.
  std::int64_t batch_of(std::int64_t outer, std::int64_t inner) const {
    if (!batch_axis) return 0;
    const std::size_t wanted = position(*batch_axis);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (d == position(axis)) continue;
      std::int64_t& index = d > position(axis) ? inner : outer;
      if (d == wanted) return index % shape[d];
      index /= shape[d];
    }
    return 0;
  }

 private:
  std::int64_t product(std::size_t from, std::size_t to) const {
    std::int64_t count = 1;
    for (std::size_t d = from; d < to; ++d) count *= shape[d];
    return count;
  }
};

/// An entry of the dense matrix, and what the bound has in its place.
struct DenseEntry {
  Wide value;
  long double magnitude;
};

/// Checks y (axis length m) against scale · M x (axis length n), sums formed entry by entry, to within
/// gamma · |scale| · (magnitudes) |x|; of every line `sample` points, or all. entry(row, column, batch).
template <class T, class Entry>
void check_dense(const ModeShape& mode, std::int64_t m, std::int64_t n, const std::vector<T>& x,
                 const std::vector<T>& y, double scale, long double gamma, std::optional<std::int64_t> sample,
                 const Entry& entry) {
  const std::int64_t outer = mode.outer(), inner = mode.inner();
  const std::int64_t step = sample ? std::max<std::int64_t>(1, m / *sample) : 1;
  REQUIRE(y.size() == static_cast<std::size_t>(outer * m * inner));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      for (std::int64_t row = sample ? o % step : 0; row < m; row += step) {
        Wide sum = 0;
        long double size = 0;
        for (std::int64_t column = 0; column < n; ++column) {
          const DenseEntry at = entry(row, column, mode.batch_of(o, i));
          const Wide value = wide(x[static_cast<std::size_t>((o * n + column) * inner + i)]);
          sum += at.value * value;
          size += at.magnitude * std::abs(value);
        }
        const Wide actual = wide(y[static_cast<std::size_t>((o * m + row) * inner + i)]);
        const long double factor = std::abs(static_cast<long double>(scale));
        const Wide expected = static_cast<long double>(scale) * sum;
        // One result in the range of subnormal 16-bit numbers may be off by half of the smallest.
        const long double smallest = std::is_same_v<T, papillon::half> ? 0x1p-25L : 0.0L;
        const long double bound = gamma * factor * size * (1 + result_roundoff<T>()) +
                                  (sizeof(T) == 2 ? result_roundoff<T>() * std::abs(expected) : 0) + smallest;
        if (std::abs(actual - expected) <= bound) continue;
        INFO("line ", o, ", ", i, " row ", row, ": off by ", static_cast<double>(std::abs(actual - expected)),
             ", bound ", static_cast<double>(bound));
        REQUIRE(false);
      }
  CHECK(true);
}

}  // namespace papillon_test
