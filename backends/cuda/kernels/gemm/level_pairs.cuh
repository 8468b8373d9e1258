// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm_levels.hpp"
#include "kernels/gemm/vectors.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda {

// Levels of 2 × 2 blocks and seven products: a thread has the same V elements of each of the 4^L blocks in
// registers, so that memory moves once. Register indices are those of unrolled loops; the products of all
// levels but the innermost are a loop, which keeps the code small. A further, outermost level (`Outer`) is
// taken by neighbouring blocks of threads, one a product (or a block of the target), which meet in the L2
// cache: 64 values a thread would leave too few threads to keep memory busy.

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
__device__ __forceinline__ PairPosition pair_position(std::int64_t tile, std::int64_t rows,
                                                      std::int64_t columns) {
  const std::int64_t words = (columns + V - 1) / V;
  const std::int64_t index = tile * pair_threads + threadIdx.x;
  return {index / words, index % words * V, index < rows * words};
}

/// The same where lanes lie along the rows and warps along the columns: what a warp stores of one column is
/// contiguous in a matrix that is turned.
template <int V>
__device__ __forceinline__ PairPosition turned_position(std::int64_t tile, std::int64_t rows,
                                                        std::int64_t columns) {
  const std::int64_t row_tiles = (rows + 31) / 32;
  const std::int64_t row = tile % row_tiles * 32 + threadIdx.x % 32;
  const std::int64_t column = (tile / row_tiles * (pair_threads / 32) + threadIdx.x / 32) * V;
  return {row, column, row < rows && column < columns};
}
constexpr std::int64_t turned_tiles(int v, std::int64_t rows, std::int64_t columns) {
  const std::int64_t width = pair_threads / 32 * v;
  return (rows + 31) / 32 * ((columns + width - 1) / width);
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

/// sums[i] += entry · values[i].
template <class C, int V, int Count>
__device__ __forceinline__ void add_scaled(C entry, const C (*values)[V], C (*sums)[V]) {
#pragma unroll
  for (int i = 0; i < Count; ++i)
#pragma unroll
    for (int v = 0; v < V; ++v) sums[i][v] = fused(entry, values[i][v], sums[i][v]);
}

template <class S, int V, bool Turned, int All, int Below>
__device__ __forceinline__ void pack_pairs_below(const compute_type<S> (&x)[power(4, Below)][V],
                                                 std::int64_t prefix, const PackedMatrices& packed, S* target,
                                                 const PairTables<compute_type<S>, All>& tables) {
  using C = compute_type<S>;
  if constexpr (Below == 0) {
    S* place = target + (prefix - packed.first) * packed.matrix;
    if constexpr (Turned) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const compute_type<S> one[1] = {x[0][v]};
        store_word<S, 1>(place + v * packed.stride, one);
      }
    } else {
      store_word<S, V>(place, x[0]);  // whole: rows of packed matrices are as long
    }
  } else {
    constexpr int under = power(4, Below - 1);
#pragma unroll 1
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p;
      if (!has_products<Below - 1>(product, packed)) continue;
      C sums[under][V] = {};
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[All - Below][p][b];
        if (entry != C{0}) add_scaled<C, V, under>(entry, &x[b * under], sums);
      }
      pack_pairs_below<S, V, Turned, All, Below - 1>(sums, product, packed, target, tables);
    }
  }
}

/// See launch_pack_sums.
template <class S, int V, int Levels, bool Outer, bool Turned>
__global__ void __launch_bounds__(pair_threads)
    pack_pairs(const __grid_constant__ BlockedMatrix source, const __grid_constant__ PackedMatrices packed,
               const __grid_constant__ PairTables<compute_type<S>, Levels + Outer> tables) {
  using C = compute_type<S>;
  constexpr int all = Levels + Outer;
  constexpr int blocks = power(4, Levels);
  const std::int64_t product = Outer ? blockIdx.x % 7 : 0;
  const std::int64_t tile = Outer ? blockIdx.x / 7 : blockIdx.x;
  const PairPosition at = Turned ? turned_position<V>(tile, source.block_slow, source.block_fast)
                                 : pair_position<V>(tile, source.block_slow, source.block_fast);
  if (!at.inside || !has_products<Levels>(product, packed)) return;
  C x[blocks][V] = {};
#pragma unroll
  for (int outer = 0; outer < (Outer ? 4 : 1); ++outer) {
    const C entry = Outer ? tables.entries[0][product][outer] : C{1};
    if (entry == C{0}) continue;
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      const std::int64_t slow = slow_block<all>(outer * blocks + b) * source.block_slow + at.row;
      const std::int64_t fast = fast_block<all>(outer * blocks + b) * source.block_fast + at.column;
      // Neither the next block of the row nor what lies behind the last one.
      std::int64_t left = std::min(source.block_fast - at.column, source.fast - fast);
      if (slow >= source.slow) left = 0;
      const S* place =
          static_cast<const S*>(source.data) + slow * source.slow_stride + fast * source.fast_stride;
      if constexpr (Outer) {
        C values[V];
        load_elements<S, V>(place, source.fast_stride, left, values);
#pragma unroll
        for (int v = 0; v < V; ++v) x[b][v] = fused(entry, values[v], x[b][v]);
      } else {
        load_elements<S, V>(place, source.fast_stride, left, x[b]);
      }
    }
  }
  S* target = static_cast<S*>(packed.data) +
              (Turned ? at.column * packed.stride + at.row : at.row * packed.stride + at.column);
  pack_pairs_below<S, V, Turned, all, Levels>(x, product, packed, target, tables);
}

/// The blocks of the target at a thread's position: alpha · z + beta · target.
template <class C, class Out, int V, int Levels>
__device__ __forceinline__ void finish_blocks(const C (&z)[power(4, Levels)][V], const PairPosition& at,
                                              const BlockedMatrix& target, C alpha, C beta) {
#pragma unroll
  for (int b = 0; b < power(4, Levels); ++b) {
    const std::int64_t slow = slow_block<Levels>(b) * target.block_slow + at.row;
    const std::int64_t fast = fast_block<Levels>(b) * target.block_fast + at.column;
    const std::int64_t left = std::min(target.block_fast - at.column, target.fast - fast);
    if (slow >= target.slow || left <= 0) continue;
    Out* out = static_cast<Out*>(target.data) + slow * target.slow_stride + fast * target.fast_stride;
    finish_elements<C, Out, V>(out, target.fast_stride, left, z[b], alpha, beta);
  }
}

template <class C, int V, int All, int Below>
__device__ __forceinline__ void combine_pairs_below(C (&z)[power(4, Below)][V], std::int64_t prefix,
                                                    const PackedMatrices& products, const C* source,
                                                    const PairTables<C, All>& tables) {
  constexpr int under = power(4, Below - 1);
  if constexpr (Below == 1) {
    C m[7][V];
#pragma unroll
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p - products.first;
      if (product >= 0 && product < products.count) load_word<C, V>(source + product * products.matrix, m[p]);
    }
#pragma unroll
    for (int p = 0; p < 7; ++p) {
      if (!has_products<0>(prefix * 7 + p, products)) continue;
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[All - 1][p][b];
        if (entry != C{0}) add_scaled<C, V, 1>(entry, &m[p], &z[b]);
      }
    }
  } else {
#pragma unroll 1
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = prefix * 7 + p;
      if (!has_products<Below - 1>(product, products)) continue;
      C sums[under][V] = {};
      combine_pairs_below<C, V, All, Below - 1>(sums, product, products, source, tables);
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[All - Below][p][b];
        if (entry != C{0}) add_scaled<C, V, under>(entry, sums, &z[b * under]);
      }
    }
  }
}

/// See launch_combine; two levels at most.
template <class C, class Out, int V, int Levels>
__global__ void __launch_bounds__(pair_threads)
    combine_pairs(const __grid_constant__ PackedMatrices products,
                  const __grid_constant__ BlockedMatrix target,
                  const __grid_constant__ PairTables<C, Levels> tables, C alpha, C beta) {
  const PairPosition at = pair_position<V>(blockIdx.x, target.block_slow, target.block_fast);
  if (!at.inside) return;
  const C* source = static_cast<const C*>(products.data) + at.row * products.stride + at.column;
  C z[power(4, Levels)][V] = {};
  combine_pairs_below<C, V, Levels, Levels>(z, 0, products, source, tables);
  finish_blocks<C, Out, V, Levels>(z, at, target, alpha, beta);
}

/// Groups of seven products that are on their way to a thread.
inline constexpr int combine_depth = 4;

/// See launch_combine; three levels. The sums of 64 blocks leave few registers and few threads: what is to be
/// added waits in shared memory, where each thread has places of its own, so that no barrier is needed.
template <class C, class Out, int V>
__global__ void __launch_bounds__(pair_threads)
    combine_three(const __grid_constant__ PackedMatrices products,
                  const __grid_constant__ BlockedMatrix target,
                  const __grid_constant__ PairTables<C, 3> tables, C alpha, C beta) {
  using Place = Word<C, V>;
  extern __shared__ __align__(16) unsigned char shared[];
  Place* places = reinterpret_cast<Place*>(shared) + threadIdx.x;  // [group % depth][product][thread]
  const PairPosition at = pair_position<V>(blockIdx.x, target.block_slow, target.block_fast);
  if (!at.inside) return;
  const C* source = static_cast<const C*>(products.data) + at.row * products.stride + at.column;
  const auto fetch = [&](int group, int slot) {
#pragma unroll
    for (int p = 0; p < 7; ++p) {
      const std::int64_t product = group * 7 + p - products.first;
      if (group < 49 && product >= 0 && product < products.count) {
        ptx::async_copy_few<sizeof(Place)>(ptx::shared_address(places + (slot * 7 + p) * pair_threads),
                                           source + product * products.matrix);
      }
    }
    ptx::async_copy_commit();
  };
#pragma unroll 1
  for (int group = 0; group < combine_depth; ++group) fetch(group, group);

  C z[64][V] = {};
  int group = 0;
#pragma unroll 1
  for (int first = 0; first < 7; ++first) {
    C y[16][V] = {};
#pragma unroll 1
    for (int second = 0; second < 7; ++second, ++group) {
      const int slot = group % combine_depth;
      ptx::async_copy_wait<combine_depth - 1>();
      C x[4][V] = {};
#pragma unroll
      for (int p = 0; p < 7; ++p) {
        if (!has_products<0>(group * 7 + p, products)) continue;
        C m[1][V];
        load_word<C, V>(reinterpret_cast<const C*>(places + (slot * 7 + p) * pair_threads), m[0]);
#pragma unroll
        for (int b = 0; b < 4; ++b) {
          const C entry = tables.entries[2][p][b];
          if (entry != C{0}) add_scaled<C, V, 1>(entry, m, &x[b]);
        }
      }
      fetch(group + combine_depth, slot);
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const C entry = tables.entries[1][second][b];
        if (entry != C{0}) add_scaled<C, V, 4>(entry, x, &y[4 * b]);
      }
    }
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      const C entry = tables.entries[0][first][b];
      if (entry != C{0}) add_scaled<C, V, 16>(entry, y, &z[16 * b]);
    }
  }
  finish_blocks<C, Out, V, 3>(z, at, target, alpha, beta);
}

}  // namespace papillon::cuda
