// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

#ifdef __CUDA_ARCH_FEAT_SM100_ALL
#define PAPILLON_HAS_E2M1_CONVERSION

/// Eight E2M1 numbers, nearest and saturating, the first in the lowest bits.
__device__ __forceinline__ std::uint32_t to_e2m1(const float (&v)[8]) {
  std::uint32_t result;
  asm("{\n"
      ".reg .b8 a, b, c, d;\n"
      "cvt.rn.satfinite.e2m1x2.f32 a, %2, %1;\n"
      "cvt.rn.satfinite.e2m1x2.f32 b, %4, %3;\n"
      "cvt.rn.satfinite.e2m1x2.f32 c, %6, %5;\n"
      "cvt.rn.satfinite.e2m1x2.f32 d, %8, %7;\n"
      "mov.b32 %0, {a, b, c, d};\n"
      "}"
      : "=r"(result)
      : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]));
  return result;
}

/// Four E2M1 numbers, rounded up where a byte of `random` and the first 8 bits of the fraction add up to 256;
/// byte i belongs to number i. The instruction takes bytes 3, 1, 2, 0 for its operands in their order.
__device__ __forceinline__ std::uint32_t to_e2m1_stochastic(float v0, float v1, float v2, float v3,
                                                            std::uint32_t random) {
  std::uint16_t result;
  const std::uint32_t bits = __byte_perm(random, 0, 0x3120);
  asm("cvt.rs.satfinite.e2m1x4.f32 %0, {%4, %3, %2, %1}, %5;"
      : "=h"(result)
      : "f"(v0), "f"(v1), "f"(v2), "f"(v3), "r"(bits));
  return result;
}
#endif

}  // namespace papillon::cuda::ptx
