// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_90_convert.cuh"
#include "kernels/quantize/row_problem.hpp"
#include "kernels/sign_words.cuh"
#include "papillon/core/quantize_kernels.hpp"

namespace papillon::cuda {

inline constexpr int quantize_threads = 128;
/// Tiles of a warp in shared memory: one that is worked on, one on its way.
inline constexpr int quantize_stages = 2;
/// Blocks that a multiprocessor has registers for.
constexpr int quantize_blocks(int group_bits) {
  return strip_bits(group_bits) == 5 ? 5 : strip_bits(group_bits) == 6 ? 4 : 2;
}

/// A warp's tile of 32 strips, a strip to a lane: 16-byte words, scattered so that neither the copy from
/// global memory nor the reading of strips meets bank conflicts.
template <class S, int Bits>
class StripTile {
 public:
  static constexpr int strip = 1 << strip_bits(Bits);
  static constexpr int width = 16 / static_cast<int>(sizeof(S));  ///< elements of a word
  static constexpr int words = strip / width;                     ///< of a strip
  static constexpr int bytes = 32 * strip * static_cast<int>(sizeof(S));

  __device__ __forceinline__ StripTile(const RowQuantization& problem, unsigned char* shared, int lane)
      : problem_(problem), shared_(shared), lane_(lane) {
    own_ = lane * row_bytes + scatter(lane) * 16;
    copied_ = (lane / words) * row_bytes + (lane % words ^ scatter(lane / words)) * 16;
  }

  /// Starts copying strips first … first + 31 of x into stage `stage`.
  __device__ __forceinline__ void start(std::int64_t first, int stage) const {
    const std::uint32_t to = ptx::shared_address(shared_) + static_cast<std::uint32_t>(stage * bytes);
    const std::int64_t more = problem_.strips - first;
    const int left = static_cast<int>(more < 32 ? more : 32);
    if (problem_.dense) {
      const S* const from = static_cast<const S*>(problem_.x) + first * strip + lane_ * width;
#pragma unroll
      for (int j = 0; j < words; ++j)
        if (j * 32 + lane_ < left * words) ptx::async_copy_16(to + place_of(j), from + j * 32 * width);
      return;
    }
#pragma unroll 1
    for (int j = 0; j < words; ++j) {
      const int index = j * 32 + lane_;
      const int s = index / words;
      if (s >= left) continue;
      const auto number = static_cast<std::uint32_t>(first + s);
      const std::uint32_t row = number / problem_.row_strips;
      const S* const from = static_cast<const S*>(problem_.x) + row * problem_.x_stride +
                            static_cast<std::int64_t>(number - row * problem_.row_strips) * strip;
      ptx::async_copy_16(to + place_of(j), from + index % words * width);
    }
  }

  /// The lane's strip, as float32.
  __device__ __forceinline__ void read(int stage, float (&values)[strip]) const {
    const unsigned char* const from = shared_ + stage * bytes;
#pragma unroll
    for (int w = 0; w < words; ++w)
      unpack<S>(*reinterpret_cast<const uint4*>(from + (own_ ^ w * 16)), values + w * width);
  }

 private:
  static constexpr int row_bytes = words * 16;

  /// Word w of strip s lies at w ^ scatter(s).
  __device__ __forceinline__ static constexpr int scatter(int s) { return words == 4 ? s >> 1 & 3 : s & 7; }
  /// Where word number 32 j + lane of the tile goes: strip j * 32 / words + lane / words, whose scatter is
  /// that of both parts.
  __device__ __forceinline__ std::uint32_t place_of(int j) const {
    return static_cast<std::uint32_t>((copied_ ^ scatter(j * (32 / words)) * 16) +
                                      j * (32 / words) * row_bytes);
  }

  const RowQuantization& problem_;
  unsigned char* shared_;
  int lane_;
  int own_;     ///< of the lane's strip in a stage: its word w lies at own ^ 16 w
  int copied_;  ///< of the word that the lane copies first
};

/// The signs of a lane's strip, a bit each.
struct StripSigns {
  std::uint32_t words[4] = {};
};

/// The rotation of a strip by groups of 2^Bits, which neighbouring lanes share where they are longer; not yet
/// multiplied by the factor where that is a power of two.
template <int Bits, int Strip>
__device__ __forceinline__ void rotate_strip(float (&values)[Strip], const RowQuantization& problem,
                                             const StripSigns& signs, int lane) {
  if constexpr (Bits > 0) {
    constexpr int own_bits = strip_bits(Bits);
    if (problem.signs.any()) {
#pragma unroll
      for (int w = 0; w < Strip / 32; ++w) {
        std::uint32_t word = signs.words[w];
        // The compiler must not see that the signs are the same for each tile: it would keep a mask a value.
        asm volatile("" : "+r"(word));
#pragma unroll
        for (int i = 0; i < 32; ++i) values[w * 32 + i] = with_sign(values[w * 32 + i], word, i);
      }
    }
    register_stages<0, (Bits < own_bits ? Bits : own_bits)>(values);
#pragma unroll
    for (int bit = 0; bit < Bits - own_bits; ++bit) lane_stage(values, lane, bit);
    if constexpr (Bits % 2 != 0) {
#pragma unroll
      for (int i = 0; i < Strip; ++i) values[i] = product(values[i], problem.factor);
    }
  }
}

/// What is left to multiply rotated values by: a power of two.
template <int Bits>
__device__ __forceinline__ float remaining_factor(const RowQuantization& problem) {
  return Bits > 0 && Bits % 2 == 0 ? problem.factor : 1.0f;
}

/// The signs of the lane's strip, which are the same for each tile: a group of lanes has one rotation.
template <int Strip>
__device__ __forceinline__ StripSigns strip_signs(const RowQuantization& problem, int lane) {
  StripSigns signs;
  if (!problem.signs.any()) return signs;
  const int group = 1 << problem.group_bits;
#pragma unroll
  for (int w = 0; w < Strip / 32; ++w) {
#pragma unroll 1
    for (int i = 0; i < 32; ++i) {
      const int position = (lane * Strip + w * 32 + i) & (group - 1);
      signs.words[w] |= (problem.signs.negative(position) ? 1u : 0u) << i;
    }
  }
  return signs;
}

/// The values that a lane has of a tile, rotated.
template <class S, int Bits, int Strip>
__device__ __forceinline__ void read_rotated(const RowQuantization& problem, const StripTile<S, Bits>& tile,
                                             int stage, const StripSigns& signs, int lane,
                                             float (&values)[Strip]) {
  tile.read(stage, values);
  rotate_strip<Bits>(values, problem, signs, lane);
}

/// The largest magnitude of 16 values, NaN if one is NaN.
__device__ __forceinline__ float run_amax(const float* v) {
  float amax = fabsf(v[0]);
#pragma unroll
  for (int i = 1; i < detail::run_length; ++i) amax = ptx::max_or_nan(amax, fabsf(v[i]));
  return amax;
}

/// Whether a magnitude is so far from the ends of the exponent range, 2^±60, that scaling it is exact.
__device__ __forceinline__ bool is_usual(float amax) { return amax > 0x1p-60f && amax < 0x1p60f; }
__device__ __forceinline__ bool is_usual_or_zero(float amax) {
  const std::uint32_t bits = __float_as_uint(amax);
  constexpr std::uint32_t least = (127u - 60u) << 23;
  constexpr std::uint32_t range = 120u << 23;
  return (bits - least < range) | (bits == 0);
}

__device__ __forceinline__ void raise_warp_amax(std::uint32_t* bits, float amax) {
  std::uint32_t most = __float_as_uint(amax);
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    const std::uint32_t other = __shfl_xor_sync(0xffffffffu, most, mask);
    most = most > other ? most : other;
  }
  if ((threadIdx.x & 31) == 0 && most > *static_cast<volatile std::uint32_t*>(bits)) atomicMax(bits, most);
}

}  // namespace papillon::cuda
