// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/columns.cuh"
#include "launch_kernel.cuh"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {

template <class In, class Out, int K, int V, bool Aligned>
cudaError_t launch_columns_of(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                              KernelUse* use) {
  constexpr ColumnTuning t = sm_90::column_tuning(std::min(sizeof(In), sizeof(Out)), K);
  // Columns that are not aligned take more registers, and half of the points where they are 32.
  constexpr int chunk_bits = t.chunk_bits - (!Aligned && K == 5 ? 1 : 0);
  constexpr int min_blocks = Aligned ? t.min_blocks : std::max(t.min_blocks / 2, 1);
  using Shape = ColumnShape<compute_type<In>, K, chunk_bits, V, Aligned>;
  constexpr auto kernel = &columns<In, Out, K, chunk_bits, V, Aligned, min_blocks>;
  constexpr int width = V << chunk_bits;
  if (use != nullptr)
    *use = {0, Shape::threads, Shape::shared_bytes, 0, 0, 1, width, min_blocks * Shape::threads};
  if constexpr (Shape::shared_bytes > 0) {
    const cudaError_t error = allow_shared_memory<kernel>(device, Shape::shared_bytes);
    if (error != cudaSuccess) return error;
  }
  if (use != nullptr) return describe_kernel<kernel>(Shape::threads, Shape::shared_bytes, *use);
  const std::int64_t columns = pass.fold.outer_count() * pass.fold.inner.extent;
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t first = 0; first < columns; first += most * width) {
    const std::int64_t blocks = std::min((columns - first + width - 1) / width, most);
    const cudaError_t error =
        launch<kernel>(stream, blocks, Shape::threads, Shape::shared_bytes, pass, first, columns);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class In, class Out, int K>
cudaError_t launch_columns_of_length(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                     KernelUse* use) {
  if constexpr (K < least_tile_column_bits) {
    constexpr int chunk = column_chunk(sizeof(In), sizeof(Out), sizeof(compute_type<In>), K);
    if (has_aligned_columns(pass, chunk))
      return launch_columns_of<In, Out, K, chunk, true>(stream, device, pass, use);
  }
  return launch_columns_of<In, Out, K, 16 / sizeof(compute_type<In>), false>(stream, device, pass, use);
}

template <class In, class Out, int... K>
cudaError_t launch_columns_by_length(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                     KernelUse* use, std::integer_sequence<int, K...>) {
  cudaError_t error = cudaErrorInvalidValue;
  (void)((pass.bits == K + 1 &&
          (error = launch_columns_of_length<In, Out, K + 1>(stream, device, pass, use), true)) ||
         ...);
  return error;
}

template <class In, class Out>
cudaError_t launch_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                           KernelUse* use) {
  return launch_columns_by_length<In, Out>(stream, device, pass, use,
                                           std::make_integer_sequence<int, most_column_bits>{});
}

#define PAPILLON_INSTANTIATE_COLUMNS(In, Out) \
  template cudaError_t launch_columns<In, Out>(cudaStream_t, const Device&, const detail::Pass&, KernelUse*);

}  // namespace papillon::cuda
