// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/tile_columns.cuh"
#include "launch_kernel.cuh"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {

template <class In, class Out, int K, int WidthBits, int Split, int MinBlocks>
cudaError_t launch_tile_columns_of(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                   KernelUse* use) {
  using Shape = TileColumnShape<compute_type<In>, K - Split, WidthBits>;
  constexpr int bytes =
      Shape::tile_bytes + Shape::target_bytes + ClusterExchange<Split, Shape::threads>::mailbox_bytes;
  constexpr auto kernel = &tile_columns<In, Out, K, WidthBits, Split, MinBlocks>;
  if (use != nullptr)
    *use = {0, Shape::threads, bytes, 0, 0, 1 << Split, Shape::columns, MinBlocks * Shape::threads};
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_cluster_kernel<kernel>(Shape::threads, bytes, 1 << Split, *use);
  const std::int64_t columns = pass.fold.outer_count() * pass.fold.inner.extent;
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 26;
  for (std::int64_t first = 0; first < columns; first += most * Shape::columns) {
    const std::int64_t tiles = std::min((columns - first + Shape::columns - 1) / Shape::columns, most);
    const cudaError_t launched =
        launch<kernel, 1 << Split>(stream, tiles << Split, Shape::threads, bytes, pass, first, columns);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

template <class In, class Out, int K, int RowBytes>
cudaError_t launch_tile_columns_of_width(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                         KernelUse* use) {
  constexpr TileColumnTuning t = sm_90::tile_column_tuning(sizeof(In), sizeof(compute_type<In>), K, RowBytes);
  // Pairs of registers for 64-bit integers take a few more.
  constexpr int min_blocks =
      std::is_same_v<In, std::int64_t> ? std::max(t.min_blocks * 2 / 3, 1) : t.min_blocks;
  return launch_tile_columns_of<In, Out, K, t.width_bits, t.split, min_blocks>(stream, device, pass, use);
}

template <class In, class Out, int K>
cudaError_t launch_tile_columns_of_length(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                          KernelUse* use) {
  // Passes between two storage types are parts of long transforms, whose rows are long.
  if constexpr (std::is_same_v<In, Out>) {
    const std::int64_t row_bytes = pass.fold.inner.extent * static_cast<std::int64_t>(sizeof(In));
    if (row_bytes < 64) return launch_tile_columns_of_width<In, Out, K, 32>(stream, device, pass, use);
    if (row_bytes < 128) return launch_tile_columns_of_width<In, Out, K, 64>(stream, device, pass, use);
  }
  return launch_tile_columns_of_width<In, Out, K, 128>(stream, device, pass, use);
}

template <class In, class Out, int... K>
cudaError_t launch_tile_columns_by_length(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                          KernelUse* use, std::integer_sequence<int, K...>) {
  cudaError_t error = cudaErrorInvalidValue;
  (void)((pass.bits == K + least_tile_column_bits &&
          (error =
               launch_tile_columns_of_length<In, Out, K + least_tile_column_bits>(stream, device, pass, use),
           true)) ||
         ...);
  return error;
}

template <class In, class Out>
cudaError_t launch_tile_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                KernelUse* use) {
  return launch_tile_columns_by_length<In, Out>(
      stream, device, pass, use,
      std::make_integer_sequence<int, most_column_bits - least_tile_column_bits + 1>{});
}

#define PAPILLON_INSTANTIATE_TILE_COLUMNS(In, Out)                                                    \
  template cudaError_t launch_tile_columns<In, Out>(cudaStream_t, const Device&, const detail::Pass&, \
                                                    KernelUse*);

}  // namespace papillon::cuda
