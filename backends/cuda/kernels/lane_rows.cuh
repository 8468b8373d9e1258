// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/sign_words.cuh"

namespace papillon::cuda {

/// Contiguous rows of at most a few thousand points, each in the registers of 2^LaneBits neighbouring lanes.
///
/// Index bits of a row, from the lowest: the values of a 16-byte word, then the lanes, then the words of a
/// thread. Neighbouring lanes hold neighbouring words, so that loads and stores are coalesced, and stages run
/// in that order: registers, shuffles, registers. A row shorter than a word shares it with its neighbours: a
/// `unit` is a row, or a word of several rows; the last one may hold fewer elements (`tail`).
///
/// With `Inner` the 2^first_bit lowest positions are columns, and the stages of these bits are left out.
template <class S, int LogN, int LaneBits, int Units, int Threads, bool Signed, bool Inner>
__global__ void __launch_bounds__(Threads)
    lane_rows(const S* x, S* y, std::int64_t units, int tail, std::int64_t x_stride, std::int64_t y_stride,
              compute_type<S> scale, RowSigns signs, int first_bit) {
  using C = compute_type<S>;
  constexpr int word_bits = sizeof(S) == 2 ? 3 : sizeof(S) == 4 ? 2 : 1;
  constexpr int word = 1 << word_bits;
  constexpr int upper_bits = LogN > word_bits + LaneBits ? LogN - word_bits - LaneBits : 0;
  constexpr int words = 1 << upper_bits;
  constexpr int block_units = Threads >> LaneBits;
  const int lane = static_cast<int>(threadIdx.x) & ((1 << LaneBits) - 1);
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (Units * block_units) + (threadIdx.x >> LaneBits);

  uint4 raw[Units][words];
#pragma unroll
  for (int u = 0; u < Units; ++u) {
    const std::int64_t unit = first + u * block_units;
    const S* source = x + unit * x_stride + lane * word;
#pragma unroll
    for (int w = 0; w < words; ++w) {
      raw[u][w] = make_uint4(0, 0, 0, 0);
      if (unit < units)
        raw[u][w] = __ldcs(reinterpret_cast<const uint4*>(source + (w << (LaneBits + word_bits))));
    }
    if constexpr (LogN < word_bits) {
      if (tail > 0 && unit == units) {
        C values[word] = {};
#pragma unroll
        for (int i = 0; i < word; ++i) {
          if (i < tail) values[i] = load_converted(source[i]);
        }
        raw[u][0] = pack<S>(values);  // exact: every value is one of S
      }
    }
  }
  std::uint32_t marks[words] = {};  // the signs of each word
  if constexpr (Signed) {
#pragma unroll
    for (int w = 0; w < words; ++w) {
      if constexpr (LogN >= word_bits) {
        marks[w] = static_cast<std::uint32_t>(
            sign_mask<word>(signs.vector, (w << (LaneBits + word_bits)) + lane * word));
      } else {
#pragma unroll
        for (int i = 0; i < word; ++i)
          marks[w] |= (signs.vector.negative(i & ((1 << LogN) - 1)) ? 1u : 0u) << i;
      }
    }
  }
#pragma unroll
  for (int u = 0; u < Units; ++u) {
    const std::int64_t unit = first + u * block_units;
    C values[words * word];
    const auto negate_words = [&] {
#pragma unroll
      for (int i = 0; i < words * word; ++i) values[i] = with_sign(values[i], marks[i / word], i % word);
    };
#pragma unroll
    for (int w = 0; w < words; ++w) unpack<S>(raw[u][w], values + w * word);
    if constexpr (Signed) {
      if (!signs.on_output) negate_words();
    }
    row_stages<Inner, 0, 0, (LogN < word_bits ? LogN : word_bits)>(values, first_bit);
#pragma unroll
    for (int t = 0; t < LaneBits; ++t) {
      if (!Inner || word_bits + t >= first_bit) lane_stage(values, lane, t);
    }
    row_stages<Inner, word_bits + LaneBits, word_bits, word_bits + upper_bits>(values, first_bit);
#pragma unroll
    for (int i = 0; i < words * word; ++i) values[i] = product(values[i], scale);
    if constexpr (Signed) {
      if (signs.on_output) negate_words();
    }
    S* target = y + unit * y_stride + lane * word;
#pragma unroll
    for (int w = 0; w < words; ++w) {
      if (unit < units)
        __stcs(reinterpret_cast<uint4*>(target + (w << (LaneBits + word_bits))), pack<S>(values + w * word));
    }
    if constexpr (LogN < word_bits) {
      if (tail > 0 && unit == units) {
#pragma unroll
        for (int i = 0; i < word; ++i) {
          if (i < tail) target[i] = rounded<S>(values[i]);
        }
      }
    }
  }
}

}  // namespace papillon::cuda
