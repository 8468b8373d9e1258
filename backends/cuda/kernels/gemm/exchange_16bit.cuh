// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/store_16bit.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

// A tile whose k is cut: each of the `split` blocks leaves the sums of its part of k in its shared memory,
// and finishes as many rows of the tile, for which it reads what all have, always in the same order.

/// Where a block leaves four columns of a row, swizzled against bank conflicts.
template <class Tile>
__device__ __forceinline__ std::uint32_t sums_offset(int row, int four) {
  return static_cast<std::uint32_t>(row * Tile::columns * 4 + (four ^ (row & 7)) * 16);
}

/// Leaves this thread's sums for the others.
template <class Tile>
__device__ __forceinline__ void leave_sums(const float (&sums)[Tile::columns / 2],
                                           const Gemm16Shared<Tile>& shared, int warp) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = warp * 16 + lane / 4;
#pragma unroll
  for (int j = 0; j < Tile::columns / 8; ++j) {
    const std::uint32_t place =
        shared.last() + sums_offset<Tile>(row, 2 * j + lane % 4 / 2) + lane % 2 * 8;  // of row + 8 as well
    ptx::store_8(place, make_uint2(__float_as_uint(sums[4 * j]), __float_as_uint(sums[4 * j + 1])));
    ptx::store_8(place + 8 * Tile::columns * 4,
                 make_uint2(__float_as_uint(sums[4 * j + 2]), __float_as_uint(sums[4 * j + 3])));
  }
}

/// Tells the barrier of each block with a part of this tile's k that this warp has come so far.
__device__ __forceinline__ void tell_parts(const Gemm16Problem& problem, const Gemm16Part& part,
                                           std::uint32_t barrier) {
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (lane >= problem.split) return;
  const auto rank = static_cast<std::uint32_t>(lane * problem.multicast + part.row);
  ptx::barrier_release_cluster(ptx::cluster_address(barrier, rank));
}

/// Four neighbours to C, of which `count` are inside.
template <class Out>
__device__ __forceinline__ void store_four(Out* c, const float (&values)[4], int count) {
  if (count >= 4) {
    if constexpr (sizeof(Out) == 2) {
      *reinterpret_cast<uint2*>(c) =
          make_uint2(pack_pair<Out>(values[0], values[1]), pack_pair<Out>(values[2], values[3]));
    } else {
      *reinterpret_cast<uint4*>(c) = pack<Out>(values);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (i < count) c[i] = rounded<Out>(values[i]);
  }
}

/// Adds up this block's rows and stores them.
template <class Out, class Tile>
__device__ __forceinline__ void store_parts(const Gemm16Problem& problem, const Gemm16Shared<Tile>& shared,
                                            const Gemm16Part& part, int row, int column, int batch) {
  constexpr int fours = Tile::columns / 4;
  constexpr int threads = 32 * Tile::warps;
  constexpr int together = 4;  // words that a thread reads at a time
  const int rows = Tile::rows / problem.split;
  const int first = part.depth * rows;
  Out* c = static_cast<Out*>(problem.c_values) + batch * problem.c_batch;
  for (int start = static_cast<int>(threadIdx.x); start < rows * fours; start += together * threads) {
    float totals[together][4] = {};
    for (int i = 0; i < problem.split; ++i) {
      const std::uint32_t sums =
          ptx::cluster_address(shared.last(), static_cast<std::uint32_t>(i * problem.multicast + part.row));
      uint4 words[together];
#pragma unroll
      for (int j = 0; j < together; ++j) {
        const int word = min(start + j * threads, rows * fours - 1);
        const std::uint32_t offset = sums_offset<Tile>(first + word / fours, word % fours);
        words[j] =
            i == part.depth ? ptx::load_16(shared.last() + offset) : ptx::load_cluster_16(sums + offset);
      }
#pragma unroll
      for (int j = 0; j < together; ++j) {
        totals[j][0] += __uint_as_float(words[j].x);
        totals[j][1] += __uint_as_float(words[j].y);
        totals[j][2] += __uint_as_float(words[j].z);
        totals[j][3] += __uint_as_float(words[j].w);
      }
    }
#pragma unroll
    for (int j = 0; j < together; ++j) {
      const int word = start + j * threads;
      const int y = row + first + word / fours;
      const int x = column + word % fours * 4;
      if (word >= rows * fours || y >= problem.m || x >= problem.n) continue;
      if (!problem.plain) {
        scale_pair(problem, static_cast<const Out*>(c), y, x, totals[j][0], totals[j][1]);
        scale_pair(problem, static_cast<const Out*>(c), y, x + 2, totals[j][2], totals[j][3]);
      }
      store_four(c + y * problem.c_stride + x, totals[j], problem.n - x);
    }
  }
}

}  // namespace papillon::cuda
