// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// The signs that a row kernel applies, if any: to its input or to its output. Vectors are 16-byte aligned.
struct RowSigns {
  detail::SignVector vector;
  bool on_output = false;
};

/// The signs of the four bytes of a word as bits 0 to 3.
__device__ __forceinline__ std::uint32_t byte_signs(std::uint32_t word) {
  // Gathers bits 0, 8, 16 and 24 in bits 24 to 27.
  return (word >> 7 & 0x01010101u) * 0x01020408u >> 24 & 15u;
}

/// The signs of `Count` (2, 4, 8, 32 or 64) positions from `position` on, a multiple of Count, as bits; those
/// above Count are undefined.
template <int Count>
__device__ __forceinline__ std::uint64_t sign_mask(const detail::SignVector& signs, int position) {
  if (signs.seeded) return random_sign_word(signs.seed, position / 64) >> (position % 64);
  const std::int8_t* const from = signs.values + position;
  if constexpr (Count == 2) {
    return byte_signs(*reinterpret_cast<const std::uint16_t*>(from));
  } else if constexpr (Count == 4) {
    return byte_signs(*reinterpret_cast<const std::uint32_t*>(from));
  } else if constexpr (Count == 8) {
    const uint2 word = *reinterpret_cast<const uint2*>(from);
    return byte_signs(word.x) | byte_signs(word.y) << 4;
  } else {
    std::uint64_t mask = 0;
#pragma unroll
    for (int i = 0; i < Count / 16; ++i) {
      const uint4 word = reinterpret_cast<const uint4*>(from)[i];
      const std::uint32_t bits =
          byte_signs(word.x) | byte_signs(word.y) << 4 | byte_signs(word.z) << 8 | byte_signs(word.w) << 12;
      mask |= static_cast<std::uint64_t>(bits) << (16 * i);
    }
    return mask;
  }
}

/// The signs of positions 0 … n - 1 as bits, 32 a word, bit set where the sign is -1; made by all threads of
/// a block, in whole warps.
__device__ __forceinline__ void make_sign_words(const detail::SignVector& signs, std::uint32_t* words,
                                                int n) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int count = (n + 31) / 32;
  if (signs.seeded) {
    for (int i = thread; i < count; i += threads)
      words[i] = static_cast<std::uint32_t>(random_sign_word(signs.seed, i / 2) >> (i % 2 * 32));
    return;
  }
  const int lane = thread & 31;
  for (int i = thread >> 5; i < count; i += threads >> 5) {
    const int position = i * 32 + lane;
    const std::uint32_t word = __ballot_sync(0xffffffffu, position < n && signs.values[position] < 0);
    if (lane == 0) words[i] = word;
  }
}

/// value, negated where bit `bit` is set.
template <class C>
__device__ __forceinline__ C with_sign(C value, std::uint32_t bits, int bit) {
  if constexpr (sizeof(C) == 4 && !std::is_integral_v<C>) {
    return __uint_as_float(__float_as_uint(value) ^ (bits << (31 - bit) & 0x80000000u));
  } else {
    return (bits >> bit & 1u) != 0 ? negated(value) : value;
  }
}

/// Negates values[i] where bit i is set.
template <int Count, class C>
__device__ __forceinline__ void negate_marked(C (&values)[Count], std::uint32_t bits) {
  static_assert(Count <= 32);
#pragma unroll
  for (int i = 0; i < Count; ++i) values[i] = with_sign(values[i], bits, i);
}

}  // namespace papillon::cuda
