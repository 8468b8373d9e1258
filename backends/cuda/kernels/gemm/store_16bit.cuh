// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "kernels/arithmetic.cuh"
#include "kernels/gemm/ring.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "kernels/ptx/sm_90_tensor_copy.cuh"

namespace papillon::cuda {

/// Two neighbours of C, of which `count` are inside.
template <class Out>
__device__ __forceinline__ float2 load_pair(const Out* values, int count) {
  if (count >= 2) {
    if constexpr (sizeof(Out) == 4) return *reinterpret_cast<const float2*>(values);
    if constexpr (sizeof(Out) == 2) {
      float2 pair = make_float2(0.0F, 0.0F);
      unpack_pair<Out>(*reinterpret_cast<const std::uint32_t*>(values), pair.x, pair.y);
      return pair;
    }
  }
  return make_float2(count == 1 ? static_cast<float>(load_converted(*values)) : 0.0F, 0.0F);
}

/// alpha · sum + beta · c for two neighbours.
template <class Out>
__device__ __forceinline__ void scale_pair(const Gemm16Problem& problem, const Out* c, int row, int column,
                                           float& first, float& second) {
  first *= problem.alpha;
  second *= problem.alpha;
  if (problem.beta == 0.0F) return;
  const int count = row < problem.m ? problem.n - column : 0;
  const float2 old = load_pair(c + row * problem.c_stride + column, count);
  first = __fmaf_rn(problem.beta, old.x, first);
  second = __fmaf_rn(problem.beta, old.y, second);
}

__device__ __forceinline__ uint2 float_pair(float low, float high) {
  return make_uint2(__float_as_uint(low), __float_as_uint(high));
}

/// A buffer's part inside C by ordinary stores: the copy engine writes whole words of 16 bytes, also where a
/// row of C ends within one.
template <class Out>
__device__ __forceinline__ void store_edge(const Gemm16Problem& problem, std::uint32_t buffer, int row,
                                           int column, int batch) {
  constexpr int word = 16 / sizeof(Out);
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (int i = lane; i < 16 * 8; i += 32) {
    const int y = row + i / 8;
    const int x = column + i % 8 * word;
    if (y >= problem.m) continue;
    const uint4 values = ptx::load_16(buffer + i / 8 * 128 + (i % 8 ^ (i / 8 & 7)) * 16);
    Out* c = static_cast<Out*>(problem.c_values) + batch * problem.c_batch + y * problem.c_stride + x;
    if (x + word <= problem.n) {
      *reinterpret_cast<uint4*>(c) = values;
    } else {
      const std::uint32_t words[4] = {values.x, values.y, values.z, values.w};
#pragma unroll
      for (int j = 0; j < word; ++j) {
        if (x + j >= problem.n) continue;
        if constexpr (sizeof(Out) == 2) {
          c[j] = Out::from_bits(static_cast<std::uint16_t>(words[j / 2] >> (j % 2 * 16)));
        } else {
          c[j] = __uint_as_float(words[j]);
        }
      }
    }
  }
}

/// A warp's 16 rows of a tile from its registers to C, 128 bytes a row at a time through its buffers, from
/// where the copy engine takes them; what lies outside C is not stored.
template <class Out, class Tile>
__device__ __forceinline__ void store_tile(const Gemm16Problem& problem, float (&sums)[Tile::columns / 2],
                                           std::uint32_t buffers, int row, int column, int batch) {
  constexpr int chunk = 128 / sizeof(Out);  // columns
  constexpr int chunks = Tile::columns / chunk;
  constexpr int used = Tile::buffers < chunks ? Tile::buffers : chunks;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int r = lane / 4;
#pragma unroll
  for (int i = 0; i < chunks; ++i) {
    if (!problem.plain) {
      const Out* c = static_cast<const Out*>(problem.c_values) + batch * problem.c_batch;
#pragma unroll
      for (int j = 0; j < chunk / 8; ++j) {
        const int pair = column + i * chunk + 8 * j + 2 * (lane % 4);
        const int first = (i * chunk + 8 * j) / 2;
        scale_pair(problem, c, row + r, pair, sums[first], sums[first + 1]);
        scale_pair(problem, c, row + r + 8, pair, sums[first + 2], sums[first + 3]);
      }
    }
    const std::uint32_t buffer = buffers + i % used * Tile::buffer_bytes;
    if (lane == 0) ptx::stores_have_read<used - 1>();
    __syncwarp();
    if constexpr (sizeof(Out) == 2) {
      const int matrix_row = lane % 16;
      const std::uint32_t address = buffer + matrix_row * 128 + ((lane / 16) ^ (matrix_row & 7)) * 16;
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        const int first = 4 * (8 * i + j);
        ptx::store_matrices(address ^ (j * 16), pack_pair<Out>(sums[first], sums[first + 1]),
                            pack_pair<Out>(sums[first + 2], sums[first + 3]),
                            pack_pair<Out>(sums[first + 4], sums[first + 5]),
                            pack_pair<Out>(sums[first + 6], sums[first + 7]));
      }
    } else {
      // Odd rows store their eighths in another order than even ones, since the swizzle alone would have them
      // meet in the same banks.
      const bool odd = r % 2 != 0;
      const std::uint32_t address =
          buffer + r * 128 + ((lane % 4 / 2) ^ r ^ (odd ? 4 : 0)) * 16 + lane % 2 * 8;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
#pragma unroll
        for (int half = 0; half < 4; half += 2) {  // row r, row r + 8
          const int low = 4 * (4 * i + j) + half;
          const int high = low + 8;
          const std::uint32_t place = (address ^ (j * 32)) + half / 2 * 1024;
          ptx::store_8(place, float_pair(odd ? sums[high] : sums[low], odd ? sums[high + 1] : sums[low + 1]));
          ptx::store_8(place ^ 64,
                       float_pair(odd ? sums[low] : sums[high], odd ? sums[low + 1] : sums[high + 1]));
        }
      }
    }
    ptx::show_to_copies();
    __syncwarp();
    const int first = column + i * chunk;
    if (problem.whole_words || first + chunk <= problem.n) {
      if (lane == 0) ptx::store_box(&problem.c, buffer, first, row, batch);
    } else if (first < problem.n) {
      store_edge<Out>(problem, buffer, row, first, batch);
      __syncwarp();
    }
    if (lane == 0) ptx::stores_commit();  // a group for each buffer, also an empty one
  }
}

}  // namespace papillon::cuda
