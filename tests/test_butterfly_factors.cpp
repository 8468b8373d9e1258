// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The factors that Papillon makes, against the matrices that they stand for.
#include <bit>
#include <numbers>

#include "papillon/butterfly.hpp"
#include "papillon/butterfly_factors.hpp"
#include "support/apply.hpp"
#include "support/mode_oracle.hpp"

#ifdef PAPILLON_TESTS_FFTW
#include <fftw3.h>
#endif

namespace {

using namespace papillon_test;
using papillon::ButterflyFactors;

template <class T>
std::vector<T> applied(const ButterflyFactors<T>& factors, const std::vector<T>& x, std::int64_t rows,
                       std::int64_t length, papillon::ButterflyOptions options = {}) {
  std::vector<T> y(static_cast<std::size_t>(rows * length));
  const std::int64_t from = static_cast<std::int64_t>(x.size()) / rows;
  options.x_permutation = factors.permutation();
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::butterfly(space, factors.view(), papillon::row_major(x.data(), {rows, from}),
                      papillon::row_major(y.data(), {rows, length}), options);
  space.fence();
  return y;
}

/// gamma of `butterfly`, with one rounding more for each factor: that of its entries.
template <class T>
long double gamma_of(const ButterflyFactors<T>& factors) {
  long double sums = 0;
  for (const auto& factor : factors.view()) sums += static_cast<long double>(factor.c);
  const long double t = (is_std_complex<T> ? 2 * std::sqrt(2.0L) : 1) * sums + 2 +
                        static_cast<long double>(factors.view().size());
  return t * sum_roundoff<T>() / (1 - t * sum_roundoff<T>());
}

Wide root_of_unity(std::int64_t k, std::int64_t n) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

TEST_CASE_TEMPLATE("fft_factors: the product and the permutation are the Fourier matrix", T,
                   std::complex<float>, std::complex<double>) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30, 49, 60, 64, 97, 105, 128, 210}) {
    for (const bool inverse : {false, true}) {
      CAPTURE(n);
      const auto factors = papillon::fft_factors<T>(n, inverse);
      const auto x = random_values<T>(static_cast<std::size_t>(3 * n), 5);
      check_dense(ModeShape{{3, n}}, n, n, x, applied(factors, x, 3, n), 1, gamma_of(factors), {},
                  [&](std::int64_t k, std::int64_t j, std::int64_t) {
                    return DenseEntry{root_of_unity(inverse ? j * k : n - j * k % n, n), 1};
                  });
      const auto dense = papillon::to_dense(factors);
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t j = 0; j < n; ++j) {
          const Wide exact = root_of_unity(inverse ? j * k : n - j * k % n, n);
          REQUIRE(static_cast<double>(std::abs(wide(dense[static_cast<std::size_t>(k * n + j)]) - exact)) <=
                  static_cast<double>(gamma_of(factors)));
        }
    }
  }
}

TEST_CASE("fft_factors: exact entries, few values, bit reversal") {
  const auto factors = papillon::fft_factors<std::complex<double>>(8);
  REQUIRE(factors.view().size() == 3);
  CHECK(factors.values().size() == 16 + 8 + 4);  // 2 N for each length N: blocks share their values
  const auto permutation = factors.permutation();
  CHECK(std::vector<std::int64_t>(permutation.begin(), permutation.end()) ==
        std::vector<std::int64_t>{0, 4, 2, 6, 1, 5, 3, 7});
  for (const std::int64_t n : {16, 1024}) {
    const auto reversed = papillon::digit_reversal(n);
    const int bits = std::countr_zero(static_cast<std::uint64_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t expected = 0;
      for (int bit = 0; bit < bits; ++bit) expected |= (i >> bit & 1) << (bits - 1 - bit);
      CHECK(reversed[static_cast<std::size_t>(i)] == expected);
    }
  }
  const auto quarter = papillon::to_dense(papillon::fft_factors<std::complex<double>>(4));
  const std::complex<double> i{0, 1};
  CHECK(quarter == std::vector<std::complex<double>>{1, 1, 1, 1, 1, -i, -1, i, 1, -1, 1, -1, 1, i, -1, -i});
  CHECK_THROWS_WITH_AS(papillon::fft_factors<std::complex<float>>(0),
                       doctest::Contains("n = 0 is less than 1"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::fft_factors<std::complex<float>>(2 * 4099),
                       doctest::Contains("n = 8198 has the prime factor 4099; at most 4096 is taken"),
                       std::invalid_argument);
}

TEST_CASE("fft_factors: the inverse and the adjoint undo the transform") {
  using T = std::complex<double>;
  const std::int64_t n = 360;
  const auto forward = papillon::fft_factors<T>(n);
  const auto x = random_values<T>(static_cast<std::size_t>(2 * n), 1);
  const auto spectrum = applied(forward, x, 2, n);
  const auto back = applied(papillon::fft_factors<T>(n, true), spectrum, 2, n, {.scale = 1.0 / n});
  const auto adjoint = applied(forward, spectrum, 2, n, {.scale = 1.0 / n, .adjoint = true});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::abs(back[i] - x[i]) < 1e-13);
    CHECK(std::abs(adjoint[i] - x[i]) < 1e-13);
  }
}

#ifdef PAPILLON_TESTS_FFTW
TEST_CASE_TEMPLATE("fft_factors: against FFTW", T, std::complex<float>, std::complex<double>) {
  for (const int n : {64, 120, 1024, 2310, 4096, 1 << 14, 3 << 13}) {
    for (const bool inverse : {false, true}) {
      CAPTURE(n);
      const auto factors = papillon::fft_factors<T>(n, inverse);
      const auto x = random_values<T>(static_cast<std::size_t>(n), 7);
      const auto y = applied(factors, x, 1, n);
      std::vector<std::complex<double>> data(x.begin(), x.end());
      auto* const values = reinterpret_cast<fftw_complex*>(data.data());
      fftw_plan plan =
          fftw_plan_dft_1d(n, values, values, inverse ? FFTW_BACKWARD : FFTW_FORWARD, FFTW_ESTIMATE);
      fftw_execute(plan);
      fftw_destroy_plan(plan);
      long double size = 0;  // each output sums every input, with a factor of modulus 1
      for (const T& value : x) size += std::abs(wide(value));
      // FFTW's double precision sums are granted the same bound.
      const long double fftw = gamma_of(papillon::fft_factors<std::complex<double>>(n, inverse));
      for (int k = 0; k < n; ++k) {
        const auto at = static_cast<std::size_t>(k);
        REQUIRE(static_cast<double>(std::abs(wide(y[at]) - wide(data[at]))) <=
                static_cast<double>((gamma_of(factors) + fftw) * size));
      }
    }
  }
}
#else
TEST_CASE("fft_factors: against FFTW") { MESSAGE("SKIPPED: FFTW 3 was not found when this was configured"); }
#endif

TEST_CASE_TEMPLATE("hadamard_factors: the bits of hadamard", T, PAPILLON_REAL_SCALARS, std::complex<float>,
                   std::complex<double>) {
  for (const std::int64_t n : {1, 2, 8, 12, 20, 96, 684, 1024, 5 << 12}) {
    CAPTURE(n);
    const auto factors = papillon::hadamard_factors<T>(n);
    const auto x = random_values<T>(static_cast<std::size_t>(2 * n), 3, Data::scaled);
    check_same(applied(factors, x, 2, n, {.scale = 0.25}),
               transform(Kokkos::DefaultHostExecutionSpace{}, {2, n}, x, {.scale = 0.25}));
    if (n > 100) continue;
    const auto dense = papillon::to_dense(factors);
    const auto matrix = papillon::hadamard_matrix(n);
    for (std::size_t i = 0; i < dense.size(); ++i) CHECK(wide(dense[i]) == Wide(matrix.entries[i]));
  }
  CHECK_THROWS_WITH_AS(papillon::hadamard_factors<T>(999), doctest::Contains("n = 999"),
                       std::invalid_argument);
}

TEST_CASE_TEMPLATE("monarch: block-diagonal, permuted, block-diagonal", T, PAPILLON_REAL_SCALARS,
                   std::complex<float>, std::complex<double>) {
  // Rectangular: 4 blocks 6 x 5 on the right, 8 blocks 7 x 3 on the left.
  const std::int64_t k = 4, q = 6, p = 5, l = 8, s = 7, r = 3;
  const auto right = random_values<T>(static_cast<std::size_t>(k * q * p), 1);
  const auto left = random_values<T>(static_cast<std::size_t>(l * s * r), 2);
  const auto factors = papillon::monarch<T>({left, l, s, r}, {right, k, q, p});
  const auto x = random_values<T>(static_cast<std::size_t>(3 * k * p), 3);
  const auto y = applied(factors, x, 3, l * s);
  // As the literature writes it: reshape, multiply blocks, transpose, multiply blocks, transpose.
  check_dense(ModeShape{{3, k * p}}, l * s, k * p, x, y, 1, gamma_of(factors), {},
              [&](std::int64_t row, std::int64_t column, std::int64_t) {
                const std::int64_t block = column / p;  // of the right factor, with rows block * q + i
                DenseEntry sum{0, 0};
                for (std::int64_t i = 0; i < q; ++i) {
                  const std::int64_t middle = block * q + i;  // = at * l + of the left factor's block
                  if (middle % l != row % l) continue;
                  const Wide term =
                      wide(right[static_cast<std::size_t>(middle * p + column % p)]) *
                      wide(left[static_cast<std::size_t>((row % l * s + row / l) * r + middle / l)]);
                  sum.value += term;
                  sum.magnitude += std::abs(term);
                }
                return sum;
              });
  CHECK_THROWS_WITH_AS(papillon::monarch<T>({left, l, r, s}, {right, k, q, p}),
                       doctest::Contains("left takes vectors of 7 * 8 elements but right gives 4 * 6"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::monarch<T>({left, l, s, r}, {right, k, q, p + 1}),
                       doctest::Contains("right of shape (4, 6, 6) has 120 values"), std::invalid_argument);
}

TEST_CASE_TEMPLATE("random_orthogonal: orthogonal, keeps norms, and is random", T, float, double,
                   std::complex<float>, std::complex<double>) {
  for (const std::int64_t n : {1, 2, 16, 64}) {
    const auto factors = papillon::random_orthogonal<T>(n, 5);
    const auto matrix = papillon::to_dense(factors);
    // Each of log2 n factors is off by the rounding of two entries a row, and to_dense by one more.
    const auto bound =
        static_cast<double>(4 * (std::bit_width(static_cast<std::uint64_t>(n)) + 1) * n * sum_roundoff<T>());
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        Wide product = 0;
        for (std::int64_t m = 0; m < n; ++m)
          product += wide(matrix[static_cast<std::size_t>(i * n + m)]) *
                     std::conj(wide(matrix[static_cast<std::size_t>(j * n + m)]));
        CHECK(static_cast<double>(std::abs(product - Wide(i == j ? 1 : 0))) <= bound);
      }
    if (n > 2) {  // every element depends on every other
      for (const T& entry : matrix) CHECK(std::abs(wide(entry)) > 0);
      CHECK(papillon::to_dense(papillon::random_orthogonal<T>(n, 6)) != matrix);
    }
    CHECK(papillon::to_dense(papillon::random_orthogonal<T>(n, 5)) == matrix);
  }
  const std::int64_t n = 1 << 14;
  const auto x = random_values<T>(static_cast<std::size_t>(n), 2);
  const auto y = applied(papillon::random_orthogonal<T>(n, 1), x, 1, n);
  long double before = 0, after = 0;
  for (const T& value : x) before += std::norm(wide(value));
  for (const T& value : y) after += std::norm(wide(value));
  CHECK(
      static_cast<double>(after) ==
      doctest::Approx(static_cast<double>(before)).epsilon(static_cast<double>(14 * 8 * sum_roundoff<T>())));
  CHECK_THROWS_WITH_AS(papillon::random_orthogonal<T>(12, 1),
                       doctest::Contains("n = 12 is not a power of two"), std::invalid_argument);
}

TEST_CASE("to_dense: what it cannot write out is refused") {
  const std::vector<float> values(64);
  const auto f = papillon::row_major_butterfly(values.data(), 2, 3, 2, 1);
  const std::vector<papillon::ButterflyFactor> none, pair{f, f};
  CHECK_THROWS_WITH_AS(papillon::to_dense<float>(none), doctest::Contains("no entries"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::to_dense<float>(pair),
                       doctest::Contains("factors[0] has 4 columns but factors[1] has 6 rows"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::to_dense<double>(std::span(pair).first(1)),
                       doctest::Contains("factors[0] holds float32, not float64"), std::invalid_argument);
  const papillon::ButterflyFactor large{values.data(), papillon::ScalarType::float32, 1 << 14, 1, 1, 1};
  CHECK_THROWS_WITH_AS(papillon::to_dense<float>(std::span(&large, 1)),
                       doctest::Contains("16384 x 16384 has more than 2^26 entries"), std::invalid_argument);
}
