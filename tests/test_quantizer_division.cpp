// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic by which the CUDA row kernels do without divisions
// (backends/cuda/kernels/quantize/encode.cuh): stated here again in plain C++, and held against divisions.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

float with_significand(std::uint32_t bits) { return __builtin_bit_cast(float, 0x3f800000u | bits); }

float moved(float value, int ulps) {
  return __builtin_bit_cast(float,
                            __builtin_bit_cast(std::uint32_t, value) + static_cast<std::uint32_t>(ulps));
}

int side(float quotient, float tie) { return quotient < tie ? -1 : quotient > tie ? 1 : 0; }

/// a / b by an approximate quotient, its remainder and one correction.
float corrected_quotient(float a, float b, float reciprocal) {
  const float approximate = a * reciprocal;
  return std::fma(std::fma(-approximate, b, a), reciprocal, approximate);
}

}  // namespace

TEST_CASE("a reciprocal in two parts puts every quotient on the right side of the ties of E2M1") {
  // Scaling by powers of two changes nothing, so all divisors of one binade stand for all. Quotients more
  // than a few units in the last place from a tie are on their side of it in any case.
  constexpr float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
  std::uint64_t wrong = 0;
  for (std::uint32_t significand = 0; significand < (1u << 23); ++significand) {
    const float divisor = with_significand(significand);
    const float high = 1.0f / divisor;
    const float low = std::fma(-high, divisor, 1.0f) / divisor;
    for (const float tie : ties) {
      const float nearest = tie * divisor;
      for (int ulps = -3; ulps <= 3; ++ulps) {
        const float y = moved(nearest, ulps);
        wrong += side(std::fma(y, high, y * low), tie) != side(y / divisor, tie) ? 1 : 0;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a product with one rounded reciprocal would not do") {
  const float divisor = 1.1f;
  std::uint64_t wrong = 0;
  for (std::uint32_t significand = 0; significand < 4096; ++significand) {
    const float d = moved(divisor, static_cast<int>(significand));
    const float nearest = 1.25f * d;
    for (int ulps = -3; ulps <= 3; ++ulps) {
      const float y = moved(nearest, ulps);
      wrong += side(y * (1.0f / d), 1.25f) != side(y / d, 1.25f) ? 1 : 0;
    }
  }
  CHECK(wrong > 0);
}

TEST_CASE("corrected quotients are those of a division") {
  std::uint64_t wrong = 0;
  for (std::uint32_t significand = 0; significand < (1u << 23); ++significand) {
    const float a = with_significand(significand);
    for (const float b : {6.0f, 448.0f, 57344.0f})
      wrong += corrected_quotient(a, b, 1.0f / b) != a / b ? 1 : 0;
  }
  CHECK(wrong == 0);
  std::mt19937 random(1);
  for (int i = 0; i < 20'000'000; ++i) {
    const float a = with_significand(random() >> 9);
    const float b = with_significand(random() >> 9);
    wrong += corrected_quotient(a, b, 1.0f / b) != a / b ? 1 : 0;
  }
  CHECK(wrong == 0);
}
