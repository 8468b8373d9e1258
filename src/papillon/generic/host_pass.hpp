// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/pass.hpp"

namespace papillon::generic {

using detail::Pass;

/// How a tile of a host pass reaches the vector kernels.
enum class HostMode {
  rows,            ///< contiguous rows, transformed where they lie
  columns,         ///< contiguous neighbouring columns, transformed where they lie
  gather_columns,  ///< copied into scratch as [length][columns], then written back
  gather_rows,     ///< copied into scratch as [rows][length], then written back
};

/// A pass cut into independent tiles. A tile holds `batch_step` indices of the fastest outer index and
/// `inner_step` of the inner one; tiles are numbered with the inner step fastest.
struct HostTiling {
  HostMode mode = HostMode::rows;
  int packed_bits = 0;  ///< rows: log2 of the contiguous inner extent that travels within a row
  std::int64_t batch = 1;
  std::int64_t batch_step = 1;
  std::int64_t inner_step = 1;
  std::int64_t batch_tiles = 1;
  std::int64_t inner_tiles = 1;
  std::int64_t tiles = 1;
  std::int64_t tile_bytes = 0;  ///< bytes read by one tile
};

HostTiling make_host_tiling(const Pass& pass);

/// Runs tile number `tile`. Tiles are independent; any thread may run any of them. Scratch (a few hundred
/// KiB) belongs to the thread and is kept for its next tile.
void run_host_tile(const Pass& pass, const HostTiling& tiling, std::int64_t tile);

}  // namespace papillon::generic
