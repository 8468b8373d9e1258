// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/powers.cuh"

namespace papillon::cuda {

/// A tile of `Count` factors of 2 x 2, 4 x 4 or 8 x 8, of which a thread applies up to `Fused` at a time to
/// P^Fused values in registers: Groups x P^Count x Lanes values of C.
template <class C, int P, int Count, int Fused, int Lanes, int Groups>
struct SmallTile {
  static constexpr int power(int exponent) { return exponent == 0 ? 1 : P * power(exponent - 1); }
  static constexpr int points = power(Count);
  static constexpr int values = Groups * points * Lanes;
  /// 16 bytes are left free after what a thread takes of the fastest index, so that banks differ.
  static constexpr int pad_every = Lanes > 1 ? values : power(Fused < Count ? Fused : Count);
  static constexpr int place(int index) { return index + index / pad_every * word_values<C>; }
  static constexpr int stored = place(values);
  static constexpr int factor_values = P * P;
  static constexpr int bytes(int stages) {
    return (stages * stored + Count * factor_values) * static_cast<int>(sizeof(C));
  }
};

/// Applies one factor, as [row][column] in shared memory, to the index of v whose neighbours are `Stride`
/// apart.
template <int P, int Values, int Stride, class C>
__device__ __forceinline__ void multiply_in_registers(C (&v)[Values], const C* factor) {
  constexpr int word = word_values<C> < P ? word_values<C> : P;
  constexpr bool kept = P * P <= 16;  // the factor too stays in registers
  C entries[kept ? P * P : 1];
  if constexpr (kept) {
#pragma unroll
    for (int i = 0; i < P * P; ++i) entries[i] = factor[i];
  }
#pragma unroll
  for (int group = 0; group < Values / P; ++group) {
    const int first = group / Stride * Stride * P + group % Stride;
    C result[P];
#pragma unroll
    for (int a = 0; a < P; ++a) {
      C sum = SumStart<C>::value();
#pragma unroll
      for (int b = 0; b < P; b += word) {
        C row[word];
#pragma unroll
        for (int i = 0; i < word; ++i) row[i] = kept ? entries[a * P + b + i] : factor[a * P + b + i];
#pragma unroll
        for (int i = 0; i < word; ++i) sum = multiply_add(row[i], v[first + (b + i) * Stride], sum);
      }
      result[a] = sum;
    }
#pragma unroll
    for (int a = 0; a < P; ++a) v[first + a * Stride] = result[a];
  }
}

template <int P, int Values, int Stride, class C>
__device__ __forceinline__ void multiply_all_in_registers(C (&v)[Values], const C* last_factor) {
  multiply_in_registers<P, Values, Stride>(v, last_factor);
  if constexpr (Stride * P < Values) multiply_all_in_registers<P, Values, Stride * P>(v, last_factor - P * P);
}

/// Applies factors Last - Number + 1 … Last, `Run` being the values of the tile's faster indices.
template <class Tile, class C, int P, int Number, int Run, int Threads>
__device__ __forceinline__ void small_round(C* values, const C* last_factor) {
  constexpr int taken = Tile::power(Number);
  constexpr int word = word_values<C>;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < Tile::values / taken; i += Threads) {
    const int start = Tile::place(i / Run * (Run * taken) + i % Run);
    constexpr int step = Tile::place(Run);
    C v[taken];
    if constexpr (Run == 1 && taken % word == 0) {
#pragma unroll
      for (int j = 0; j < taken; j += word) {
        const Word<C> w = *reinterpret_cast<const Word<C>*>(values + start + j);
#pragma unroll
        for (int k = 0; k < word; ++k) v[j + k] = w.values[k];
      }
    } else {
#pragma unroll
      for (int j = 0; j < taken; ++j) v[j] = values[start + j * step];
    }
    multiply_all_in_registers<P, taken, 1>(v, last_factor);
    if constexpr (Run == 1 && taken % word == 0) {
#pragma unroll
      for (int j = 0; j < taken; j += word) {
        Word<C> w;
#pragma unroll
        for (int k = 0; k < word; ++k) w.values[k] = v[j + k];
        *reinterpret_cast<Word<C>*>(values + start + j) = w;
      }
    } else {
#pragma unroll
      for (int j = 0; j < taken; ++j) values[start + j * step] = v[j];
    }
  }
  __syncthreads();
}

/// All rounds, from the fastest index on.
template <class Tile, class C, int P, int Left, int Fused, int Run, int Threads>
__device__ __forceinline__ void small_rounds(C* values, const C* factors) {
  constexpr int number = Left < Fused ? Left : Fused;
  small_round<Tile, C, P, number, Run, Threads>(values, factors + (Left - 1) * P * P);
  if constexpr (Left > number)
    small_rounds<Tile, C, P, Left - number, Fused, Run * Tile::power(number), Threads>(values, factors);
}

/// As kronecker_powers_kernel for factors of 2 x 2, 4 x 4 and 8 x 8, several of which are applied at a time
/// in registers.
template <class In, class Out, class S, int P, int Count, int Fused, int Lanes, int Groups, int Threads,
          int Blocks, int Stages>
__global__ void __launch_bounds__(Threads, Blocks)
    kronecker_small_kernel(const __grid_constant__ PowerProblem problem) {
  using C = sum_type<S>;
  using Tile = SmallTile<C, P, Count, Fused, Lanes, Groups>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* values = reinterpret_cast<C*>(shared);
  C* factors = values + Stages * Tile::stored;
  for (int i = static_cast<int>(threadIdx.x); i < Count * P * P; i += Threads) {
    const PowerFactor& factor = problem.factors[i / (P * P)];
    factors[i] = to_sum<C>(
        static_cast<const S*>(factor.data)[i / P % P * factor.row_stride + i % P * factor.column_stride]);
  }
  std::int64_t tile = blockIdx.x;
  if (Stages == 2 && tile < problem.tiles)
    load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile, values);
  for (int stage = 0; tile < problem.tiles; tile += gridDim.x) {
    C* current = values + stage * Tile::stored;
    if constexpr (Stages == 2) {
      stage ^= 1;
      ptx::async_copy_commit();
      if (tile + gridDim.x < problem.tiles)
        load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile + gridDim.x,
                                                             values + stage * Tile::stored);
    } else {
      load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile, current);
    }
    ptx::async_copy_commit();
    ptx::async_copy_wait<Stages - 1>();
    __syncthreads();
    small_rounds<Tile, C, P, Count, Fused, Lanes, Threads>(current, factors);
    store_power_tile<Tile, Out, C, Lanes, Groups, Threads>(
        problem, tile, current, [&](C value) { return scaled(value, problem.scale); });
    __syncthreads();
  }
}

}  // namespace papillon::cuda
