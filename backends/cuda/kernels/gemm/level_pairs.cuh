// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm_levels.hpp"
#include "kernels/gemm/vectors.cuh"

namespace papillon::cuda {

// Levels of 2 × 2 blocks and seven products: a thread has the same V elements of each of the 4^L blocks in
// registers, so that memory moves once. Register indices are those of unrolled loops; the products of all
// levels but the innermost are a loop, which keeps the code small.

/// The tables of the levels, outermost first, as factors.
template <class C, int Levels>
struct PairTables {
  C entries[Levels][7][4];  ///< [product][2 slow + fast]
};

constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/// Threads of a block, and the position of a thread: V elements of one row of a block.
inline constexpr int pair_threads = 128;
struct PairPosition {
  std::int64_t row;
  std::int64_t column;
  bool inside;
};
template <int V>
__device__ __forceinline__ PairPosition pair_position(std::int64_t rows, std::int64_t columns) {
  const std::int64_t words = (columns + V - 1) / V;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * pair_threads + threadIdx.x;
  return {index / words, index % words * V, index < rows * words};
}

/// Offsets of block `b`, whose digits are those of the levels: the slow and the fast index.
template <int Levels>
constexpr int slow_block(int b) {
  int slow = 0;
  for (int level = 0; level < Levels; ++level) slow |= ((b >> (2 * level + 1)) & 1) << level;
  return slow;
}
template <int Levels>
constexpr int fast_block(int b) {
  int fast = 0;
  for (int level = 0; level < Levels; ++level) fast |= ((b >> (2 * level)) & 1) << level;
  return fast;
}

/// Whether the products that begin with `prefix` down to `Below` levels under it are among those asked for.
template <int Below>
__device__ __forceinline__ bool has_products(std::int64_t prefix, const PackedMatrices& packed) {
  const std::int64_t first = prefix * power(7, Below);
  return first < packed.first + packed.count && first + power(7, Below) > packed.first;
}

template <class S, int V, int Levels, int Below>
__device__ __forceinline__ void pack_pairs_below(const compute_type<S> (&x)[power(4, Below)][V],
                                                 std::int64_t prefix, const PackedMatrices& packed, S* target,
                                                 std::int64_t left,
                                                 const PairTables<compute_type<S>, Levels>& tables) {
  using C = compute_type<S>;
  if constexpr (Below == 0) {
    store_elements<S, V>(target + (prefix - packed.first) * packed.matrix, 1, left, x[0]);
  } else {
    constexpr int under = power(4, Below - 1);
#pragma unroll 1
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p;
      if (!has_products<Below - 1>(product, packed)) continue;
      C sums[under][V] = {};
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[Levels - Below][p][b];
        if (entry != C{0}) {
#pragma unroll
          for (int i = 0; i < under; ++i)
#pragma unroll
            for (int v = 0; v < V; ++v) sums[i][v] = fused(entry, x[b * under + i][v], sums[i][v]);
        }
      }
      pack_pairs_below<S, V, Levels, Below - 1>(sums, product, packed, target, left, tables);
    }
  }
}

/// See launch_pack_sums.
template <class S, int V, int Levels>
__global__ void __launch_bounds__(pair_threads)
    pack_pairs(const __grid_constant__ BlockedMatrix source, const __grid_constant__ PackedMatrices packed,
               const __grid_constant__ PairTables<compute_type<S>, Levels> tables) {
  const PairPosition at = pair_position<V>(source.block_slow, source.block_fast);
  if (!at.inside) return;
  compute_type<S> x[power(4, Levels)][V];
#pragma unroll
  for (int b = 0; b < power(4, Levels); ++b) {
    const std::int64_t slow = slow_block<Levels>(b) * source.block_slow + at.row;
    const std::int64_t fast = fast_block<Levels>(b) * source.block_fast + at.column;
    // Neither the next block of the row nor what lies behind the last one.
    std::int64_t left = min(source.block_fast - at.column, source.fast - fast);
    if (slow >= source.slow) left = 0;
    load_elements<S, V>(
        static_cast<const S*>(source.data) + slow * source.slow_stride + fast * source.fast_stride,
        source.fast_stride, left, x[b]);
  }
  S* target = static_cast<S*>(packed.data) + at.row * packed.stride + at.column;
  pack_pairs_below<S, V, Levels, Levels>(x, 0, packed, target, packed.stride - at.column, tables);
}

template <class C, int V, int Levels, int Below>
__device__ __forceinline__ void combine_pairs_below(C (&z)[power(4, Below)][V], std::int64_t prefix,
                                                    const PackedMatrices& products, const C* source,
                                                    const PairTables<C, Levels>& tables) {
  constexpr int under = power(4, Below - 1);
  if constexpr (Below == 1) {
    C m[7][V];
#pragma unroll
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p - products.first;
      const std::int64_t left = product >= 0 && product < products.count ? V : 0;
      load_elements<C, V>(source + product * products.matrix, 1, left, m[p]);
    }
#pragma unroll
    for (int p = 0; p < 7; ++p) {
      if (!has_products<0>(prefix * 7 + p, products)) continue;
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[Levels - 1][p][b];
        if (entry != C{0}) {
#pragma unroll
          for (int v = 0; v < V; ++v) z[b][v] = fused(entry, m[p][v], z[b][v]);
        }
      }
    }
  } else {
#pragma unroll 1
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p;
      if (!has_products<Below - 1>(product, products)) continue;
      C sums[under][V] = {};
      combine_pairs_below<C, V, Levels, Below - 1>(sums, product, products, source, tables);
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[Levels - Below][p][b];
        if (entry != C{0}) {
#pragma unroll
          for (int i = 0; i < under; ++i)
#pragma unroll
            for (int v = 0; v < V; ++v) z[b * under + i][v] = fused(entry, sums[i][v], z[b * under + i][v]);
        }
      }
    }
  }
}

/// See launch_combine.
template <class C, class Out, int V, int Levels>
__global__ void __launch_bounds__(pair_threads)
    combine_pairs(const __grid_constant__ PackedMatrices products,
                  const __grid_constant__ BlockedMatrix target,
                  const __grid_constant__ PairTables<C, Levels> tables, C alpha, C beta) {
  const PairPosition at = pair_position<V>(target.block_slow, target.block_fast);
  if (!at.inside) return;
  C z[power(4, Levels)][V] = {};
  combine_pairs_below<C, V, Levels, Levels>(
      z, 0, products, static_cast<const C*>(products.data) + at.row * products.stride + at.column, tables);
#pragma unroll
  for (int b = 0; b < power(4, Levels); ++b) {
    const std::int64_t slow = slow_block<Levels>(b) * target.block_slow + at.row;
    const std::int64_t fast = fast_block<Levels>(b) * target.block_fast + at.column;
    std::int64_t left = min(target.block_fast - at.column, target.fast - fast);
    if (slow >= target.slow || left <= 0) continue;
    Out* out = static_cast<Out*>(target.data) + slow * target.slow_stride + fast * target.fast_stride;
    finish_elements<C, Out, V>(out, target.fast_stride, left, z[b], alpha, beta);
  }
}

}  // namespace papillon::cuda
