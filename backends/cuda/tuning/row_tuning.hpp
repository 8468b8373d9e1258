// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string_view>

namespace papillon::cuda {

/// The kernel families.
enum class Family : std::uint8_t {
  pass,        ///< kernels/pass.cuh: anything, a tile in shared memory
  few,         ///< kernels/few_rows.cuh: contiguous rows, no more than a card has multiprocessors for
  lane,        ///< kernels/lane_rows.cuh: contiguous rows in the registers of a few lanes
  tile,        ///< kernels/tile_rows.cuh: contiguous rows through shared memory
  persistent,  ///< the same for the longest 16-bit rows: a block takes several, the next one on its way
  cluster,     ///< kernels/cluster_rows.cuh: contiguous rows of several blocks, in one cluster
  shared,      ///< kernels/shared_rows.cuh: contiguous rows with order-m factor, signs, orders, any alignment
  columns,     ///< kernels/columns.cuh: neighbouring columns, up to 32 points in registers
  tile_columns,  ///< kernels/tile_columns.cuh: neighbouring columns of more points through shared memory
  packed,        ///< kernels/packed_columns.cuh: columns of an array without gaps, few or odd in number
};

constexpr std::string_view name_of(Family family) {
  switch (family) {
    case Family::pass:
      return "pass";
    case Family::few:
      return "few_rows";
    case Family::lane:
      return "lane_rows";
    case Family::tile:
      return "tile_rows";
    case Family::persistent:
      return "persistent_rows";
    case Family::cluster:
      return "cluster_rows";
    case Family::shared:
      return "shared_rows";
    case Family::columns:
      return "columns";
    case Family::tile_columns:
      return "tile_columns";
    case Family::packed:
      return "packed_columns";
  }
  return "unknown";
}

/// The choice for contiguous rows of 2^k points: which kernel, and its constants.
struct RowTuning {
  Family family = Family::pass;
  int lane_bits = 0;   ///< lane: lanes of a row, log2
  int units = 1;       ///< lane: rows (or words of rows) a thread
  int threads = 128;   ///< lane: of a block
  int cell_bits = 0;   ///< tile, cluster: 8-byte cells of a tile, log2
  int split = 0;       ///< cluster: blocks of a row, log2 (a cluster)
  int teams = 1;       ///< tile: independent warps of a block, where a warp holds a tile
  int min_blocks = 1;  ///< tile, cluster: blocks of a multiprocessor
  int block_rows = 1;  ///< persistent: most rows of a block
  std::string_view measured_on;
};

/// Most threads of a block of shared_rows: fewer, with more registers, where a thread holds columns of m
/// values.
constexpr int most_shared_threads(std::int64_t m) { return m > 1 ? 256 : 512; }

/// The choice for contiguous rows of m * 2^k points with signs, in any order or at any address.
struct SharedTuning {
  int tile_rows = 1;  ///< rows of a block
  int threads = 256;  ///< of a block, a power of two
};

/// The choice for neighbouring columns of 2^k points.
struct ColumnTuning {
  int chunk_bits = 0;  ///< chunks of 16 bytes of the compute type beside each other in a tile, log2
  int min_blocks = 1;  ///< blocks of a multiprocessor
};

/// The choice for neighbouring aligned columns of 2^k points, k from 6 on.
struct TileColumnTuning {
  int width_bits = 4;  ///< cells (8 bytes of the compute type) of a tile's row, log2
  int split = 0;       ///< blocks of a tile, log2 (a cluster)
  int min_blocks = 1;  ///< blocks of a multiprocessor
};

}  // namespace papillon::cuda
