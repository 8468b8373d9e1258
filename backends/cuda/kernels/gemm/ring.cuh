// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_16bit.cuh"
#include "kernels/gemm/ring_position.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_90_barrier.cuh"

namespace papillon::cuda {

/// The block's shared memory, by address: stages, buffers, barriers.
template <class Tile>
struct Gemm16Shared {
  std::uint32_t base;

  __device__ explicit Gemm16Shared(const void* memory)
      : base((ptx::shared_address(memory) + Tile::alignment - 1) / Tile::alignment * Tile::alignment) {}
  __device__ std::uint32_t stage(int slot) const { return base + slot * Tile::stage_bytes; }
  __device__ std::uint32_t buffers() const { return stage(Tile::stages); }
  __device__ std::uint32_t full(int slot) const { return buffers() + Tile::out_bytes + 8 * slot; }
  __device__ std::uint32_t empty(int slot) const { return full(Tile::stages + slot); }
  __device__ std::uint32_t sums_full() const { return full(2 * Tile::stages); }
  __device__ std::uint32_t sums_empty() const { return full(2 * Tile::stages + 1); }
};

/// Which tile a cluster works on: whole groups of `group` rows of tiles one after the other, of each group
/// the columns from left to right, so that the clusters that run together share rows of A and columns of B.
struct Gemm16Place {
  int row_tile = 0;
  int column_tile = 0;
  int batch = 0;

  Gemm16Place() = default;
  __device__ __forceinline__ Gemm16Place(const Gemm16Problem& problem, std::uint32_t tile) {
    const std::uint32_t tiles = problem.row_tiles * problem.column_tiles;
    const std::uint32_t rest = tile % tiles;
    const std::uint32_t group_tiles = problem.group * problem.column_tiles;
    const std::uint32_t first = rest / group_tiles * problem.group;
    const std::uint32_t rows = min(problem.group, problem.row_tiles - first);
    const std::uint32_t in_group = rest % group_tiles;
    row_tile = static_cast<int>(first + in_group % rows);
    column_tile = static_cast<int>(in_group / rows);
    batch = static_cast<int>(tile / tiles);
  }
};

/// This block's part of a cluster's work.
struct Gemm16Part {
  int row;    ///< of the blocks below each other
  int depth;  ///< of the parts of k
  int first_block;
  int blocks;

  __device__ __forceinline__ Gemm16Part(const Gemm16Problem& problem, std::uint32_t rank)
      : row(static_cast<int>(rank % static_cast<std::uint32_t>(problem.multicast))),
        depth(static_cast<int>(rank / static_cast<std::uint32_t>(problem.multicast))) {
    first_block = start(problem, depth);
    blocks = start(problem, depth + 1) - first_block;
  }
  __device__ __forceinline__ static int start(const Gemm16Problem& problem, int depth) {
    if (problem.split == 1) return depth == 0 ? 0 : problem.k_blocks;
    return static_cast<int>(static_cast<std::uint32_t>(problem.k_blocks) * static_cast<std::uint32_t>(depth) /
                            static_cast<std::uint32_t>(problem.split));
  }
};

}  // namespace papillon::cuda
