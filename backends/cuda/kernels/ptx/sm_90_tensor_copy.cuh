// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda::ptx {

// Copies of boxes of tensors of three dimensions by the copy engine, from or to this block's shared memory
// (32-bit addresses). The map lies in the kernel's parameters; coordinates are those of the box's first
// element.

__device__ __forceinline__ void prefetch_map(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Loads a box; elements outside the tensor become 0. The barrier is told of the box's bytes.
__device__ __forceinline__ void load_box(std::uint32_t destination, const void* map, std::uint32_t barrier,
                                         int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
      "%5}], "
      "[%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// The same into all blocks of the cluster whose bits are set, each time to the same place and barrier.
__device__ __forceinline__ void load_box_multicast(std::uint32_t destination, const void* map,
                                                   std::uint32_t barrier, int x, int y, int z,
                                                   std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], "
      "[%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "h"(blocks)
      : "memory");
}

/// Stores the part of a box that lies inside the tensor, in whole words of 16 bytes.
__device__ __forceinline__ void store_box(const void* map, std::uint32_t source, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
      "r"(source), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// Closes this thread's group of stores, which may be empty.
__device__ __forceinline__ void stores_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until at most `Pending` of this thread's newest groups of stores have still to read shared memory.
template <int Pending>
__device__ __forceinline__ void stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

/// Waits for the end of this thread's stores.
__device__ __forceinline__ void stores_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// Shows this thread's writes of shared memory to the copy engine.
__device__ __forceinline__ void show_to_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Four 8 x 8 matrices of 16-bit values into shared memory, each lane giving the address of row l % 8 of
/// matrix l / 8; of a matrix lane l holds the two values of row l / 4 from column 2 · (l % 4) on.
__device__ __forceinline__ void store_matrices(std::uint32_t address, std::uint32_t m0, std::uint32_t m1,
                                               std::uint32_t m2, std::uint32_t m3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(m0),
               "r"(m1), "r"(m2), "r"(m3)
               : "memory");
}

}  // namespace papillon::cuda::ptx
