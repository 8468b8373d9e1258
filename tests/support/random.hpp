// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "papillon/core/half.hpp"

namespace papillon_test {

template <class T>
inline constexpr bool is_std_complex = false;
template <class R>
inline constexpr bool is_std_complex<std::complex<R>> = true;

/// What random data look like.
enum class Data {
  smooth,      ///< uniform in [-1, 1)
  cancelling,  ///< large values in pairs ±v with small noise: outputs far smaller than the sums of |x|
  scaled,      ///< magnitudes spread over many powers of two
  integers,    ///< small whole numbers, every sum of which is exact
};

namespace detail {

inline double draw(std::mt19937_64& engine, Data data, std::size_t index, double& last) {
  const double u = std::ldexp(static_cast<double>(engine() >> 11), -52) - 1.0;
  switch (data) {
    case Data::smooth:
      return u;
    case Data::cancelling:
      last = index % 2 == 0 ? 1000.0 * u : -last + u * 1e-3;
      return last;
    case Data::scaled:
      return std::ldexp(u, static_cast<int>(engine() % 25u) - 12);
    case Data::integers:
      return static_cast<double>(static_cast<std::int64_t>(engine() % 7u) - 3);
  }
  return 0;
}

}  // namespace detail

/// `count` values of T, the same for the same arguments on every machine. Integers fill their whole range
/// unless `data` is Data::integers, so that sums wrap.
template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed, Data data = Data::smooth) {
  std::mt19937_64 engine(seed);
  std::vector<T> values(count);
  double last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      values[i] = data == Data::integers ? static_cast<T>(detail::draw(engine, data, i, last))
                                         : static_cast<T>(engine());
    } else if constexpr (is_std_complex<T>) {
      using R = typename T::value_type;
      const auto re = static_cast<R>(detail::draw(engine, data, 2 * i, last));
      values[i] = {re, static_cast<R>(detail::draw(engine, data, 2 * i + 1, last))};
    } else if constexpr (std::is_same_v<T, double>) {
      values[i] = detail::draw(engine, data, i, last);
    } else {
      values[i] = T(static_cast<float>(detail::draw(engine, data, i, last)));
    }
  }
  return values;
}

/// Same bits; any two NaNs count as the same (their payloads are not part of the contract), +0 and -0 do not.
template <class T>
bool same_bits(const T& a, const T& b) {
  if constexpr (is_std_complex<T>) {
    return same_bits(a.real(), b.real()) && same_bits(a.imag(), b.imag());
  } else {
    if (std::memcmp(&a, &b, sizeof(T)) == 0) return true;
    if constexpr (std::is_integral_v<T>)
      return false;
    else if constexpr (std::is_same_v<T, double>)
      return a != a && b != b;
    else
      return float(a) != float(a) && float(b) != float(b);
  }
}

/// Index of the first element that differs, -1 if none does.
template <class T>
std::ptrdiff_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return static_cast<std::ptrdiff_t>(i);
  return -1;
}

}  // namespace papillon_test
