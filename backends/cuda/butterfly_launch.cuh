// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "kernels/butterfly/general.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {

template <class In, class Out, class S>
cudaError_t launch_butterfly(cudaStream_t stream, const Device& device, const ButterflyTile& tile,
                             bool direct, KernelUse* use) {
  constexpr std::int64_t most_blocks = std::int64_t{1} << 30;
  if (direct) {
    constexpr auto kernel = &butterfly_direct_kernel<In, Out, S>;
    constexpr int threads = 256;
    if (use != nullptr) return describe_kernel<kernel>(threads, 0, *use);
    const std::int64_t count = tile.lines * tile.shape.target;
    return launch<kernel>(stream, std::min((count + threads - 1) / threads, most_blocks), threads, 0, tile);
  }
  constexpr auto kernel = &butterfly_kernel<In, Out, S>;
  const int threads = static_cast<int>(
      std::clamp<std::int64_t>((tile.shape.largest * tile.width / 8 + 31) / 32 * 32, 64, 512));
  const auto bytes = static_cast<int>(butterfly_shared_bytes(tile, sizeof(sum_type<S>)));
  const cudaError_t error = allow_shared_memory<kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, static_cast<std::size_t>(bytes), *use);
  const std::int64_t tiles = (tile.lines + tile.width - 1) / tile.width;
  for (std::int64_t first = 0; first < tiles; first += most_blocks) {
    ButterflyTile part = tile;
    part.first_tile = first;
    const cudaError_t launched =
        launch<kernel>(stream, std::min(tiles - first, most_blocks), threads, bytes, part);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

}  // namespace papillon::cuda
