// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NaN, infinities, signed zeros and subnormals go where the sums carry them, and stay out of other rows.
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;

template <class T>
T special(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}

template <class T>
constexpr double smallest = std::is_same_v<T, double>           ? 0x1p-1074
                            : std::is_same_v<T, float>          ? 0x1p-149
                            : std::is_same_v<T, papillon::half> ? 0x1p-24
                                                                : 0x1p-133;
template <class T>
constexpr double largest = std::is_same_v<T, double>           ? std::numeric_limits<double>::max()
                           : std::is_same_v<T, float>          ? 0x1.fffffep127
                           : std::is_same_v<T, papillon::half> ? 65504.0
                                                               : 0x1.fep127;

}  // namespace

TEST_CASE_TEMPLATE("hadamard: one special value in one row", T, PAPILLON_REAL_SCALARS) {
  const double infinity = std::numeric_limits<double>::infinity();
  for_each_space([&](const auto& space) {
    for (const std::int64_t n : {1, 2, 16, 64, 12, 80, 256, 2048})
      for (const double value :
           {std::nan(""), infinity, -infinity, -0.0, smallest<T>, -smallest<T>, largest<T>, -largest<T>})
        for (const std::int64_t position : {std::int64_t{0}, n / 2, n - 1})
          for (const bool columns : {false, true}) {
            const Shape shape = columns ? Shape{n, 5} : Shape{5, n};
            const int axis = columns ? 0 : 1;
            for (const bool zeros : {false, true}) {
              auto values = zeros ? std::vector<T>(volume(shape), special<T>(0.0))
                                  : random_values<T>(volume(shape), 3u);
              values[static_cast<std::size_t>(columns ? position * 5 + 3 : 3 * n + position)] =
                  special<T>(value);
              const HadamardOptions options{.norm = papillon::Normalization::ortho, .axis = axis};
              const auto y = transform(space, shape, values, options);
              INFO(describe_case(shape, options), ", value ", value, " at ", position);
              check_same(y, reference(shape, values, options));
              if (std::isfinite(value)) continue;
              // Said again without the oracle: the whole row is not finite, every other row is.
              std::int64_t wrong = 0;
              for (std::int64_t row = 0; row < 5; ++row)
                for (std::int64_t i = 0; i < n; ++i) {
                  const auto at = static_cast<std::size_t>(columns ? i * 5 + row : row * n + i);
                  wrong += std::isfinite(static_cast<double>(y[at])) == (row == 3);
                }
              CHECK(wrong == 0);
            }
          }
  });
}

TEST_CASE_TEMPLATE("hadamard: infinities of both signs meet in NaN at the right places", T,
                   PAPILLON_REAL_SCALARS) {
  const double infinity = std::numeric_limits<double>::infinity();
  for_each_space([&](const auto& space) {
    for (const std::int64_t n : {8, 64, 1024}) {
      std::vector<T> values(static_cast<std::size_t>(n), special<T>(1.0));
      values[1] = special<T>(infinity);
      values[4] = special<T>(-infinity);
      const auto y = transform(space, Shape{n}, values, {});
      for (std::int64_t i = 0; i < n; ++i) {
        // Row i adds (-1)^(bit 0 of i)·∞ and (-1)^(bit 2 of i)·(-∞).
        const double value = static_cast<double>(y[static_cast<std::size_t>(i)]);
        const bool plus = (i & 1) == 0, minus = (i & 4) == 0;
        if (plus == minus)
          REQUIRE(std::isnan(value));
        else
          REQUIRE(value == (plus ? infinity : -infinity));
      }
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: signed zeros and a zero scale", T, PAPILLON_REAL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {1, 4, 32, 12, 28, 512})
      for (const double scale : {1.0, -1.0, 0.0, -0.0}) {
        const HadamardOptions options{.scale = scale};
        const std::vector<T> minus(static_cast<std::size_t>(3 * n), special<T>(-0.0));
        check_same(transform(space, Shape{3, n}, minus, options), reference(Shape{3, n}, minus, options));
        for (const bool seeded : {false, true}) {
          HadamardOptions more = options;
          if (seeded) more.signs.seed = 1u;
          const auto mixed = random_values<T>(static_cast<std::size_t>(3 * n), 9u, Data::integers);
          check_same(transform(space, Shape{3, n}, mixed, more), reference(Shape{3, n}, mixed, more));
        }
      }
  });
}

TEST_CASE_TEMPLATE("hadamard: 16-bit sums overflow only at the end", T, papillon::half, papillon::bfloat16) {
  for_each_space([](const auto& space) {
    // 64 times a large value leaves the storage's range (of half), but comes back within it by the scale.
    const std::vector<T> x(64, special<T>(std::is_same_v<T, papillon::half> ? 60000.0 : 0x1p100));
    const auto y = transform(space, Shape{64}, x, {.norm = papillon::Normalization::inverse});
    CHECK(static_cast<float>(y[0]) == static_cast<float>(x[0]));
    const auto large = transform(space, Shape{64}, x, {});
    CHECK(std::isinf(static_cast<float>(large[0])) == std::is_same_v<T, papillon::half>);
    CHECK(static_cast<float>(large[1]) == 0.0f);
    // Subnormal results are rounded once, ties to even: 1.5 and 2.5 units of 2^-24.
    const std::vector<T> tiny(1, special<T>(3 * smallest<T>));
    CHECK(static_cast<double>(transform(space, Shape{1}, tiny, {.scale = 0.5})[0]) == 2 * smallest<T>);
    const std::vector<T> five(1, special<T>(5 * smallest<T>));
    CHECK(static_cast<double>(transform(space, Shape{1}, five, {.scale = 0.5})[0]) == 2 * smallest<T>);
  });
}

TEST_CASE_TEMPLATE("hadamard: the parts of a complex number do not mix", T, std::complex<float>,
                   std::complex<double>) {
  for_each_space([](const auto& space) {
    using R = typename T::value_type;
    const R nan = std::numeric_limits<R>::quiet_NaN();
    for (const std::int64_t n : {1, 8, 12, 256}) {
      auto values = random_values<T>(static_cast<std::size_t>(n), 3u);
      values[0] = {values[0].real(), nan};
      for (const T& value : transform(space, Shape{n}, values, {})) {
        REQUIRE(std::isfinite(value.real()));
        REQUIRE(std::isnan(value.imag()));
      }
    }
  });
}
