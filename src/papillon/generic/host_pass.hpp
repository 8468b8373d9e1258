// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>

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

/// A pass, or a range of its fastest outer index, cut into independent tiles. A tile holds `batch_step`
/// indices of the fastest outer index and `inner_step` of the inner one; tiles are numbered with the inner
/// step fastest.
struct HostTiling {
  HostMode mode = HostMode::rows;
  int packed_bits = 0;           ///< rows: log2 of the contiguous inner extent that travels within a row
  std::int64_t first_batch = 0;  ///< where the range of the fastest outer index starts
  std::int64_t batch = 1;        ///< and how many indices it has
  std::int64_t batch_step = 1;
  std::int64_t inner_step = 1;
  std::int64_t batch_tiles = 1;
  std::int64_t inner_tiles = 1;
  std::int64_t tiles = 1;
  std::int64_t tile_bytes = 0;  ///< bytes read by one tile
};

HostTiling make_host_tiling(const Pass& pass);

/// The tiling of the indices first_batch … first_batch + batch - 1 of the fastest outer index alone.
HostTiling make_host_tiling(const Pass& pass, std::int64_t first_batch, std::int64_t batch);

/// Whether each outer index of a pass covers the elements of consecutive outer indices of the pass before it,
/// so that the passes may be run block by block.
bool blocks_nest(std::span<const Pass> passes);

/// Outer indices of `pass` whose data fit the last-level cache (16 MiB of it); at least one.
std::int64_t outer_indices_in_cache(const Pass& pass);

/// Runs tile number `tile`. Tiles are independent; any thread may run any of them. Scratch (a few hundred
/// KiB) belongs to the thread and is kept for its next tile.
void run_host_tile(const Pass& pass, const HostTiling& tiling, std::int64_t tile);

}  // namespace papillon::generic
