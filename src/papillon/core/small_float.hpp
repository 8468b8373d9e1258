// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/macros.hpp"

namespace papillon::detail {

/// The element types of quantised tensors.
enum class ElementFormat : std::uint8_t { e2m1, e4m3, e5m2, int8, int4 };

/// A binary floating-point format of few bits, by the numbers that its encoding needs.
struct SmallFloat {
  int mantissa_bits;
  int least_exponent;       ///< of normal numbers
  std::uint32_t most_code;  ///< of the largest finite number
  std::uint32_t nan_code;   ///< what NaN becomes
  int sign_shift;           ///< position of the sign bit
};

PAPILLON_FUNCTION constexpr SmallFloat small_float(ElementFormat format) {
  switch (format) {
    case ElementFormat::e4m3:
      return {3, -6, 0x7e, 0x7f, 7};
    case ElementFormat::e5m2:
      return {2, -14, 0x7b, 0x7f, 7};
    default:
      return {1, 0, 0x7, 0x7, 3};
  }
}

PAPILLON_FUNCTION constexpr float largest_element(ElementFormat format) {
  switch (format) {
    case ElementFormat::e2m1:
      return 6.0f;
    case ElementFormat::e4m3:
      return 448.0f;
    case ElementFormat::e5m2:
      return 57344.0f;
    case ElementFormat::int8:
      return 127.0f;
    case ElementFormat::int4:
      return 7.0f;
  }
  return 0.0f;
}

PAPILLON_FUNCTION constexpr std::uint32_t float_bits(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
PAPILLON_FUNCTION constexpr float magnitude(float value) {
  return __builtin_bit_cast(float, float_bits(value) & 0x7fffffffu);
}
PAPILLON_FUNCTION constexpr bool is_nan(float value) {
  return (float_bits(value) & 0x7fffffffu) > 0x7f800000u;
}
PAPILLON_FUNCTION constexpr bool is_finite(float value) {
  return (float_bits(value) & 0x7f800000u) != 0x7f800000u;
}

/// 2^exponent, exactly, for -149 <= exponent <= 127.
PAPILLON_FUNCTION constexpr float power_of_two(int exponent) {
  return exponent >= -126 ? __builtin_bit_cast(float, static_cast<std::uint32_t>(exponent + 127) << 23)
                          : __builtin_bit_cast(float, std::uint32_t{1} << (exponent + 149));
}

/// floor(log2 value) of a positive finite number, subnormal ones too.
PAPILLON_FUNCTION constexpr int exponent_of(float value) {
  const std::uint32_t bits = float_bits(value);
  if (bits >= 0x00800000u) return static_cast<int>(bits >> 23) - 127;
  int exponent = -150;
  for (std::uint32_t rest = bits; rest != 0; rest >>= 1) ++exponent;
  return exponent;
}

/// The integer nearest to 0 <= value < 2^24, ties to even.
PAPILLON_FUNCTION constexpr std::uint32_t nearest_integer(float value) {
  const auto below = static_cast<std::uint32_t>(value);
  const float rest = value - static_cast<float>(below);
  const bool up = rest > 0.5f || (rest == 0.5f && (below & 1u) != 0u);
  return below + (up ? 1u : 0u);
}

/// How values are rounded to elements: to nearest, ties to even; or up if the first 8 bits of the fraction
/// and `random`, 0 … 255, add up to 256.
struct ElementRounding {
  bool stochastic = false;
  std::uint32_t random = 0;
};

/// `value` in steps of 2^step_exponent, rounded; value / step < 2^15.
PAPILLON_FUNCTION constexpr std::uint32_t rounded_steps(float value, int step_exponent,
                                                        const ElementRounding& rounding) {
  // Exact: a power of two, and nothing that matters underflows.
  const float steps = value * power_of_two(-step_exponent);
  if (!rounding.stochastic) return nearest_integer(steps);
  return (static_cast<std::uint32_t>(steps * 256.0f) + rounding.random) >> 8;
}

/// The code of a small float nearest to `value`; beyond the largest finite number, and for infinities, that
/// number. NaN of either sign is the positive one. Ties go to the even code.
///
/// Steps of a number whose exponent is e are 2^(max(e, least) - mantissa_bits), and codes count steps from
/// one exponent to the next, so that code = steps + (exponent - least) · 2^mantissa_bits, subnormals
/// included.
PAPILLON_FUNCTION constexpr std::uint8_t encode_float(const SmallFloat& format, float value, float largest,
                                                      const ElementRounding& rounding = {}) {
  if (is_nan(value)) return static_cast<std::uint8_t>(format.nan_code);
  const std::uint32_t sign = float_bits(value) >> 31 << format.sign_shift;
  const float size = magnitude(value);
  if (size >= largest) return static_cast<std::uint8_t>(sign | format.most_code);
  const int exponent = size < power_of_two(format.least_exponent) ? format.least_exponent : exponent_of(size);
  const std::uint32_t steps = rounded_steps(size, exponent - format.mantissa_bits, rounding);
  const std::uint32_t code =
      steps + (static_cast<std::uint32_t>(exponent - format.least_exponent) << format.mantissa_bits);
  return static_cast<std::uint8_t>(sign | (code < format.most_code ? code : format.most_code));
}

/// The integer nearest to `value` within ±largest, in two's complement of 8 bits (4 for int4); NaN is 0.
PAPILLON_FUNCTION constexpr std::uint8_t encode_integer(float value, float largest, std::uint32_t mask,
                                                        const ElementRounding& rounding = {}) {
  if (is_nan(value)) return 0;
  const float size = magnitude(value) < largest ? magnitude(value) : largest;
  const std::uint32_t steps = rounded_steps(size, 0, rounding);
  return static_cast<std::uint8_t>((float_bits(value) >> 31 != 0 ? 0u - steps : steps) & mask);
}

/// The code of an element: its lowest 4 or 8 bits.
PAPILLON_FUNCTION constexpr std::uint8_t encode_element(ElementFormat format, float value,
                                                        const ElementRounding& rounding = {}) {
  const float largest = largest_element(format);
  if (format == ElementFormat::int8) return encode_integer(value, largest, 0xff, rounding);
  if (format == ElementFormat::int4) return encode_integer(value, largest, 0xf, rounding);
  return encode_float(small_float(format), value, largest, rounding);
}

/// The exact value of a code.
PAPILLON_FUNCTION constexpr float decode_element(ElementFormat format, std::uint8_t code) {
  if (format == ElementFormat::int8) return static_cast<float>(static_cast<std::int8_t>(code));
  if (format == ElementFormat::int4) return static_cast<float>((code & 0xf) - ((code & 0x8) << 1));
  const SmallFloat f = small_float(format);
  const std::uint32_t size = code & ((1u << f.sign_shift) - 1u);
  const std::uint32_t sign = static_cast<std::uint32_t>(code >> f.sign_shift & 1) << 31;
  if (size > f.most_code) {  // E4M3 has one NaN, E5M2 an infinity and three NaN
    const bool infinite = format == ElementFormat::e5m2 && size == 0x7c;
    return __builtin_bit_cast(float, sign | (infinite ? 0x7f800000u : 0x7fc00000u));
  }
  const std::uint32_t field = size >> f.mantissa_bits;
  const std::uint32_t fraction = size & ((1u << f.mantissa_bits) - 1u);
  const int exponent = f.least_exponent - f.mantissa_bits + (field > 0 ? static_cast<int>(field) - 1 : 0);
  const std::uint32_t significand = field > 0 ? fraction + (1u << f.mantissa_bits) : fraction;
  const float value = static_cast<float>(significand) * power_of_two(exponent);
  return __builtin_bit_cast(float, sign | float_bits(value));
}

/// 2^(code - 127), NaN for 255: a scale of the OCP microscaling formats.
PAPILLON_FUNCTION constexpr float decode_e8m0(std::uint8_t code) {
  return code == 0xff ? __builtin_bit_cast(float, 0x7fc00000u) : power_of_two(static_cast<int>(code) - 127);
}

/// The code of `value` >= 0 rounded up to a power of two; 0 for all up to 2^-127, 254 for all beyond 2^127.
PAPILLON_FUNCTION constexpr std::uint8_t encode_e8m0_up(float value) {
  if (!is_finite(value)) return 254;
  if (value <= power_of_two(-127)) return 0;
  const int exponent = exponent_of(value);
  const int up = value > power_of_two(exponent) ? exponent + 1 : exponent;
  return static_cast<std::uint8_t>(up > 127 ? 254 : up + 127);
}

}  // namespace papillon::detail
