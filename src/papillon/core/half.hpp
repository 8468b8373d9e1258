// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/macros.hpp"

namespace papillon {

namespace detail {

// The compiler's bit_cast: std::bit_cast is a host function to nvcc.

/// Bits of the binary16 value nearest to `value`, ties to even; NaN stays NaN (quiet, upper payload kept).
PAPILLON_FUNCTION constexpr std::uint16_t float_to_half_bits(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x477ff000u) {  // 65520 and above round to infinity
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  }
  if (magnitude >= 0x38800000u) {  // normal: 2^-14 and above
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
  if (magnitude <= 0x33000000u) {  // 2^-25 and below: ties at 2^-25 go to the even zero
    return static_cast<std::uint16_t>(sign);
  }
  const int shift = 126 - static_cast<int>(magnitude >> 23);  // 14 … 24: the unit is 2^-24
  const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  const std::uint32_t quotient = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
  const std::uint32_t tie = 1u << (shift - 1);
  const bool up = rest > tie || (rest == tie && (quotient & 1u) != 0u);
  return static_cast<std::uint16_t>(sign | (quotient + (up ? 1u : 0u)));
}

/// The exact value of a binary16 number.
PAPILLON_FUNCTION constexpr float half_bits_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31u) {  // infinity, or NaN made quiet as the hardware conversions make it
    const std::uint32_t quiet = mantissa != 0u ? 0x400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13) | quiet);
  }
  if (exponent == 0u) {
    if (mantissa == 0u) return __builtin_bit_cast(float, sign);
    std::uint32_t biased = 113u;
    while ((mantissa & 0x400u) == 0u) {
      mantissa <<= 1;
      --biased;
    }
    return __builtin_bit_cast(float, sign | (biased << 23) | ((mantissa & 0x3ffu) << 13));
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// Bits of the bfloat16 value nearest to `value`, ties to even; NaN stays NaN (quiet, upper payload kept).
PAPILLON_FUNCTION constexpr std::uint16_t float_to_bfloat16_bits(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// The exact value of a bfloat16 number.
PAPILLON_FUNCTION constexpr float bfloat16_bits_to_float(std::uint16_t value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value) << 16);
}

}  // namespace detail

/// IEEE 754 binary16 in storage; arithmetic happens in float. The conversion to it rounds to nearest, ties to
/// even, with subnormals; the conversion from it is exact. Two bytes, trivially copyable, host and device.
struct half {
  std::uint16_t bits;

  half() = default;
  PAPILLON_FUNCTION constexpr explicit half(float value) : bits(detail::float_to_half_bits(value)) {}
  PAPILLON_FUNCTION constexpr operator float() const { return detail::half_bits_to_float(bits); }
  PAPILLON_FUNCTION static constexpr half from_bits(std::uint16_t bits) {
    half result{};
    result.bits = bits;
    return result;
  }
};

/// bfloat16 (the upper half of a binary32) in storage; arithmetic happens in float. The conversion to it
/// rounds to nearest, ties to even; the conversion from it is exact. Two bytes, host and device.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  PAPILLON_FUNCTION constexpr explicit bfloat16(float value) : bits(detail::float_to_bfloat16_bits(value)) {}
  PAPILLON_FUNCTION constexpr operator float() const { return detail::bfloat16_bits_to_float(bits); }
  PAPILLON_FUNCTION static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result{};
    result.bits = bits;
    return result;
  }
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2);

}  // namespace papillon
