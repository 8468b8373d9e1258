// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "kernels/kronecker/kernel.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {

template <class In, class Out, class S>
cudaError_t launch_kronecker(cudaStream_t stream, const Device& device, const KroneckerTile& tile,
                             bool direct, KernelUse* use) {
  constexpr std::int64_t most_blocks = std::int64_t{1} << 30;
  if (direct) {
    constexpr auto kernel = &kronecker_direct_kernel<In, Out, S>;
    constexpr int threads = 256;
    if (use != nullptr) return describe_kernel<kernel>(threads, 0, *use);
    const std::int64_t count = tile.lines * tile.steps[0].rows;
    return launch<kernel>(stream, std::min((count + threads - 1) / threads, most_blocks), threads, 0, tile);
  }
  using C = sum_type<S>;
  constexpr auto kernel = &kronecker_kernel<In, Out, S>;
  constexpr int sums = sizeof(C) == 4 ? 64 : sizeof(C) == 16 ? 16 : 32;  // of a thread
  // Whoever writes where it reads takes all rows at once.
  std::int64_t wanted = tile.tile_values / sums;
  for (int s = 0; s < tile.step_count; ++s)
    wanted = std::max<std::int64_t>(wanted, row_groups(sizeof(C), tile.steps[s].rows));
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>((wanted + 31) / 32 * 32, 64, most_tile_threads));
  const auto bytes = static_cast<int>(kronecker_shared_bytes(tile, sizeof(C)));
  const cudaError_t error = allow_shared_memory<kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, static_cast<std::size_t>(bytes), *use);
  const std::int64_t lines = std::int64_t{tile.groups} * tile.lanes;
  const std::int64_t tiles = (tile.lines + lines - 1) / lines;
  for (std::int64_t first = 0; first < tiles; first += most_blocks) {
    KroneckerTile part = tile;
    part.first_tile = first;
    const cudaError_t launched =
        launch<kernel>(stream, std::min(tiles - first, most_blocks), threads, bytes, part);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

}  // namespace papillon::cuda
