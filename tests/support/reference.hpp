// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Oracles for papillon::hadamard. They share no code with the library but the order-m matrix, which has
// tests of its own.

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "papillon/core/scalar.hpp"
#include "papillon/hadamard_options.hpp"
#include "papillon/orders.hpp"
#include "support/random.hpp"

namespace papillon_test {

using Shape = std::vector<std::int64_t>;

inline std::size_t volume(const Shape& shape) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

/// SplitMix64 as published (Steele, Lea, Flood 2014), stepping a state.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// The first n signs of a seed.
inline std::vector<std::int8_t> signs_of_seed(std::uint64_t seed, std::int64_t n) {
  std::vector<std::int8_t> signs;
  SplitMix64 words(seed);
  while (std::ssize(signs) < n) {
    std::uint64_t word = words.next();
    for (int bit = 0; bit < 64 && std::ssize(signs) < n; ++bit, word >>= 1)
      signs.push_back((word & 1u) != 0 ? -1 : 1);
  }
  return signs;
}

/// Sign changes along row `row` of Sylvester's H_{2^bits}, from the recursion [[H, H], [H, -H]]: both halves
/// have the changes of the half-length row, and the seam changes where that row's last sign,
/// (-1)^popcount(low), times the sign of the second half is -1.
inline std::int64_t sign_changes(std::int64_t row, int bits) {
  if (bits == 0) return 0;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  const std::int64_t low = row % half;
  return 2 * sign_changes(low, bits - 1) + std::popcount(static_cast<std::uint64_t>(row)) % 2;
}

/// Where natural row `row` stands among the outputs.
inline std::int64_t place_of_row(papillon::Ordering ordering, std::int64_t row, int bits) {
  if (ordering == papillon::Ordering::sequency) return sign_changes(row, bits);
  if (ordering == papillon::Ordering::natural) return row;
  std::int64_t place = 0;  // dyadic: the bits in reverse
  for (int bit = 0; bit < bits; ++bit) place = 2 * place + ((row >> bit) & 1);
  return place;
}

/// place_of_row of every row; kept, since the same few sizes come again and again.
inline const std::vector<std::int64_t>& places_of_rows(papillon::Ordering ordering, int bits) {
  static std::map<std::pair<papillon::Ordering, int>, std::vector<std::int64_t>> kept;
  auto& places = kept[{ordering, bits}];
  if (places.empty())
    for (std::int64_t row = 0; row < std::int64_t{1} << bits; ++row)
      places.push_back(place_of_row(ordering, row, bits));
  return places;
}

/// n = m * 2^bits, and H_m.
struct Size {
  std::int64_t m;
  int bits;
  papillon::HadamardMatrix base;
};

/// The documented factorisation: the smallest listed order m with n = m * 2^k.
inline const Size& size_of_transform(std::int64_t n) {
  static std::map<std::int64_t, Size> kept;
  auto& size = kept[n];
  if (size.m != 0) return size;
  const auto& orders = papillon::hadamard_orders();
  for (std::int64_t m = n, k = 0;; m /= 2, ++k) {
    for (const auto order : orders)
      if (order == m) size.m = m, size.bits = static_cast<int>(k);
    if (m % 2 != 0) break;
  }
  size.base = papillon::hadamard_matrix(size.m);
  return size;
}

namespace detail {

template <class C>
C negated(C value) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(0u - static_cast<std::make_unsigned_t<C>>(value));
  else
    return -value;
}
template <class C>
C plus(C a, C b) {
  using U = std::conditional_t<std::is_integral_v<C>, std::make_unsigned<C>, std::type_identity<C>>::type;
  return static_cast<C>(static_cast<U>(a) + static_cast<U>(b));
}
template <class C>
C times(C a, C b) {
  using U = std::conditional_t<std::is_integral_v<C>, std::make_unsigned<C>, std::type_identity<C>>::type;
  return static_cast<C>(static_cast<U>(a) * static_cast<U>(b));
}

}  // namespace detail

/// The factor of a transform of length n: scale divided once, by n or by its square root.
inline double factor_of(const papillon::HadamardOptions& options, std::int64_t n) {
  const auto length = static_cast<double>(n);
  if (options.norm == papillon::Normalization::inverse) return options.scale / length;
  if (options.norm == papillon::Normalization::ortho) return options.scale / std::sqrt(length);
  return options.scale;
}

/// H_n v in the contract's order: stages from the lowest bit to the highest, `after_bit` being called after
/// each, then the order-m sums in increasing index order.
template <class C, class AfterBit>
void reference_sums(std::vector<C>& v, const AfterBit& after_bit) {
  const auto n = std::ssize(v);
  const auto& [m, bits, matrix] = size_of_transform(n);
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  for (int bit = 0; bit < bits; ++bit) {
    for (std::int64_t block = 0, far = std::int64_t{1} << bit; block < n; block += 2 * far)
      for (std::int64_t i = block; i < block + far; ++i) {
        C& a = v[at(i)];
        C& b = v[at(i + far)];
        const C sum = detail::plus(a, b), difference = detail::plus(a, detail::negated(b));
        a = sum;
        b = difference;
      }
    after_bit(bit);
  }
  if (m == 1) return;
  const std::int64_t step = std::int64_t{1} << bits;
  std::vector<C> sums(at(n));
  for (std::int64_t r = 0; r < m; ++r)
    for (std::int64_t p = 0; p < step; ++p) {
      C sum{};
      for (std::int64_t j = 0; j < m; ++j) {
        const C value = v[at(j * step + p)];
        const C term = matrix(r, j) > 0 ? value : detail::negated(value);
        sum = j == 0 ? term : detail::plus(sum, term);
      }
      sums[at(r * step + p)] = sum;
    }
  v = std::move(sums);
}

/// The contract, in order, for one line of real scalars: signs, sums, one multiplication, the order of the
/// outputs, one rounding.
template <class T>
void reference_line(std::vector<T>& line, const papillon::HadamardOptions& options) {
  using C = papillon::compute_type<T>;
  const auto n = std::ssize(line);
  const int bits = size_of_transform(n).bits;
  const auto at = [](auto i) { return static_cast<std::size_t>(i); };
  std::vector<std::int8_t> signs(options.signs.values.begin(), options.signs.values.end());
  if (options.signs.seed) signs = signs_of_seed(*options.signs.seed, n);

  std::vector<C> v(at(n));
  for (std::int64_t i = 0; i < n; ++i) {
    v[at(i)] = static_cast<C>(line[at(i)]);
    if (!signs.empty() && options.signs.side == papillon::SignSide::input && signs[at(i)] < 0)
      v[at(i)] = detail::negated(v[at(i)]);
  }
  reference_sums(v, [](int) {});
  const C factor = static_cast<C>(factor_of(options, n));
  const std::vector<std::int64_t>* places =
      options.ordering == papillon::Ordering::natural ? nullptr : &places_of_rows(options.ordering, bits);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t place = places == nullptr ? i : (*places)[at(i)];
    C value = detail::times(v[at(i)], factor);
    if (!signs.empty() && options.signs.side == papillon::SignSide::output && signs[at(place)] < 0)
      value = detail::negated(value);
    line[at(place)] = static_cast<T>(value);
  }
}

/// Calls visit(line) with the element numbers of every line along `axis`, each cut into groups of `group`
/// (0: the whole line), of a dense row-major array.
template <class Visit>
void for_each_line(const Shape& shape, int axis, std::int64_t group, Visit&& visit) {
  if (volume(shape) == 0) return;
  const auto a = static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis);
  const std::int64_t n = shape[a], length = group > 0 ? group : n;
  std::int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) (d < a ? outer : inner) *= d == a ? 1 : shape[d];
  std::vector<std::size_t> line(static_cast<std::size_t>(length));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t first = 0; first < n; first += length)
      for (std::int64_t i = 0; i < inner; ++i) {
        for (std::int64_t j = 0; j < length; ++j)
          line[static_cast<std::size_t>(j)] = static_cast<std::size_t>((o * n + first + j) * inner + i);
        visit(line);
      }
}

/// reference_line along the axis of a dense row-major array; the parts of a complex number are transformed
/// apart.
template <class T>
std::vector<T> reference(const Shape& shape, std::vector<T> values,
                         const papillon::HadamardOptions& options) {
  for_each_line(shape, options.axis, options.group, [&](const std::vector<std::size_t>& line) {
    if constexpr (is_std_complex<T>) {
      std::vector<typename T::value_type> re, im;
      for (const auto i : line) re.push_back(values[i].real()), im.push_back(values[i].imag());
      reference_line(re, options);
      reference_line(im, options);
      for (std::size_t j = 0; j < line.size(); ++j) values[line[j]] = {re[j], im[j]};
    } else {
      std::vector<T> part;
      for (const auto i : line) part.push_back(values[i]);
      reference_line(part, options);
      for (std::size_t j = 0; j < line.size(); ++j) values[line[j]] = part[j];
    }
  });
  return values;
}

/// H_{2^bits} by the textbook recursion from the top, H_2n = [[H, H], [H, -H]]: the other end of the stages
/// than the library starts at, so equality holds for exact arithmetic only.
template <class Q>
void transform_from_top(Q* v, std::int64_t n) {
  if (n == 1) return;
  const std::int64_t half = n / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const Q a = v[i], b = v[i + half];
    v[i] = a + b;
    v[i + half] = a - b;
  }
  transform_from_top(v, half);
  transform_from_top(v + half, half);
}

/// H_n v in natural order, in the arithmetic of Q, order-m factor first.
template <class Q>
std::vector<Q> transform_in(std::vector<Q> v) {
  const auto& [m, bits, matrix] = size_of_transform(std::ssize(v));
  const std::int64_t step = std::int64_t{1} << bits;
  if (m > 1) {
    std::vector<Q> sums(v.size(), Q(0));
    for (std::int64_t j = m - 1; j >= 0; --j)
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t p = 0; p < step; ++p)
          sums[static_cast<std::size_t>(r * step + p)] +=
              Q(matrix(r, j)) * v[static_cast<std::size_t>(j * step + p)];
    v = std::move(sums);
  }
  for (std::int64_t r = 0; r < m; ++r) transform_from_top(v.data() + r * step, step);
  return v;
}

}  // namespace papillon_test
