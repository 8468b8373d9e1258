// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"

namespace papillon::cuda {

/// Values of the compute type in shared memory, in words of as many as 16 bytes of storage hold. After every
/// 16 words one is left out: the sixteen values that a thread takes lie a power of two of words apart, and neighbouring threads' must not share a bank.
template <class S>
struct SharedTile {
  using C = compute_type<S>;
  static constexpr int word_bits = sizeof(S) == 2 ? 3 : sizeof(S) == 4 ? 2 : 1;
  static constexpr int word = 1 << word_bits;
  static constexpr int pad_shift = word_bits + 4;
  /// Bits of one round. Five need more than the 64 registers that let two blocks of 512 threads be resident.
  static constexpr int most_bits = 4;

  C* values;

  /// Elements of memory that a tile of `count` values takes.
  __host__ __device__ static constexpr int extent(int count) { return place(count) + word; }
  __host__ __device__ static constexpr int place(int element) {
    return element + (element >> pad_shift << word_bits);
  }
  __device__ __forceinline__ C& at(int element) const { return values[place(element)]; }

  __device__ __forceinline__ void load_word(int element, C (&v)[word]) const {
    constexpr int vector = 16 / static_cast<int>(sizeof(C));
    const C* from = values + place(element);
#pragma unroll
    for (int i = 0; i < word; i += vector) unpack<C>(*reinterpret_cast<const uint4*>(from + i), v + i);
  }
  __device__ __forceinline__ void store_word(int element, const C (&v)[word]) const {
    constexpr int vector = 16 / static_cast<int>(sizeof(C));
    C* to = values + place(element);
#pragma unroll
    for (int i = 0; i < word; i += vector) *reinterpret_cast<uint4*>(to + i) = pack<C>(v + i);
  }

  /// The stages below a word, of a transform of 2^k.
  __device__ __forceinline__ static void word_stages(C (&v)[word], int k) {
    if (k > 0) register_stages<0, 1>(v);
    if constexpr (word_bits > 1) {
      if (k > 1) register_stages<1, 2>(v);
    }
    if constexpr (word_bits > 2) {
      if (k > 2) register_stages<2, 3>(v);
    }
  }

  /// Those of all words of a tile.
  __device__ void all_word_stages(int count, int k) const {
    for (int element = static_cast<int>(threadIdx.x) * word; element < count;
         element += static_cast<int>(blockDim.x) * word) {
      C v[word];
      load_word(element, v);
      word_stages(v, k);
      store_word(element, v);
    }
  }

  /// `Bits` stages from bit `low_bit` on; `First` where that is the lowest bit above a word.
  template <int Bits, bool First>
  __device__ __forceinline__ void stages(int count, int low_bit) const {
    constexpr int points = 1 << Bits;
    const int mask = (1 << low_bit) - 1;
    const int step = place(1 << low_bit);  // used where no bit below pad_shift is left
    for (int index = static_cast<int>(threadIdx.x); index < count >> Bits;
         index += static_cast<int>(blockDim.x)) {
      const int element = (index & mask) | (index & ~mask) << Bits;
      C* const base = values + place(element);
      C v[points];
#pragma unroll
      for (int i = 0; i < points; ++i) v[i] = base[First ? place(i << word_bits) : i * step];
      register_stages<0, Bits>(v);
#pragma unroll
      for (int i = 0; i < points; ++i) base[First ? place(i << word_bits) : i * step] = v[i];
    }
    __syncthreads();
  }

  template <bool First>
  __device__ __forceinline__ void stages(int bits, int count, int low_bit) const {
    switch (bits) {
      case 4:
        stages<4, First>(count, low_bit);
        break;
      case 3:
        stages<3, First>(count, low_bit);
        break;
      case 2:
        stages<2, First>(count, low_bit);
        break;
      default:
        stages<1, First>(count, low_bit);
        break;
    }
  }

  /// All stages above a word, of transforms of 2^k. The first round takes four bits if another follows, so
  /// that the later ones start at or above pad_shift.
  __device__ __forceinline__ void upper_stages(int count, int k) const {
    int left = k - word_bits;
    if (left <= 0) return;
    const int first = left < most_bits ? left : most_bits;
    stages<true>(first, count, word_bits);
    left -= first;
    int bit = word_bits + first;
    for (int rounds = (left + most_bits - 1) / most_bits; rounds > 0; --rounds) {
      const int bits = (left + rounds - 1) / rounds;
      stages<false>(bits, count, bit);
      left -= bits;
      bit += bits;
    }
  }
};

}  // namespace papillon::cuda
