// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <span>

#include "papillon/core/pass.hpp"
#include "papillon/generic/host_pass.hpp"

namespace papillon::generic {

/// Bytes below which sharing work among threads costs more than it gains: starting a team takes about 3 µs.
inline constexpr std::int64_t serial_bytes = std::int64_t{96} << 10;

template <class ExecutionSpace>
void run_host_tiles(const ExecutionSpace& space, const Pass& pass, const HostTiling& tiling) {
  if (tiling.tiles == 1 || tiling.tiles * tiling.tile_bytes <= serial_bytes) {
    for (std::int64_t tile = 0; tile < tiling.tiles; ++tile) run_host_tile(pass, tiling, tile);
    return;
  }
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("papillon::hadamard", Policy(space, 0, tiling.tiles),
                       [&](std::int64_t tile) { run_host_tile(pass, tiling, tile); });
}

/// Runs passes 0 … `last` for the outer indices `first` … `first + count - 1` of pass `last`, depth first: as
/// many indices at a time as `sweep_bytes` holds go through all passes before the next ones are read.
template <class ExecutionSpace>
void run_depth_first(const ExecutionSpace& space, std::span<const Pass> passes, std::size_t last,
                     std::int64_t first, std::int64_t count) {
  const Pass& pass = passes[last];
  const std::int64_t step = last == 0 ? count : outer_indices_in_cache(pass);
  for (std::int64_t i = 0; i < count; i += step) {
    const std::int64_t some = std::min(step, count - i);
    if (last > 0) {
      const std::int64_t ratio = passes[last - 1].fold.outer_count() / pass.fold.outer_count();
      run_depth_first(space, passes, last - 1, (first + i) * ratio, some * ratio);
    }
    run_host_tiles(space, pass, make_host_tiling(pass, first + i, some));
  }
}

/// Runs the passes of a sweep, depth first where their blocks nest.
template <class ExecutionSpace>
void run_host_sweep(const ExecutionSpace& space, std::span<const Pass> passes) {
  if (passes.size() > 1 && blocks_nest(passes)) {
    run_depth_first(space, passes, passes.size() - 1, 0, passes.back().fold.outer_count());
    return;
  }
  for (const Pass& pass : passes) run_host_tiles(space, pass, make_host_tiling(pass));
}

}  // namespace papillon::generic
