// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda.h>

#include <cstdint>

namespace papillon::cuda {

/// A product of float matrices as its kernel takes it. A part is the work of one block: a tile of C, or of a
/// tile one of `split` parts of k.
struct GemmFloatProblem {
  CUtensorMap a;
  CUtensorMap b;
  float* c;
  std::int64_t c_stride;
  std::int64_t c_batch;
  std::uint32_t tiles;
  std::uint32_t row_tiles;
  std::uint32_t column_tiles;
  std::uint32_t group;  ///< rows of tiles that are worked on together
  int m;
  int n;
  int steps;      ///< of k, `depth` each
  int split;      ///< blocks of a cluster, which share the steps of a tile
  int a_batches;  ///< 0: the same matrix for the whole batch; else 1
  int b_batches;
  float alpha;
  float beta;
};

/// A block's tile of C: 32 lanes of a warp as `LaneRows` rows of lanes, each with 8 x ThreadColumns sums.
/// With slices each of them has warps of its own for all of the tile, which take their share of each stage's
/// k.
template <int Rows, int Columns, int ThreadColumns, int LaneRows, int Slices, int Stages, int Blocks>
struct GemmFloatTile {
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int thread_rows = 8;
  static constexpr int thread_columns = ThreadColumns;
  static constexpr int lane_rows = LaneRows;
  static constexpr int lane_columns = 32 / LaneRows;
  static constexpr int warp_rows = lane_rows * thread_rows;
  static constexpr int warp_columns = lane_columns * thread_columns;
  static constexpr int warps_across = Columns / warp_columns;
  static constexpr int slices = Slices;
  static constexpr int slice_warps = Rows / warp_rows * warps_across;
  static constexpr int slice_threads = 32 * slice_warps;
  static constexpr int warps = Slices * slice_warps;
  static constexpr int threads = 32 * warps;
  static constexpr int stages = Stages;
  static constexpr int blocks = Blocks;  ///< of a multiprocessor
  static constexpr int depth = 32;       ///< of k in a stage: 128 bytes, a row of the copy engine's swizzle
  static constexpr int alignment = 1024;
  static constexpr int a_bytes = Rows * depth * 4;
  static constexpr int stage_bytes = a_bytes + Columns * depth * 4;
  static constexpr int words = 2 * ThreadColumns;        ///< a thread's sums in words of 16 bytes
  static constexpr int sums_bytes = Rows * Columns * 4;  ///< of a slice, exchanged where the ring was
  static constexpr int ring_bytes = Stages * stage_bytes;
  static constexpr int exchange_bytes = Slices * sums_bytes;
  static constexpr int data_bytes = ring_bytes > exchange_bytes ? ring_bytes : exchange_bytes;
  static constexpr int shared_bytes = alignment + data_bytes + 24 * Stages;
};

}  // namespace papillon::cuda
