// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/ptx/sm_90_convert.cuh"
#include "kernels/quantize/float_scales.hpp"
#include "papillon/core/quantize_kernels.hpp"

namespace papillon::cuda {

/// Eight neighbouring elements of a row.
template <class S>
__device__ __forceinline__ void load_eight(const S* from, float (&values)[8]) {
  constexpr int width = 16 / static_cast<int>(sizeof(S));
#pragma unroll
  for (int w = 0; w < 8 / width; ++w) unpack<S>(reinterpret_cast<const uint4*>(from)[w], values + w * width);
}

/// The codes of eight elements, four or eight bits each.
__device__ __forceinline__ std::uint64_t encode_eight(const float (&y)[8], const FloatScaleRows& problem,
                                                      const detail::BlockScale& scale, std::int64_t row,
                                                      std::int64_t column) {
  if (scale.zero) return 0;
  const int bits = problem.layout.element_bits;
  const BlockFormat format = problem.scaling.format;
  if (!problem.stochastic && (format == BlockFormat::fp8_e4m3 || format == BlockFormat::fp8_e5m2)) {
    std::uint64_t codes = 0;
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const float low = __fdiv_rn(y[i], scale.factor);
      const float high = __fdiv_rn(y[i + 1], scale.factor);
      const std::uint32_t pair =
          format == BlockFormat::fp8_e4m3 ? ptx::to_e4m3(low, high) : ptx::to_e5m2(low, high);
      codes |= static_cast<std::uint64_t>(pair) << (8 * i);
    }
    return codes;
  }
  if (!problem.stochastic && (format == BlockFormat::int8 || format == BlockFormat::int4)) {
    const float largest = format == BlockFormat::int8 ? 127.0f : 7.0f;
    constexpr float magic = 12582912.0f;  // 1.5 · 2^23: sums are rounded to integers
    std::uint64_t codes = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float q = __fdiv_rn(y[i], scale.factor);
      const std::uint32_t integer = __float_as_uint(fminf(fmaxf(q, -largest), largest) + magic);
      const std::uint64_t code = q == q ? integer & ((1u << bits) - 1u) : 0u;
      codes |= code << (bits * i);
    }
    return codes;
  }
  detail::RandomWords random{};
  if (problem.stochastic) {
    const std::int64_t runs = (problem.layout.columns + detail::run_length - 1) / detail::run_length;
    random = problem.random.of_run(row * runs + column / detail::run_length);
  }
  std::uint64_t codes = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int index = static_cast<int>(column % detail::run_length) + i;
    const std::uint64_t code =
        problem.scaling.encode(scale, y[i], {problem.stochastic, detail::random_byte(random, index)});
    codes |= code << (bits * i);
  }
  return codes;
}

/// `Threads` neighbouring threads have a block: they find its amax, then read it again, from a cache, and
/// encode it. Blocks of 256 threads; a row of codes begins at a multiple of 4 bytes.
template <class S, int Threads>
__global__ void __launch_bounds__(256) quantize_float_scales(const __grid_constant__ FloatScaleRows problem) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const partial = reinterpret_cast<float*>(shared);
  const QuantizedLayout& layout = problem.layout;
  const int thread = static_cast<int>(threadIdx.x) % Threads;
  const std::int64_t blocks = problem.rows * layout.blocks;
  constexpr int together = 256 / Threads;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * together;
  float most = 0.0f;
  for (std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * together + threadIdx.x / Threads;
       b - threadIdx.x / Threads < blocks; b += step) {
    const bool active = b < blocks;
    const std::int64_t row = problem.first_row + (active ? b / layout.blocks : 0);
    const std::int64_t block = active ? b % layout.blocks : 0;
    const std::int64_t begin = block * layout.block;
    const std::int64_t end = begin + layout.block < layout.columns ? begin + layout.block : layout.columns;
    const S* const from = static_cast<const S*>(problem.x) + row * problem.x_stride;
    float amax = 0.0f;
    for (std::int64_t c = begin + thread * 8; active && c < end; c += Threads * 8) {
      float y[8];
      load_eight(from + c, y);
#pragma unroll
      for (int i = 0; i < 8; ++i) amax = detail::finite_amax(amax, y[i]);
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, mask));
    if constexpr (Threads > 32) {
      if ((threadIdx.x & 31) == 0) partial[threadIdx.x / 32] = amax;
      __syncthreads();
#pragma unroll
      for (int w = 0; w < 8; ++w) amax = fmaxf(amax, partial[w]);
      __syncthreads();
    }
    most = fmaxf(most, amax);
    const detail::BlockScale scale = problem.scaling.of(amax, {});
    if (active && thread == 0) problem.scales[layout.scale_index(row, block)] = scale.stored;
    for (std::int64_t c = begin + thread * 8; active && c < end; c += Threads * 8) {
      float y[8];
      load_eight(from + c, y);
      const std::uint64_t codes = encode_eight(y, problem, scale, row, c);
      std::uint8_t* const to = problem.payload + row * layout.row_bytes;
      if (layout.element_bits == 4) {
        *reinterpret_cast<std::uint32_t*>(to + c / 2) = static_cast<std::uint32_t>(codes);
      } else {
        *reinterpret_cast<std::uint64_t*>(to + c) = codes;
      }
    }
  }
  if (problem.amax_bits != nullptr && thread == 0 && __float_as_uint(most) > 0)
    atomicMax(problem.amax_bits, __float_as_uint(most));
}

}  // namespace papillon::cuda
