// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_float.cuh"
#include "kernels/gemm/ring_position.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_90_barrier.cuh"
#include "kernels/ptx/sm_90_tensor_copy.cuh"

namespace papillon::cuda {

/// The block's shared memory, by address: stages of A and B (or exchanged sums), then barriers.
template <class Tile>
struct GemmFloatShared {
  std::uint32_t base;

  __device__ explicit GemmFloatShared(const void* memory)
      : base((ptx::shared_address(memory) + Tile::alignment - 1) / Tile::alignment * Tile::alignment) {}
  __device__ std::uint32_t stage(int slot) const { return base + slot * Tile::stage_bytes; }
  __device__ std::uint32_t full(int slot) const { return base + Tile::data_bytes + 8 * slot; }
  __device__ std::uint32_t empty(int slot) const { return full(Tile::stages + slot); }
  __device__ std::uint32_t transposed(int slot) const { return full(2 * Tile::stages + slot); }
};

/// Where a tile lies: whole groups of rows of tiles one after the other, of each group the columns from left
/// to right, so that blocks that run together share rows of A and columns of B.
struct GemmFloatPlace {
  int row;  ///< of tiles
  int column;
  int batch;

  __device__ __forceinline__ GemmFloatPlace(const GemmFloatProblem& problem, std::uint32_t tile) {
    const std::uint32_t tiles = problem.row_tiles * problem.column_tiles;
    const std::uint32_t rest = tile % tiles;
    const std::uint32_t group_tiles = problem.group * problem.column_tiles;
    const std::uint32_t first = rest / group_tiles * problem.group;
    const std::uint32_t rows = min(problem.group, problem.row_tiles - first);
    const std::uint32_t in_group = rest % group_tiles;
    row = static_cast<int>(first + in_group % rows);
    column = static_cast<int>(in_group / rows);
    batch = static_cast<int>(tile / tiles);
  }
};

/// The steps of k of one block of a cluster.
struct GemmFloatSteps {
  int first;
  int count;

  __device__ __forceinline__ GemmFloatSteps(const GemmFloatProblem& problem, int rank)
      : first(static_cast<int>(std::int64_t{problem.steps} * rank / problem.split)),
        count(static_cast<int>(std::int64_t{problem.steps} * (rank + 1) / problem.split) - first) {}
};

/// Starts the copies of one stage after the other, tile after tile. All threads of the block count alike, so
/// that their warps can take turns.
template <class Tile, bool AKFastest, bool BKFastest>
class GemmFloatLoader {
 public:
  __device__ __forceinline__ GemmFloatLoader(const GemmFloatProblem& problem, std::uint32_t tile)
      : tile_(tile), place_(problem, tile) {}

  /// Fills the next stage; called by one thread.
  __device__ __forceinline__ void load(const GemmFloatProblem& problem, const GemmFloatShared<Tile>& shared,
                                       const GemmFloatSteps& steps) const {
    if (tile_ >= problem.tiles) return;
    const std::uint32_t full = shared.full(ring_.slot);
    const std::uint32_t stage = shared.stage(ring_.slot);
    ptx::barrier_wait(shared.empty(ring_.slot), ring_.parity ^ 1);
    ptx::barrier_expect(full, Tile::stage_bytes);
    const int k = (steps.first + step_) * Tile::depth;
    const int row = place_.row * Tile::rows;
    const int column = place_.column * Tile::columns;
    ptx::load_box(stage, &problem.a, full, AKFastest ? k : row, AKFastest ? row : k,
                  place_.batch * problem.a_batches);
    ptx::load_box(stage + Tile::a_bytes, &problem.b, full, BKFastest ? k : column, BKFastest ? column : k,
                  place_.batch * problem.b_batches);
  }

  /// Goes on to the stage after that; called by all threads.
  __device__ __forceinline__ void advance(const GemmFloatProblem& problem, const GemmFloatSteps& steps,
                                          std::uint32_t tile_step) {
    ring_.advance();
    if (++step_ == steps.count) {
      step_ = 0;
      tile_ += tile_step;
      if (tile_ < problem.tiles) place_ = GemmFloatPlace(problem, tile_);
    }
  }

 private:
  std::uint32_t tile_;
  int step_ = 0;
  GemmFloatPlace place_;
  RingPosition<Tile::stages> ring_;
};

}  // namespace papillon::cuda
