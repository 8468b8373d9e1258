// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm_levels.hpp"
#include "kernels/gemm/vectors.cuh"

namespace papillon::cuda {

// Any tables: a block of threads has one product (or one block of C) and goes through all of its terms, whose
// factors it puts into shared memory first, some at a time. Memory moves once for each term.

inline constexpr int level_threads = 256;
inline constexpr int most_factors_at_a_time = 1024;
inline constexpr int terms_at_a_time = 4;

/// The factor of grid block (slow, fast) in `product`: the product of the levels' entries.
__device__ __forceinline__ int level_factor(const LevelTables& tables, int product, int slow, int fast) {
  int factor = 1;
  for (int level = tables.levels - 1; level >= 0; --level) {
    const int p = product % tables.rank[level];
    const int s = slow % tables.slow[level];
    const int f = fast % tables.fast[level];
    product /= tables.rank[level];
    slow /= tables.slow[level];
    fast /= tables.fast[level];
    factor *= tables.entries[tables.first[level] + (p * tables.slow[level] + s) * tables.fast[level] + f];
  }
  return factor;
}

struct LevelGrid {
  int slow = 1;
  int fast = 1;
};
__device__ __forceinline__ LevelGrid level_grid(const LevelTables& tables) {
  LevelGrid grid;
  for (int level = 0; level < tables.levels; ++level) {
    grid.slow *= tables.slow[level];
    grid.fast *= tables.fast[level];
  }
  return grid;
}

/// See launch_pack_sums. One block of threads for each product and tile of level_threads · V elements.
template <class S, int V>
__global__ void __launch_bounds__(level_threads)
    pack_blocks(const __grid_constant__ BlockedMatrix source, const __grid_constant__ PackedMatrices packed,
                const __grid_constant__ LevelTables tables, std::int64_t tiles) {
  using C = compute_type<S>;
  extern __shared__ __align__(16) unsigned char shared[];
  int* factors = reinterpret_cast<int*>(shared);
  const LevelGrid grid = level_grid(tables);
  const int product = static_cast<int>(packed.first + blockIdx.x / tiles);
  const std::int64_t words = (source.block_fast + V - 1) / V;
  const std::int64_t index = blockIdx.x % tiles * level_threads + threadIdx.x;
  const std::int64_t row = index / words;
  const std::int64_t column = index % words * V;
  const bool inside = row < source.block_slow;
  C sums[V] = {};
  for (int first = 0; first < grid.slow * grid.fast; first += most_factors_at_a_time) {
    const int count = std::min(grid.slow * grid.fast - first, int{most_factors_at_a_time});
    __syncthreads();
    for (int b = static_cast<int>(threadIdx.x); b < count; b += level_threads)
      factors[b] = level_factor(tables, product, (first + b) / grid.fast, (first + b) % grid.fast);
    __syncthreads();
    for (int b = 0; inside && b < count; ++b) {
      if (factors[b] == 0) continue;
      const std::int64_t slow = (first + b) / grid.fast * source.block_slow + row;
      const std::int64_t fast = (first + b) % grid.fast * source.block_fast + column;
      std::int64_t left = std::min(source.block_fast - column, source.fast - fast);
      if (slow >= source.slow || left <= 0) continue;
      C values[V];
      load_elements<S, V>(
          static_cast<const S*>(source.data) + slow * source.slow_stride + fast * source.fast_stride,
          source.fast_stride, left, values);
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v] = fused(static_cast<C>(factors[b]), values[v], sums[v]);
    }
  }
  if (!inside) return;
  S* target =
      static_cast<S*>(packed.data) + (product - packed.first) * packed.matrix + row * packed.stride + column;
  store_elements<S, V>(target, 1, packed.stride - column, sums);
}

/// See launch_combine. One block of threads for each block of the target and tile of level_threads · V
/// elements.
template <class C, class Out, int V>
__global__ void __launch_bounds__(level_threads)
    combine_blocks(const __grid_constant__ PackedMatrices products,
                   const __grid_constant__ BlockedMatrix target, const __grid_constant__ LevelTables tables,
                   std::int64_t tiles, C alpha, C beta) {
  extern __shared__ __align__(16) unsigned char shared[];
  int* factors = reinterpret_cast<int*>(shared);
  const LevelGrid grid = level_grid(tables);
  const int block = static_cast<int>(blockIdx.x / tiles);
  const std::int64_t words = (target.block_fast + V - 1) / V;
  const std::int64_t index = blockIdx.x % tiles * level_threads + threadIdx.x;
  const std::int64_t row = index / words;
  const std::int64_t column = index % words * V;
  const std::int64_t slow = block / grid.fast * target.block_slow + row;
  const std::int64_t fast = block % grid.fast * target.block_fast + column;
  const std::int64_t left = std::min(target.block_fast - column, target.fast - fast);
  const bool inside = row < target.block_slow && slow < target.slow && left > 0;
  const C* source = static_cast<const C*>(products.data) + row * products.stride + column;
  C sums[V] = {};
  for (std::int64_t first = 0; first < products.count; first += most_factors_at_a_time) {
    const int count =
        static_cast<int>(std::min(products.count - first, std::int64_t{most_factors_at_a_time}));
    __syncthreads();
    for (int p = static_cast<int>(threadIdx.x); p < count; p += level_threads)
      factors[p] = level_factor(tables, static_cast<int>(products.first + first) + p, block / grid.fast,
                                block % grid.fast);
    __syncthreads();
    // Some terms at a time, so that their loads are under way together.
    for (int p = 0; inside && p < count; p += terms_at_a_time) {
      C values[terms_at_a_time][V];
#pragma unroll
      for (int t = 0; t < terms_at_a_time; ++t) {
        if (p + t < count && factors[p + t] != 0)
          load_elements<C, V>(source + (first + p + t) * products.matrix, 1, V, values[t]);
      }
#pragma unroll
      for (int t = 0; t < terms_at_a_time; ++t) {
        if (p + t >= count || factors[p + t] == 0) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) sums[v] = fused(static_cast<C>(factors[p + t]), values[t][v], sums[v]);
      }
    }
  }
  if (!inside) return;
  Out* out = static_cast<Out*>(target.data) + slow * target.slow_stride + fast * target.fast_stride;
  finish_elements<C, Out, V>(out, target.fast_stride, left, sums, alpha, beta);
}

}  // namespace papillon::cuda
