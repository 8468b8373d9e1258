// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/arithmetic.cuh"
#include "kernels/gemm/ring.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

// A tile whose k is cut. Each of the `split` blocks has sums of all rows of the tile, from its part of k; of
// a warp's 16 rows one block is the owner. There the warp adds to its sums those that the same warp of every
// other block has, always in the same order; the others leave theirs in their shared memory, as their
// registers hold them, where the stages have been: a cluster has one tile then.

__device__ __forceinline__ int owner_of(int warp, int split, int warps) { return warp * split / warps; }

/// Warps whose rows this part of k owns.
__device__ __forceinline__ int owned_warps(int depth, int split, int warps) {
  int count = 0;
  for (int warp = 0; warp < warps; ++warp) count += owner_of(warp, split, warps) == depth ? 1 : 0;
  return count;
}

/// The barriers of an exchange: `sums_full` hears of each warp's sums that are left for this block,
/// `sums_empty` of each of its own that have been read.
template <class Tile>
__device__ __forceinline__ void init_exchange(const Gemm16Problem& problem, const Gemm16Shared<Tile>& shared,
                                              const Gemm16Part& part) {
  const int owned = owned_warps(part.depth, problem.split, Tile::warps);
  ptx::barrier_init(shared.sums_full(), max(1, owned * (problem.split - 1)));
  ptx::barrier_init(shared.sums_empty(), max(1, Tile::warps - owned));
}

/// Where a lane leaves four of its sums.
template <class Tile>
__device__ __forceinline__ std::uint32_t sums_place(std::uint32_t memory, int warp, int four) {
  return memory +
         static_cast<std::uint32_t>(((warp * (Tile::columns / 8) + four) * 32 + threadIdx.x % 32) * 16);
}

/// Whether this warp's rows are this block's; then `sums` have become those of the whole of k.
template <class Tile>
__device__ __forceinline__ bool exchange_sums(const Gemm16Problem& problem, float (&sums)[Tile::columns / 2],
                                              const Gemm16Shared<Tile>& shared, const Gemm16Part& part,
                                              int warp) {
  constexpr int fours = Tile::columns / 8;
  constexpr int together = 8;  // words that a lane reads at a time
  const auto rank = [&](int depth) {
    return static_cast<std::uint32_t>(depth * problem.multicast + part.row);
  };
  const bool first_lane = threadIdx.x % 32 == 0;
  const int owner = owner_of(warp, problem.split, Tile::warps);
  ptx::named_sync(1, 32 * Tile::warps);  // no warpgroup multiplies the stages any more
  if (owner != part.depth) {
#pragma unroll
    for (int i = 0; i < fours; ++i)
      ptx::store_16(sums_place<Tile>(shared.stage(0), warp, i), pack<float>(sums + 4 * i));
    __syncwarp();
    if (first_lane) ptx::barrier_release_cluster(ptx::cluster_address(shared.sums_full(), rank(owner)));
    return false;
  }
  ptx::barrier_wait_cluster(shared.sums_full(), 0);
  for (int step = 1; step < problem.split; ++step) {
    const std::uint32_t memory =
        ptx::cluster_address(shared.stage(0), rank((part.depth + step) % problem.split));
#pragma unroll
    for (int start = 0; start < fours; start += together) {
      uint4 words[together];
#pragma unroll
      for (int i = 0; i < together; ++i)
        words[i] = ptx::cluster_load_16(sums_place<Tile>(memory, warp, start + i));
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const int sum = 4 * (start + i);
        sums[sum] += __uint_as_float(words[i].x);
        sums[sum + 1] += __uint_as_float(words[i].y);
        sums[sum + 2] += __uint_as_float(words[i].z);
        sums[sum + 3] += __uint_as_float(words[i].w);
      }
    }
  }
  __syncwarp();
  if (first_lane) {
    for (int depth = 0; depth < problem.split; ++depth) {
      if (depth != part.depth)
        ptx::barrier_arrive_cluster(ptx::cluster_address(shared.sums_empty(), rank(depth)));
    }
  }
  return true;
}

/// Before a block leaves: all that the others read of it has been read.
template <class Tile>
__device__ __forceinline__ void end_exchange(const Gemm16Problem& problem, const Gemm16Shared<Tile>& shared,
                                             const Gemm16Part& part) {
  if (owned_warps(part.depth, problem.split, Tile::warps) < Tile::warps)
    ptx::barrier_wait_cluster(shared.sums_empty(), 0);
}

}  // namespace papillon::cuda
