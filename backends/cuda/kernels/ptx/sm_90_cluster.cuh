// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

/// Says that this thread's writes to shared memory of the cluster's blocks are done (release).
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// Waits until every thread of the cluster has arrived (acquire).
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The address, in block `rank` of the cluster, of what lies at `address` in this block.
__device__ __forceinline__ std::uint32_t cluster_address(std::uint32_t address, std::uint32_t rank) {
  std::uint32_t result;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(rank));
  return result;
}

__device__ __forceinline__ void cluster_store(std::uint32_t address, uint2 value) {
  asm volatile("st.shared::cluster.v2.u32 [%0], {%1,%2};" ::"r"(address), "r"(value.x), "r"(value.y)
               : "memory");
}

__device__ __forceinline__ void cluster_store(std::uint32_t address, const uint4& value) {
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}

}  // namespace papillon::cuda::ptx
