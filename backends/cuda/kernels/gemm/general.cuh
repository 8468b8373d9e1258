// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm_general.hpp"
#include "kernels/gemm/vectors.cuh"

namespace papillon::cuda {

// Any strides and any alignment: 64 × 64 tiles in shared memory, element by element.

inline constexpr int general_tile = 64;
inline constexpr int general_depth = 16;
inline constexpr int general_threads = 256;
/// One word more a row, so that a column is not all in one bank.
inline constexpr int general_row = general_tile + 1;

/// Loads `general_depth` × `general_tile` elements, stored as [k][index]; what lies outside is 0.
/// Neighbouring threads read along the index with the smaller stride.
template <class S>
__device__ __forceinline__ void load_general_tile(compute_type<S>* tile, const S* source, std::int64_t first,
                                                  std::int64_t extent, std::int64_t stride,
                                                  std::int64_t first_k, std::int64_t k,
                                                  std::int64_t k_stride) {
  const bool along_k = k_stride < stride;
#pragma unroll
  for (int step = 0; step < general_tile * general_depth / general_threads; ++step) {
    const int place = step * general_threads + static_cast<int>(threadIdx.x);
    const int i = along_k ? place / general_depth : place % general_tile;
    const int l = along_k ? place % general_depth : place / general_tile;
    const bool inside = first + i < extent && first_k + l < k;
    tile[l * general_row + i] =
        inside ? load_converted<S>(source[(first + i) * stride + (first_k + l) * k_stride])
               : compute_type<S>{0};
  }
}

/// See launch_gemm_general.
template <class S, class Out>
__global__ void __launch_bounds__(general_threads)
    gemm_general(const __grid_constant__ GeneralGemm problem, std::int64_t row_tiles,
                 std::int64_t column_tiles) {
  using C = compute_type<S>;
  extern __shared__ __align__(16) unsigned char shared[];
  C* a_tile = reinterpret_cast<C*>(shared);
  C* b_tile = a_tile + general_depth * general_row;
  const std::int64_t tile = blockIdx.x;
  const std::int64_t matrix = tile / (row_tiles * column_tiles);
  const std::int64_t first_row = tile / column_tiles % row_tiles * general_tile;
  const std::int64_t first_column = tile % column_tiles * general_tile;
  const S* a = static_cast<const S*>(problem.a) + matrix * problem.a_batch;
  const S* b = static_cast<const S*>(problem.b) + matrix * problem.b_batch;
  const int row = static_cast<int>(threadIdx.x) / 16 * 4;
  const int column = static_cast<int>(threadIdx.x) % 16;  // and 16, 32 and 48 to the right of it
  C sums[4][4] = {};
  for (std::int64_t k = 0; k < problem.k; k += general_depth) {
    __syncthreads();
    load_general_tile<S>(a_tile, a, first_row, problem.m, problem.a_row, k, problem.k, problem.a_column);
    load_general_tile<S>(b_tile, b, first_column, problem.n, problem.b_column, k, problem.k, problem.b_row);
    __syncthreads();
    const int depth = static_cast<int>(std::min(problem.k - k, std::int64_t{general_depth}));
    for (int l = 0; l < depth; ++l) {
      C left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = a_tile[l * general_row + row + i];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = b_tile[l * general_row + column + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = fused(left[i], right[j], sums[i][j]);
    }
  }
  const C alpha = static_cast<C>(problem.alpha);
  const C beta = static_cast<C>(problem.beta);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::int64_t r = first_row + row + i;
      const std::int64_t c = first_column + column + 16 * j;
      if (r >= problem.m || c >= problem.n) continue;
      Out* target =
          static_cast<Out*>(problem.c) + matrix * problem.c_batch + r * problem.c_row + c * problem.c_column;
      const C one[1] = {sums[i][j]};
      finish_elements<C, Out, 1>(target, 1, 1, one, alpha, beta);
    }
  }
}

/// C = beta · C, 0 where beta is 0.
template <class Out>
__global__ void __launch_bounds__(general_threads) scale_matrix(const __grid_constant__ GeneralGemm problem) {
  using C = compute_type<Out>;
  const std::int64_t count = problem.batch * problem.m * problem.n;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * general_threads;
  const C beta = static_cast<C>(problem.beta);
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * general_threads + threadIdx.x; i < count;
       i += step) {
    const std::int64_t c = i % problem.n;
    const std::int64_t r = i / problem.n % problem.m;
    Out* target = static_cast<Out*>(problem.c) + i / problem.n / problem.m * problem.c_batch +
                  r * problem.c_row + c * problem.c_column;
    *target = rounded<Out>(beta == C{0} ? C{0} : beta * load_converted<Out>(*target));
  }
}

}  // namespace papillon::cuda
