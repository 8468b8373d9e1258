// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

// Shared memory by 32-bit address, so that what is constant in an address becomes the instruction's offset.

__device__ __forceinline__ uint4 load_16(std::uint32_t address) {
  uint4 word;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
               : "r"(address)
               : "memory");
  return word;
}
__device__ __forceinline__ uint2 load_8(std::uint32_t address) {
  uint2 word;
  asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(word.x), "=r"(word.y) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ std::uint32_t load_4(std::uint32_t address) {
  std::uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ void store_16(std::uint32_t address, const uint4& word) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(word.x), "r"(word.y), "r"(word.z),
               "r"(word.w)
               : "memory");
}
__device__ __forceinline__ void store_8(std::uint32_t address, const uint2& word) {
  asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(address), "r"(word.x), "r"(word.y) : "memory");
}
__device__ __forceinline__ void store_4(std::uint32_t address, std::uint32_t word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

}  // namespace papillon::cuda::ptx
