// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/half.hpp"

namespace papillon::cuda::ptx {

// A warp's 8 x 8 matrices of 16-bit values and its matrix units. Of a matrix lane l holds the two values of
// row l / 4 from column 2 · (l % 4) on.

/// Four matrices from shared memory; the address of row r of matrix i is given by lane 8 i + r.
__device__ __forceinline__ void load_matrices(std::uint32_t address, std::uint32_t (&matrices)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}
/// The same, each matrix transposed.
__device__ __forceinline__ void load_transposed(std::uint32_t address, std::uint32_t (&matrices)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}

/// sums += A · B for A of 16 x 16 (rows 0 … 7 and 8 … 15 of its left half, then of its right half) and B of
/// 16 x 8 (held as its transpose, upper half first). Of the sums a lane holds two of row l / 4 from column 2
/// · (l % 4) on, then those eight rows below.
template <class S>
__device__ __forceinline__ void multiply_add_16(const std::uint32_t (&a)[4], std::uint32_t b0,
                                                std::uint32_t b1, float (&sums)[4]);
template <>
__device__ __forceinline__ void multiply_add_16<half>(const std::uint32_t (&a)[4], std::uint32_t b0,
                                                      std::uint32_t b1, float (&sums)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void multiply_add_16<bfloat16>(const std::uint32_t (&a)[4], std::uint32_t b0,
                                                          std::uint32_t b1, float (&sums)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// sums += A · B in binary64 for A of 16 x 8 (lane l: column l % 4 of rows l / 4 and l / 4 + 8, then column
/// l % 4 + 4 of them) and B of 8 x 8 (rows l % 4 and l % 4 + 4 of column l / 4). Of the sums lane l holds two
/// of row l / 4 from column 2 · (l % 4) on, then those eight rows below. (Compute capability 9.0; the smaller
/// shape of 8.0 runs at half the rate there.)
__device__ __forceinline__ void multiply_add_8(double a0, double a1, double a2, double a3, double b0,
                                               double b1, double (&sums)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
}

}  // namespace papillon::cuda::ptx
