// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "butterfly.hpp"
#include "kernels/kronecker/powers.cuh"

namespace papillon::cuda {

/// `Groups` rows of 2^K points in shared memory, 16 bytes left free after every 128.
template <class C, int K, int Groups>
struct PairTile {
  static constexpr int points = 1 << K;
  static constexpr int values = Groups * points;
  static constexpr int pad_every = 128 / static_cast<int>(sizeof(C));
  static constexpr int place(int index) { return index + index / pad_every * word_values<C>; }
  static constexpr int stored = place(values);
  static constexpr int bytes() { return stored * static_cast<int>(sizeof(C)); }
};

/// `Count` contiguous, aligned values.
template <class S, class C, int Count>
__device__ __forceinline__ void load_contiguous(const S* place, C (&values)[Count]) {
  constexpr int word = static_cast<int>(16 / sizeof(S)) < Count ? static_cast<int>(16 / sizeof(S)) : Count;
  struct alignas(word * sizeof(S)) Block {
    S values[word];
  };
#pragma unroll
  for (int i = 0; i < Count; i += word) {
    const Block block = *reinterpret_cast<const Block*>(place + i);
#pragma unroll
    for (int j = 0; j < word; ++j) values[i + j] = to_sum<C>(block.values[j]);
  }
}

/// `Count` factors at a time: a thread holds the values of all their blocks that meet in 2^Count points, and
/// goes through the rows with them.
template <class Tile, class S, class C, int Groups, int Threads, int Count>
__device__ __forceinline__ void pair_round(const PairProblem& problem, const PairRound& round, C* values) {
  constexpr int points = 1 << Count;
  constexpr int word = word_values<C> < points ? word_values<C> : points;
  constexpr int sets = Tile::points / points;
  constexpr int side = sets < Threads ? sets : Threads;
  const int distance = 1 << round.bit;
#pragma unroll 1
  for (int set = static_cast<int>(threadIdx.x) % side; set < sets; set += side) {
    const int start = (set >> round.bit << (round.bit + Count)) + (set & (distance - 1));
    C entries[Count][points / 2][4];
#pragma unroll
    for (int bit = 0; bit < Count; ++bit) {
      const PairFactor& factor = problem.factors[round.first + (round.falling ? Count - 1 - bit : bit)];
      if (factor.contiguous && round.bit == 0) {  // the values of a set's blocks are neighbours
        C all[2 * points];
        load_contiguous(static_cast<const S*>(factor.data) + 2 * start, all);
#pragma unroll
        for (int pair = 0; pair < points / 2; ++pair) {
          const int j = pair & ((1 << bit) - 1);
#pragma unroll
          for (int i = 0; i < 4; ++i) entries[bit][pair][i] = all[((pair >> bit << 2 | i) << bit) + j];
        }
        continue;
      }
#pragma unroll
      for (int pair = 0; pair < points / 2; ++pair) {
        const int low = pair >> bit << (bit + 1) | (pair & ((1 << bit) - 1));
        const int point = start + low * distance;
        const int repeats = distance << bit;
        const S* place = static_cast<const S*>(factor.data) +
                         (point >> (round.bit + bit + 1)) * factor.block_stride +
                         (point & (repeats - 1)) * factor.repeat_stride;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          entries[bit][pair][i] = to_sum<C>(place[i / 2 * factor.row_stride + i % 2 * factor.column_stride]);
      }
    }
    int places[points];
#pragma unroll
    for (int i = 0; i < points; ++i) places[i] = Tile::place(start + i * distance);
#pragma unroll 2
    for (int row = static_cast<int>(threadIdx.x) / side; row < Groups; row += Threads / side) {
      C* at = values + row * Tile::place(Tile::points);
      C v[points];
      if (word == word_values<C> && round.bit == 0) {  // a thread's points are neighbours
#pragma unroll
        for (int i = 0; i < points; i += word) {
          const Word<C> w = *reinterpret_cast<const Word<C>*>(at + places[i]);
#pragma unroll
          for (int j = 0; j < word; ++j) v[i + j] = w.values[j];
        }
      } else {
#pragma unroll
        for (int i = 0; i < points; ++i) v[i] = at[places[i]];
      }
      const auto apply = [&](int bit) {
#pragma unroll
        for (int pair = 0; pair < points / 2; ++pair) {
          const int low = pair >> bit << (bit + 1) | (pair & ((1 << bit) - 1));
          const int high = low + (1 << bit);
          const C(&entry)[4] = entries[bit][pair];
          const C x0 = v[low];
          const C x1 = v[high];
          v[low] = multiply_add(entry[1], x1, product(entry[0], x0));
          v[high] = multiply_add(entry[3], x1, product(entry[2], x0));
        }
      };
      if (round.falling) {
#pragma unroll
        for (int bit = Count - 1; bit >= 0; --bit) apply(bit);
      } else {
#pragma unroll
        for (int bit = 0; bit < Count; ++bit) apply(bit);
      }
      if (word == word_values<C> && round.bit == 0) {
#pragma unroll
        for (int i = 0; i < points; i += word) {
          Word<C> w;
#pragma unroll
          for (int j = 0; j < word; ++j) w.values[j] = v[i + j];
          *reinterpret_cast<Word<C>*>(at + places[i]) = w;
        }
      } else {
#pragma unroll
        for (int i = 0; i < points; ++i) at[places[i]] = v[i];
      }
    }
  }
  __syncthreads();
}

/// Products of factors of 2 x 2 blocks over rows without gaps: a block takes some rows into shared memory and
/// applies up to three factors at a time there.
template <class S, int K, int Groups, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    butterfly_pairs_kernel(const __grid_constant__ PairProblem problem) {
  using C = sum_type<S>;
  using Tile = PairTile<C, K, Groups>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* values = reinterpret_cast<C*>(shared);
  for (std::int64_t tile = blockIdx.x; tile < problem.rows.tiles; tile += gridDim.x) {
    load_power_tile<Tile, S, C, 1, Groups, Threads>(problem.rows, tile, values);
    ptx::async_copy_commit();
    ptx::async_copy_wait<0>();
    __syncthreads();
    for (int r = 0; r < problem.round_count; ++r) {
      const PairRound& round = problem.rounds[r];
      if (round.count == 3) pair_round<Tile, S, C, Groups, Threads, 3>(problem, round, values);
      if (round.count == 2) pair_round<Tile, S, C, Groups, Threads, 2>(problem, round, values);
      if (round.count == 1) pair_round<Tile, S, C, Groups, Threads, 1>(problem, round, values);
    }
    store_power_tile<Tile, S, C, 1, Groups, Threads>(
        problem.rows, tile, values, [&](C value) { return scaled(value, problem.rows.scale); });
    __syncthreads();
  }
}

}  // namespace papillon::cuda
