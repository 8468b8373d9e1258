// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/ptx/sm_100_convert.cuh"
#include "kernels/ptx/sm_90_convert.cuh"
#include "papillon/core/quantize_kernels.hpp"

namespace papillon::cuda {

/// What a row kernel writes.
enum class RowFormat { nvfp4, mxfp4, mxfp8 };

/// What elements are multiplied by before they are encoded: high + low, where the sum stands for a reciprocal
/// to twice the bits of a float.
///
/// y / s is wanted, rounded to float, then rounded to an element: only on which side of the ties of the
/// element format the float quotient lies matters. fma(y, high, y · low) lies on the same side for every
/// float y and s (tests/test_quantizer_division.cpp goes through all significands), at a fifth of a
/// division's cost.
struct Reciprocal {
  float high;
  float low;
};

/// 1 / divisor for a divisor between 2^-100 and 2^100, times `factor`, a power of two.
__device__ __forceinline__ Reciprocal reciprocal_of(float divisor, float factor) {
  const float high = __frcp_rn(divisor);
  const float rest = __fmaf_rn(-high, divisor, 1.0f);  // exact
  return {high * factor, __fdiv_rn(rest, divisor) * factor};
}

__device__ __forceinline__ float multiplied(float y, Reciprocal by) {
  return __fmaf_rn(y, by.high, y * by.low);
}

/// a / b, rounded correctly (Markstein: an approximate quotient, its remainder, one correction), given
/// reciprocal = 1 / b rounded; a and b are far from the ends of the exponent range.
__device__ __forceinline__ float quotient(float a, float b, float reciprocal) {
  const float approximate = a * reciprocal;
  return __fmaf_rn(__fmaf_rn(-approximate, b, a), reciprocal, approximate);
}

/// Eight E2M1 codes of values below 7 in magnitude (any finite ones with `Saturates`).
///
/// Codes count the numbers 0, .5, 1, 1.5, 2, 3, 4, 6, so the code of q is the concave min(2q, q + 2, q / 2 +
/// 4) rounded to an integer, ties to even; rounding is monotonic, so each of the three is rounded on its own,
/// in one fused multiply-add onto 1.5 · 2^23, whose last place is 1. Signs are those of `y`, the elements,
/// since -0 times a reciprocal in two parts may be +0.
template <bool Saturates>
__device__ __forceinline__ std::uint32_t encode_e2m1(const float (&v)[8], const float* y) {
#ifdef PAPILLON_HAS_E2M1_CONVERSION
  float q[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) q[i] = copysignf(v[i], y[i]);
  return ptx::to_e2m1(q);
#else
  constexpr float magic = 12582912.0f;
  constexpr std::uint32_t magic_bits = 0x4b400000u;
  constexpr std::uint32_t all_magic = magic_bits * 0x11111111u;  // of eight nibbles
  std::uint32_t codes = 0;
  std::uint32_t signs = 0;
#pragma unroll
  for (int i = 7; i >= 0; --i) {
    const float size = fabsf(v[i]);
    const auto steep = static_cast<int>(__float_as_uint(__fmaf_rn(size, 2.0f, magic)));
    const auto middle = static_cast<int>(__float_as_uint(__fmaf_rn(size, 1.0f, magic + 2.0f)));
    auto flat = static_cast<int>(__float_as_uint(__fmaf_rn(size, 0.5f, magic + 4.0f)));
    constexpr auto most = static_cast<int>(magic_bits + 7);
    if constexpr (Saturates) flat = flat < most ? flat : most;
    codes = codes * 16 + static_cast<std::uint32_t>(ptx::least(steep, middle, flat));
    signs = __funnelshift_l(__float_as_uint(y[i]), signs, 4);
  }
  return (codes - all_magic) | (signs & 0x88888888u);
#endif
}

/// The same with stochastic rounding, `random` having a byte for each value: floor(256 · code) plus the byte.
/// Saturates.
__device__ __forceinline__ std::uint32_t encode_e2m1_stochastic(const float (&v)[8], const float* y,
                                                                std::uint32_t random_low,
                                                                std::uint32_t random_high) {
#ifdef PAPILLON_HAS_E2M1_CONVERSION
  float q[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) q[i] = copysignf(v[i], y[i]);
  return ptx::to_e2m1_stochastic(q[0], q[1], q[2], q[3], random_low) |
         ptx::to_e2m1_stochastic(q[4], q[5], q[6], q[7], random_high) << 16;
#else
  constexpr float magic = 49152.0f;  // 1.5 · 2^15, whose last place is 1 / 256
  constexpr std::uint32_t magic_bits = 0x47400000u;
  std::uint32_t codes = 0;
  std::uint32_t signs = 0;
#pragma unroll
  for (int i = 7; i >= 0; --i) {
    const float size = fminf(fabsf(v[i]), 6.0f);
    const auto steep = static_cast<int>(__float_as_uint(ptx::fma_towards_zero(size, 2.0f, magic)));
    const auto middle = static_cast<int>(__float_as_uint(ptx::fma_towards_zero(size, 1.0f, magic + 2.0f)));
    const auto flat = static_cast<int>(__float_as_uint(ptx::fma_towards_zero(size, 0.5f, magic + 4.0f)));
    const std::uint32_t random = (i < 4 ? random_low : random_high) >> (8 * (i % 4)) & 0xffu;
    const std::uint32_t sum =
        static_cast<std::uint32_t>(ptx::least(steep, middle, flat)) - magic_bits + random;
    codes = codes << 4 | sum >> 8;
    signs = __funnelshift_l(__float_as_uint(y[i]), signs, 4);
  }
  return codes | (signs & 0x88888888u);
#endif
}

/// Clears the sign of each code 0x8.
__device__ __forceinline__ std::uint32_t without_negative_zeros(std::uint32_t codes) {
  const std::uint32_t size = codes | codes >> 1 | codes >> 2;
  return codes & (0x77777777u | (size & 0x11111111u) << 3);
}

/// Codes of 16 neighbouring elements: two words of four-bit codes, four of bytes.
template <RowFormat Format>
struct RunCodes {
  static constexpr int words = Format == RowFormat::mxfp8 ? 4 : 2;
  std::uint32_t word[words];
};

/// What a block's scale is found with, once a block of threads.
struct RowScales {
  detail::BlockScaling scaling;
  detail::GlobalScale global;
  float global_reciprocal;  ///< of global.decode
  float encode_sixth;       ///< Transformer Engine: global.encode / 6
  bool usual;               ///< global scale far from the ends of the exponent range
};

/// Codes of 16 elements that are to be multiplied by a reciprocal. `saturates`: some are beyond the largest.
template <RowFormat Format, bool Stochastic, bool Saturates>
__device__ __forceinline__ RunCodes<Format> encode_run(const float* y, Reciprocal by,
                                                       const detail::RandomWords& random, bool e5m2) {
  RunCodes<Format> codes;
  if constexpr (Format == RowFormat::mxfp8) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const float a = y[4 * w] * by.high, b = y[4 * w + 1] * by.high;
      const float c = y[4 * w + 2] * by.high, d = y[4 * w + 3] * by.high;
      codes.word[w] = e5m2 ? ptx::to_e5m2(a, b) | ptx::to_e5m2(c, d) << 16
                           : ptx::to_e4m3(a, b) | ptx::to_e4m3(c, d) << 16;
    }
  } else {
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      float q[8];
#pragma unroll
      for (int i = 0; i < 8; ++i)
        q[i] = Format == RowFormat::mxfp4 ? y[8 * w + i] * by.high : multiplied(y[8 * w + i], by);
      if constexpr (Stochastic) {
        codes.word[w] = encode_e2m1_stochastic(q, y + 8 * w, random.word[2 * w], random.word[2 * w + 1]);
      } else {
        codes.word[w] = encode_e2m1 < Saturates || Format == RowFormat::mxfp4 > (q, y + 8 * w);
      }
    }
  }
  return codes;
}

}  // namespace papillon::cuda
