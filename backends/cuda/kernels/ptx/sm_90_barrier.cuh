// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

// Barriers of 8 bytes of shared memory (mbarrier), by 32-bit address. A phase ends when all arrivals and all
// announced bytes have come; phases have the parities 0, 1, 0, …

/// Made by one thread, before its next barrier_visible.
__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Shows new barriers to the copy engine, and to the cluster after its next barrier of threads.
__device__ __forceinline__ void barrier_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// One arrival that announces bytes.
__device__ __forceinline__ void barrier_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// One arrival, after what this thread read and wrote.
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// One arrival, when all asynchronous copies that this thread has started are complete.
__device__ __forceinline__ void barrier_arrive_after_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// One arrival at a barrier of any block of the cluster. It says nothing to other blocks about this thread's
/// accesses, but those that are complete: the release for a cluster would wait for all that are under way.
__device__ __forceinline__ void barrier_arrive_cluster(std::uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier) : "memory");
}

/// The same, after this thread's accesses.
__device__ __forceinline__ void barrier_release_cluster(std::uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier)
               : "memory");
}

/// Waits for the end of the phase of this parity.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(complete)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

/// The same, after arrivals or stores from other blocks of the cluster.
__device__ __forceinline__ void barrier_wait_cluster(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t complete = 0;
  while (complete == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(complete)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}

// Named barriers of the block's warps, which so many threads meet at.

__device__ __forceinline__ void named_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// This block's rank in its cluster.
__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

}  // namespace papillon::cuda::ptx
