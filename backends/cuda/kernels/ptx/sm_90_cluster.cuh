// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

/// threadIdx.x, read anew: a kernel that is short of registers need not keep what it made of it before.
__device__ __forceinline__ int thread_again() {
  int result;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(result));
  return result;
}

/// Keeps the compiler from making the addresses after this one beside it, each in registers of its own.
template <class T>
__device__ __forceinline__ void step_by_step(T*& address) {
  asm volatile("" : "+l"(address));
}

/// Makes a value before what follows in program order, barriers among them.
template <class C>
__device__ __forceinline__ void settle(C value) {
  if constexpr (sizeof(C) == 4) {
    asm volatile("" ::"r"(__builtin_bit_cast(std::uint32_t, value)) : "memory");
  } else {
    asm volatile("" ::"l"(__builtin_bit_cast(std::uint64_t, value)) : "memory");
  }
}

/// Says that this thread is there. It orders no memory accesses: a release would wait for all of the thread's
/// accesses to global memory, which costs as much as the barrier saves.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/// Waits until every thread of the cluster has arrived.
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// A barrier of the cluster's threads that shows each what all have written before.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n\t"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

/// Makes a mailbox, an mbarrier of 8 bytes of shared memory, for one delivery; called by one thread, before
/// its next cluster_arrive.
__device__ __forceinline__ void mailbox_init(std::uint32_t mailbox) {
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
      "fence.mbarrier_init.release.cluster;" ::"r"(mailbox)
      : "memory");
}

/// Says how many bytes the delivery has; called by one thread after the cluster_wait. (Some may have come.)
__device__ __forceinline__ void mailbox_expect(std::uint32_t mailbox, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mailbox), "r"(bytes)
               : "memory");
}

/// The address, in block `rank` of the cluster, of what lies at `address` in this block.
__device__ __forceinline__ std::uint32_t cluster_address(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t result;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

/// Sends a word to another block, and tells that block's mailbox.
__device__ __forceinline__ void mailbox_send(std::uint32_t address, const uint4& word,
                                             std::uint32_t mailbox) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(
          address),
      "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "r"(mailbox)
      : "memory");
}

/// Waits until all bytes are there.
__device__ __forceinline__ void mailbox_wait(std::uint32_t mailbox) {
  std::uint32_t complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(complete)
        : "r"(mailbox)
        : "memory");
  }
}

}  // namespace papillon::cuda::ptx
