// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "emulator.hpp"

namespace papillon::cuda::ptx {

/// The start of the block's shared memory is address 0.
inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(static_cast<const unsigned char*>(pointer) - papillon::cuda::shared);
}

inline std::byte* shared_place(std::uint32_t address, std::size_t bytes) {
  using papillon_test::emulation::machine;
  // The upper byte names a block of the cluster, one more than its rank; 0 is the own block.
  const unsigned rank = address >> 24 == 0 ? machine.current->block : (address >> 24) - 1;
  const auto& block = machine.blocks.at(rank);
  if ((address & 0xffffffu) % bytes != 0 || (address & 0xffffffu) + bytes > block.shared_bytes)
    throw std::runtime_error("an access beside shared memory, or misaligned");
  return block.shared + (address & 0xffffffu);
}

inline void async_copy_16(std::uint32_t destination, const void* source) {
  __builtin_memcpy(shared_place(destination, 16), source, 16);
}
template <int Bytes>
void async_copy_few(std::uint32_t destination, const void* source) {
  __builtin_memcpy(shared_place(destination, Bytes), source, Bytes);
}
inline void async_copy_16_filled(std::uint32_t destination, const void* source, int valid) {
  std::byte* place = shared_place(destination, 16);
  __builtin_memset(place, 0, 16);
  __builtin_memcpy(place, source, static_cast<std::size_t>(valid));
}
inline void async_copy_commit() {}
template <int>
void async_copy_wait() {}

}  // namespace papillon::cuda::ptx
