// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

/// The larger of two numbers, NaN if one is NaN.
__device__ __forceinline__ float max_or_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

/// The least of three integers in one instruction.
__device__ __forceinline__ int least(int a, int b, int c) { return __vimin3_s32(a, b, c); }

/// a · b + c rounded towards zero.
__device__ __forceinline__ float fma_towards_zero(float a, float b, float c) { return __fmaf_rz(a, b, c); }

/// Two E4M3 numbers, nearest and saturating, the first in the lower byte; NaN is 0x7f.
__device__ __forceinline__ std::uint32_t to_e4m3(float low, float high) {
  std::uint16_t result;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(result) : "f"(high), "f"(low));
  return result;
}

/// The same for E5M2.
__device__ __forceinline__ std::uint32_t to_e5m2(float low, float high) {
  std::uint16_t result;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(result) : "f"(high), "f"(low));
  return result;
}

}  // namespace papillon::cuda::ptx
