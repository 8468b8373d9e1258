// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/butterfly_factors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <type_traits>
#include <utility>

#include "papillon/core/errors.hpp"
#include "papillon/hadamard_options.hpp"
#include "papillon/orders.hpp"

namespace papillon {
namespace {

/// A number in T, rounded.
template <class T>
T narrow(double value) {
  if constexpr (is_complex(scalar_type_of<T>)) {
    return {static_cast<typename T::value_type>(value), 0};
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

/// What to_dense sums in.
template <class T>
using Wide = std::conditional_t<is_complex(scalar_type_of<T>), std::complex<double>, double>;
template <class T>
Wide<T> widen(const T& value, bool conjugate) {
  if constexpr (is_complex(scalar_type_of<T>)) {
    const auto imag = static_cast<double>(value.imag());
    return {static_cast<double>(value.real()), conjugate ? -imag : imag};
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}
template <class T>
T rounded(const Wide<T>& value) {
  if constexpr (is_complex(scalar_type_of<T>)) {
    return T(value);
  } else {
    return narrow<T>(value);
  }
}

/// The prime factors of n, ascending.
std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; p <= n / p; ++p)
    for (; n % p == 0; n /= p) primes.push_back(p);
  if (n > 1) primes.push_back(n);
  return primes;
}

std::vector<std::int64_t> checked_radices(std::int64_t n) {
  if (n < 1) throw_invalid_argument("fft_factors", "n = ", n, " is less than 1");
  std::vector<std::int64_t> primes = prime_factors(n);
  if (!primes.empty() && primes.back() > max_fft_radix) {
    throw_invalid_argument("fft_factors", "n = ", n, " has the prime factor ", primes.back(), "; at most ",
                           max_fft_radix, " is taken");
  }
  return primes;
}

/// cos and sin of 2 pi k / n, 0 <= k < n. The angle is brought to 0 … pi/4 in whole numbers first, so that
/// multiples of an eighth turn are exact and mirrored angles have mirrored values.
std::pair<double, double> turn(std::int64_t k, std::int64_t n) {
  const auto quarters = static_cast<__int128>(k) * 4;
  const auto quarter = static_cast<int>(quarters / n);
  auto rest = static_cast<std::int64_t>(quarters % n);  // of a quarter turn, in n-ths
  const bool mirrored = rest > n - rest;
  if (mirrored) rest = n - rest;
  const long double angle =
      std::numbers::pi_v<long double> / 2 * static_cast<long double>(rest) / static_cast<long double>(n);
  auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
  if (mirrored) std::swap(cosine, sine);
  for (int q = 0; q < quarter; ++q) cosine = -std::exchange(sine, cosine);
  return {cosine + 0.0, sine + 0.0};  // no negative zeros
}

std::int64_t checked_power_of_two(const char* name, std::int64_t n) {
  if (n < 1 || !std::has_single_bit(static_cast<std::uint64_t>(n)))
    throw_invalid_argument(name, "n = ", n, " is not a power of two");
  return n;
}

/// A 1 × 1 factor of value 1 stands for the product of none.
template <class T>
void add_unit(ButterflyFactors<T>& factors) {
  const T one = narrow<T>(1);
  factors.add(1, 1, 1, 1, {}, std::span(&one, 1));
}

template <class T>
void check_blocks(const DenseBlocks<T>& blocks, const char* name) {
  const auto shape = to_text(std::array{blocks.count, blocks.rows, blocks.columns});
  if (blocks.count < 0 || blocks.rows < 0 || blocks.columns < 0)
    throw_invalid_argument("monarch", name, " has a negative size: ", shape);
  if (static_cast<__int128>(blocks.count) * blocks.rows * blocks.columns !=
      static_cast<__int128>(blocks.values.size())) {
    throw_invalid_argument("monarch", name, " of shape ", shape, " has ", blocks.values.size(), " values");
  }
}

}  // namespace

template <Scalar T>
void ButterflyFactors<T>::add(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d,
                              const Strides& strides, std::span<const T> values) {
  factors_.push_back({a, b, c, d, strides, static_cast<std::int64_t>(values_.size())});
  values_.insert(values_.end(), values.begin(), values.end());
}

template <Scalar T>
std::vector<ButterflyFactor> ButterflyFactors<T>::view(const T* copy) const {
  std::vector<ButterflyFactor> views;
  for (const Stored& stored : factors_) {
    const auto& [i, p, q, j] = stored.strides;
    views.push_back(
        {copy + stored.first, scalar_type_of<T>, stored.a, stored.b, stored.c, stored.d, i, p, q, j});
  }
  return views;
}

std::vector<std::int64_t> digit_reversal(std::int64_t n) {
  const std::vector<std::int64_t> radices = checked_radices(n);
  std::vector<std::int64_t> places{0};
  // From the shortest transforms on: element t of part j1 is element r t + j1 of the whole.
  for (auto radix = radices.rbegin(); radix != radices.rend(); ++radix) {
    std::vector<std::int64_t> longer;
    longer.reserve(places.size() * static_cast<std::size_t>(*radix));
    for (std::int64_t part = 0; part < *radix; ++part)
      for (const std::int64_t place : places) longer.push_back(*radix * place + part);
    places = std::move(longer);
  }
  return places;
}

template <Scalar T>
ButterflyFactors<T> fft_factors(std::int64_t n, bool inverse) {
  static_assert(is_complex(scalar_type_of<T>), "papillon::fft_factors: a Fourier transform is complex");
  using Real = typename T::value_type;
  ButterflyFactors<T> factors;
  std::int64_t length = n;
  for (const std::int64_t radix : checked_radices(n)) {
    // X[k + m p] = sum over q of exp(-2 pi i q (k + m p) / length) · (transform q of length m)[k].
    const std::int64_t m = length / radix;
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(radix * length));
    for (std::int64_t p = 0; p < radix; ++p)
      for (std::int64_t q = 0; q < radix; ++q)
        for (std::int64_t k = 0; k < m; ++k) {
          const auto [cosine, sine] =
              turn(static_cast<std::int64_t>(static_cast<__int128>(q) * (k + m * p) % length), length);
          values.push_back({static_cast<Real>(cosine), static_cast<Real>(inverse ? sine : -sine)});
        }
    factors.add(n / length, radix, radix, m, {0, radix * m, m, 1}, values);
    length = m;
  }
  if (n == 1) add_unit(factors);
  if (n > 1) factors.set_permutation(digit_reversal(n));
  return factors;
}

template <Scalar T>
ButterflyFactors<T> hadamard_factors(std::int64_t n) {
  const auto [order, log2_power] = hadamard_factorization(n);
  ButterflyFactors<T> factors;
  if (order > 1) {
    std::vector<T> values;
    for (const std::int8_t entry : detail::base_matrix(order)) values.push_back(narrow<T>(entry));
    factors.add(1, order, order, std::int64_t{1} << log2_power, {0, order, 1, 0}, values);
  }
  const std::vector<T> values{narrow<T>(1), narrow<T>(1), narrow<T>(1), narrow<T>(-1)};
  for (int bit = log2_power; bit-- > 0;)
    factors.add(n >> (bit + 1), 2, 2, std::int64_t{1} << bit, {0, 2, 1, 0}, values);
  if (n == 1) add_unit(factors);
  return factors;
}

template <Scalar T>
ButterflyFactors<T> monarch(const DenseBlocks<T>& left, const DenseBlocks<T>& right) {
  check_blocks(left, "left");
  check_blocks(right, "right");
  if (right.count * right.rows != left.columns * left.count) {
    throw_invalid_argument("monarch", "left takes vectors of ", left.columns, " * ", left.count,
                           " elements but right gives ", right.count, " * ", right.rows);
  }
  ButterflyFactors<T> factors;
  // Values of neighbouring elements side by side, as the kernels read them.
  std::vector<T> turned(left.values.size());
  const std::int64_t entries = left.rows * left.columns;
  for (std::int64_t block = 0; block < left.count; ++block)
    for (std::int64_t entry = 0; entry < entries; ++entry)
      turned[static_cast<std::size_t>(entry * left.count + block)] =
          left.values[static_cast<std::size_t>(block * entries + entry)];
  factors.add(1, left.rows, left.columns, left.count, {0, left.columns * left.count, left.count, 1}, turned);
  factors.add(right.count, right.rows, right.columns, 1, {right.rows * right.columns, right.columns, 1, 0},
              right.values);
  return factors;
}

template <Scalar T>
ButterflyFactors<T> random_orthogonal(std::int64_t n, std::uint64_t seed) {
  checked_power_of_two("random_orthogonal", n);
  ButterflyFactors<T> factors;
  std::int64_t drawn = 0;
  for (std::int64_t d = n / 2; d >= 1; d /= 2) {
    const std::int64_t a = n / (2 * d);
    std::vector<T> values(static_cast<std::size_t>(4 * a * d));
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t j = 0; j < d; ++j) {
        const double part = std::ldexp(static_cast<double>(random_sign_word(seed, drawn++) >> 11), -53);
        const double angle = 2 * std::numbers::pi * part;
        const auto cosine = narrow<T>(std::cos(angle)), sine = narrow<T>(std::sin(angle));
        const auto place = [&](std::int64_t entry) -> T& {
          return values[static_cast<std::size_t>((i * 4 + entry) * d + j)];
        };
        place(0) = cosine;
        place(1) = narrow<T>(-std::sin(angle));
        place(2) = sine;
        place(3) = cosine;
      }
    factors.add(a, 2, 2, d, {4 * d, 2 * d, d, 1}, values);
  }
  if (n == 1) add_unit(factors);
  return factors;
}

template <Scalar T>
std::vector<T> to_dense(std::span<const ButterflyFactor> factors) {
  if (factors.empty()) throw_invalid_argument("to_dense", "factors has no entries");
  constexpr std::int64_t most = std::int64_t{1} << 26;
  const ButterflyFactor& last = factors.back();
  const std::int64_t columns = last.a * last.c * last.d;
  std::vector<Wide<T>> matrix;
  std::int64_t rows = columns;
  const auto check_size = [&](std::int64_t r) {
    if (static_cast<__int128>(r) * columns > most)
      throw_invalid_argument("to_dense", "a matrix of ", r, " x ", columns, " has more than 2^26 entries");
  };
  check_size(rows);
  matrix.resize(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i) matrix[static_cast<std::size_t>(i * columns + i)] = 1;
  for (std::size_t f = factors.size(); f-- > 0;) {
    const ButterflyFactor& factor = factors[f];
    if (factor.type != scalar_type_of<T>) {
      throw_invalid_argument("to_dense", "factors[", f, "] holds ", name_of(factor.type), ", not ",
                             name_of(scalar_type_of<T>));
    }
    const auto [data, type, a, b, c, d, block, row, column, repeat, batch, conjugate] = factor;
    if (a * c * d != rows) {
      throw_invalid_argument("to_dense", "factors[", f, "] has ", a * c * d, " columns but factors[", f + 1,
                             "] has ", rows, " rows");
    }
    check_size(a * b * d);
    // Row (i, p, j) is a sum over the rows (i, q, j) of what stands right of the factor.
    std::vector<Wide<T>> next(static_cast<std::size_t>(a * b * d * columns));
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t p = 0; p < b; ++p)
        for (std::int64_t q = 0; q < c; ++q)
          for (std::int64_t j = 0; j < d; ++j) {
            const Wide<T> value =
                widen(static_cast<const T*>(data)[i * block + p * row + q * column + j * repeat], conjugate);
            for (std::int64_t k = 0; k < columns; ++k)
              next[static_cast<std::size_t>(((i * b + p) * d + j) * columns + k)] +=
                  value * matrix[static_cast<std::size_t>(((i * c + q) * d + j) * columns + k)];
          }
    matrix = std::move(next);
    rows = a * b * d;
  }
  std::vector<T> result;
  result.reserve(matrix.size());
  for (const Wide<T>& value : matrix) result.push_back(rounded<T>(value));
  return result;
}

template <Scalar T>
std::vector<T> to_dense(const ButterflyFactors<T>& factors) {
  const std::vector<ButterflyFactor> views = factors.view();
  std::vector<T> matrix = to_dense<T>(std::span(views));
  const auto permutation = factors.permutation();
  if (permutation.empty()) return matrix;
  std::vector<T> permuted(matrix.size());
  const std::size_t columns = permutation.size();
  for (std::size_t i = 0; i < matrix.size(); ++i)
    permuted[i / columns * columns + static_cast<std::size_t>(permutation[i % columns])] = matrix[i];
  return permuted;
}

#define PAPILLON_INSTANTIATE(T)                                                          \
  template class ButterflyFactors<T>;                                                    \
  template ButterflyFactors<T> hadamard_factors<T>(std::int64_t);                        \
  template ButterflyFactors<T> monarch<T>(const DenseBlocks<T>&, const DenseBlocks<T>&); \
  template ButterflyFactors<T> random_orthogonal<T>(std::int64_t, std::uint64_t);        \
  template std::vector<T> to_dense<T>(std::span<const ButterflyFactor>);                 \
  template std::vector<T> to_dense<T>(const ButterflyFactors<T>&)

PAPILLON_INSTANTIATE(float);
PAPILLON_INSTANTIATE(double);
PAPILLON_INSTANTIATE(half);
PAPILLON_INSTANTIATE(bfloat16);
PAPILLON_INSTANTIATE(std::complex<float>);
PAPILLON_INSTANTIATE(std::complex<double>);
#undef PAPILLON_INSTANTIATE

template ButterflyFactors<std::complex<float>> fft_factors<std::complex<float>>(std::int64_t, bool);
template ButterflyFactors<std::complex<double>> fft_factors<std::complex<double>>(std::int64_t, bool);

}  // namespace papillon
