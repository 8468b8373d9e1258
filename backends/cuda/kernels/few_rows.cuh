// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"

namespace papillon::cuda {

/// A row a block, eight values a thread, for so few rows that each has a multiprocessor to itself: then the
/// time is that of one row, and many threads with little to do each are faster than few with much.
///
/// The stages inside a warp's 32 words run in registers and between lanes, the others eight points at a time
/// through shared memory.
template <class S, int LogN>
__global__ void __launch_bounds__(1 << (LogN - 3), 1)
    few_rows(const S* x, S* y, std::int64_t x_stride, std::int64_t y_stride, compute_type<S> scale) {
  using C = compute_type<S>;
  constexpr int word_bits = sizeof(S) == 2 ? 3 : sizeof(S) == 4 ? 2 : 1;
  constexpr int word = 1 << word_bits;
  constexpr int words = 8 / word;
  constexpr int threads = 1 << (LogN - 3);
  constexpr int vector = 16 / static_cast<int>(sizeof(C));
  static_assert(LogN > word_bits + 5 && threads >= 32);
  extern __shared__ __align__(1024) unsigned char shared[];
  C* row = reinterpret_cast<C*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  x += blockIdx.x * x_stride;
  y += blockIdx.x * y_stride;

  uint4 raw[words];
#pragma unroll
  for (int w = 0; w < words; ++w)
    raw[w] = *reinterpret_cast<const uint4*>(x + (w * threads + thread) * word);  // y may be x
#pragma unroll
  for (int w = 0; w < words; ++w) {
    C values[word];
    unpack<S>(raw[w], values);
    register_stages<0, word_bits>(values);
#pragma unroll
    for (int t = 0; t < 5; ++t) lane_stage(values, thread, t);
#pragma unroll
    for (int i = 0; i < word; i += vector)
      *reinterpret_cast<uint4*>(row + (w * threads + thread) * word + i) = pack<C>(values + i);
  }
#pragma unroll
  for (int bit = word_bits + 5; bit < LogN; bit += 3) {
    const bool three = LogN - bit >= 3;
    const bool two = LogN - bit == 2;
    __syncthreads();
    // Eight values: one group of eight points, two of four, or four of two.
    const int group_threads = three ? 0 : two ? 1 : 2;
    C values[8];
    int place[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int points_bits = 3 - group_threads;
      const int index = (i >> points_bits) * threads + thread;
      const int low = index & ((1 << bit) - 1);
      place[i] = low | (index - low) << points_bits | (i & ((1 << points_bits) - 1)) << bit;
      values[i] = row[place[i]];
    }
    if (three) {
      register_stages<0, 3>(values);
    } else if (two) {
      register_stages<0, 2>(values);
    } else {
      register_stages<0, 1>(values);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (LogN - bit <= 3) {
        y[place[i]] = rounded<S>(product(values[i], scale));
      } else {
        row[place[i]] = values[i];
      }
    }
  }
}

}  // namespace papillon::cuda
