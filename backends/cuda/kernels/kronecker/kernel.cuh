// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/product.cuh"

namespace papillon::cuda {

template <class S, class C, int Rows>
__device__ __forceinline__ void multiply_tile_any(const KroneckerTile& tile, const TileStep& step,
                                                  const C* from, C* to, C* factors, int chunk) {
  if (step.access == TileAccess::points) {
    if constexpr (Rows >= word_values<C>)
      multiply_tile<S, C, Rows, TileAccess::points>(tile, step, from, to, factors, chunk);
  } else {
    multiply_tile<S, C, Rows, TileAccess::lanes>(tile, step, from, to, factors, chunk);
  }
}

/// Consecutive factors of a product, of any sizes, over arrays of any strides: a block copies its tile into
/// shared memory, applies factor after factor there, each thread a block of sums at a time in registers, and
/// writes the tile out. (Register blocking as in every matrix product; Jangda and Yadav, Fast Kronecker
/// matrix-matrix multiplication on GPUs, 2024, for fusing the factors.)
template <class In, class Out, class S>
__global__ void __launch_bounds__(most_tile_threads)
    kronecker_kernel(const __grid_constant__ KroneckerTile tile) {
  using C = sum_type<S>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const int most_lines = tile.groups * tile.lanes;
  std::int64_t* source_offsets = reinterpret_cast<std::int64_t*>(shared);
  std::int64_t* target_offsets = source_offsets + most_lines;
  std::int64_t* batches = target_offsets + most_lines;
  const int offset_bytes = (most_lines * 8 * (tile.batched ? 3 : 2) + 15) / 16 * 16;
  C* factors = reinterpret_cast<C*>(shared + offset_bytes);
  C* from = factors + tile.factor_values;
  C* to = tile.two_tiles ? from + tile.tile_values : from;

  const std::int64_t first_line = (tile.first_tile + blockIdx.x) * most_lines;
  const std::int64_t lines_left = tile.lines - first_line;
  const int lines = static_cast<int>(lines_left < most_lines ? lines_left : most_lines);
  for (int line = static_cast<int>(threadIdx.x); line < lines; line += static_cast<int>(blockDim.x)) {
    const LineOffsets offsets = locate_line(tile, first_line + line);
    source_offsets[line] = offsets.source;
    target_offsets[line] = offsets.target;
    if (tile.batched) batches[line] = offsets.batch;
  }
  if (tile.factors_stay) {
    for (int s = 0; s < tile.step_count; ++s) {
      const TileStep& step = tile.steps[s];
      if (step.batch_stride == 0)
        load_factor<S>(step, 0, step.columns, padded_rows(sizeof(C), step.rows), factors + step.factor_place);
    }
  }
  __syncthreads();
  load_tile<In>(tile, source_offsets, lines, from);
  __syncthreads();

  for (int s = 0; s < tile.step_count; ++s) {
    const TileStep& step = tile.steps[s];
    C* const factor = factors + (tile.factors_stay ? step.factor_place : 0);
    const int chunk =
        tile.factors_stay ? step.columns : tile.factor_values / padded_rows(sizeof(C), step.rows);
    if (step.batch_stride != 0) {
      multiply_tile_batched<S>(tile, step, batches, lines, from, to);
    } else {
      const int rows = product_rows(sizeof(C), step.rows);
      if (rows == 2) multiply_tile_any<S, C, 2>(tile, step, from, to, factor, chunk);
      if (rows == 4) multiply_tile_any<S, C, 4>(tile, step, from, to, factor, chunk);
      if constexpr (sizeof(C) == 4) {
        if (rows == 8) multiply_tile_any<S, C, 8>(tile, step, from, to, factor, chunk);
      }
    }
    if (tile.two_tiles) {
      C* const finished = to;
      to = from;
      from = finished;
    }
    __syncthreads();
  }
  store_tile<Out>(tile, target_offsets, lines, from);
}

/// A factor too large for a tile: a thread forms one sum, from memory to memory.
template <class In, class Out, class S>
__global__ void __launch_bounds__(256) kronecker_direct_kernel(const __grid_constant__ KroneckerTile tile) {
  using C = sum_type<S>;
  const TileStep& step = tile.steps[0];
  const std::int64_t count = tile.lines * step.rows;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    const std::int64_t row = i / tile.lines;
    const LineOffsets offsets = locate_line(tile, i - row * tile.lines);
    const S* entries =
        static_cast<const S*>(step.data) + offsets.batch * step.batch_stride + row * step.row_stride;
    const In* x = static_cast<const In*>(tile.source.data) + offsets.source;
    C sum = step.columns > 0 ? SumStart<C>::value() : C{};
    for (std::int64_t b = 0; b < step.columns; ++b) {
      const C entry = conjugate_if(to_sum<C>(entries[b * step.column_stride]), step.conjugate);
      sum = multiply_add(entry, to_sum<C>(x[b * tile.inner * tile.source.axis_stride]), sum);
    }
    static_cast<Out*>(tile.target.data)[offsets.target + row * tile.inner * tile.target.axis_stride] =
        to_storage<Out>(scaled(sum, tile.scale));
  }
}

}  // namespace papillon::cuda
