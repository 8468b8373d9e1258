// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda::ptx {

inline uint4 load_16(std::uint32_t address) {
  uint4 word;
  __builtin_memcpy(&word, shared_place(address, 16), 16);
  return word;
}
inline uint2 load_8(std::uint32_t address) {
  uint2 word;
  __builtin_memcpy(&word, shared_place(address, 8), 8);
  return word;
}
inline std::uint32_t load_4(std::uint32_t address) {
  std::uint32_t word;
  __builtin_memcpy(&word, shared_place(address, 4), 4);
  return word;
}
inline void store_16(std::uint32_t address, const uint4& word) {
  __builtin_memcpy(shared_place(address, 16), &word, 16);
}
inline void store_8(std::uint32_t address, const uint2& word) {
  __builtin_memcpy(shared_place(address, 8), &word, 8);
}

}  // namespace papillon::cuda::ptx
