// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

/// The 32-bit address that shared-memory instructions take.
__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Starts copying 16 bytes from global to shared memory, past the first-level cache.
__device__ __forceinline__ void async_copy_16(std::uint32_t destination, const void* source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(destination), "l"(source)
               : "memory");
}

/// Starts copying 4 or 8 bytes from global to shared memory.
template <int Bytes>
__device__ __forceinline__ void async_copy_few(std::uint32_t destination, const void* source) {
  static_assert(Bytes == 4 || Bytes == 8);
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(destination), "l"(source), "n"(Bytes)
               : "memory");
}

/// Starts copying the first `valid` of 16 bytes from global to shared memory; the others become 0.
/// Nothing is read where that is none.
__device__ __forceinline__ void async_copy_16_filled(std::uint32_t destination, const void* source,
                                                     int valid) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(destination), "l"(source),
               "r"(valid)
               : "memory");
}

/// Closes this thread's group of copies.
__device__ __forceinline__ void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most `Pending` of this thread's newest groups are under way.
template <int Pending>
__device__ __forceinline__ void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace papillon::cuda::ptx
