// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// Where value `index` of a packed tile lies: a word of padding every 32 spreads strides over the banks.
__device__ __forceinline__ constexpr int packed_place(int index) { return index + (index >> 5); }

/// `Bits` stages from bit `bit` on over a packed tile: each thread takes 2^Bits values at distance `half`.
template <int Bits, class C>
__device__ __forceinline__ void packed_stages(C* values, int count, int half) {
  constexpr int points = 1 << Bits;
  for (int index = static_cast<int>(threadIdx.x); index < count >> Bits;
       index += static_cast<int>(blockDim.x)) {
    const int group = index / half;
    const int low = index + group * half * (points - 1);
    C v[points];
#pragma unroll
    for (int i = 0; i < points; ++i) v[i] = values[packed_place(low + i * half)];
    register_stages<0, Bits>(v);
#pragma unroll
    for (int i = 0; i < points; ++i) values[packed_place(low + i * half)] = v[i];
  }
  __syncthreads();
}

/// Columns of an array without gaps, (outer, n, inner), for an inner extent too small or too odd for lanes
/// side by side to read: a tile is some outer indices with all that they hold, read and written in 16-byte
/// words, and transformed in shared memory. Consecutive threads take consecutive columns, whatever inner is.
template <class In, class Out>
__global__ void __launch_bounds__(256, 2)
    packed_columns(const In* x, Out* y, std::int64_t elements, int tile_elements, int bits, int inner,
                   compute_type<In> scale) {
  using C = compute_type<In>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* values = reinterpret_cast<C*>(shared);
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(tile_elements);
  const std::int64_t left = elements - first;
  const int count = left < tile_elements ? static_cast<int>(left) : tile_elements;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);

  constexpr int in_word = 16 / static_cast<int>(sizeof(In));
#pragma unroll 4
  for (int word = thread; word < count / in_word; word += threads) {
    C v[in_word];
    unpack<In>(reinterpret_cast<const uint4*>(x + first)[word], v);
#pragma unroll
    for (int i = 0; i < in_word; ++i) values[packed_place(word * in_word + i)] = v[i];
  }
  for (int i = count / in_word * in_word + thread; i < count; i += threads)  // at the array's end
    values[packed_place(i)] = load_converted(x[first + i]);
  __syncthreads();

  int half = inner;
  int bit = 0;
  for (; bit + 4 <= bits; bit += 4, half *= 16) packed_stages<4>(values, count, half);
  if (bits - bit == 3) packed_stages<3>(values, count, half);
  if (bits - bit == 2) packed_stages<2>(values, count, half);
  if (bits - bit == 1) packed_stages<1>(values, count, half);

  constexpr int out_word = 16 / static_cast<int>(sizeof(Out));
#pragma unroll 4
  for (int word = thread; word < count / out_word; word += threads) {
    C v[out_word];
#pragma unroll
    for (int i = 0; i < out_word; ++i) v[i] = product(values[packed_place(word * out_word + i)], scale);
    __stcs(reinterpret_cast<uint4*>(y + first) + word, pack<Out>(v));
  }
  for (int i = count / out_word * out_word + thread; i < count; i += threads)
    y[first + i] = rounded<Out>(product(values[packed_place(i)], scale));
}

}  // namespace papillon::cuda
