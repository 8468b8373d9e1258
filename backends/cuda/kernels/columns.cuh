// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/column_index.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// How a tile of 2^LogN points of 2^LogW neighbouring chunks is held; a chunk is V columns. Up to 32 points
/// (16 where columns are not aligned and addresses take more registers) a thread has all points of its chunk
/// in registers; beyond, 16 of them, and the stages run in rounds of four bits with an exchange through
/// shared memory between two.
template <class C, int LogN, int LogW, int V, bool Aligned>
struct ColumnShape {
  static constexpr int point_bits = LogN <= (Aligned ? 5 : 4) ? LogN : 4;  ///< of a thread
  static constexpr int points = 1 << point_bits;
  static constexpr int rest_bits = LogN - point_bits;  ///< points between threads
  static constexpr int rounds = rest_bits == 0 ? 1 : (LogN + 3) / 4;
  static constexpr int threads = 1 << (LogW + rest_bits);
  static constexpr int value_bits = V == 8 ? 3 : V == 4 ? 2 : 1;
  static constexpr int shared_bytes = rounds > 1 ? 16 << (LogN + LogW) : 0;
  static_assert(1 << value_bits == V);
  static_assert(rounds == 1 || V * sizeof(C) == 16);

  /// Where chunk `chunk` of point `point` lies in shared memory. The 16-byte words of a 128-byte line are
  /// swizzled by the point bits that differ between the lanes of a warp in the first round: neither that nor
  /// a later round has a bank conflict.
  __device__ static constexpr std::uint32_t offset(int point, int chunk) {
    const std::uint32_t word = static_cast<std::uint32_t>(point) << LogW | static_cast<std::uint32_t>(chunk);
    return (word ^ (word >> (LogW + 4) << LogW & 7u)) << 4;
  }
};

/// V values of a row of columns, and the offsets of these columns in memory: one, or one each where they do
/// not lie aligned side by side.
template <class S, int V, bool Aligned>
struct ColumnVector {
  using C = compute_type<S>;
  static constexpr int count = Aligned ? 1 : V;

  __device__ __forceinline__ static void load(const S* row, const std::int64_t (&offsets)[count], int valid,
                                              C* values) {
    if constexpr (!Aligned) {
#pragma unroll
      for (int j = 0; j < V; ++j) values[j] = j < valid ? load_converted(row[offsets[j]]) : C{};
    } else if constexpr (V * sizeof(S) == 16) {
      unpack<S>(*reinterpret_cast<const uint4*>(row + offsets[0]), values);
    } else {
      static_assert(V * sizeof(S) == 8 && sizeof(S) == 2);
      const uint2 word = *reinterpret_cast<const uint2*>(row + offsets[0]);
      unpack_pair<S>(word.x, values[0], values[1]);
      unpack_pair<S>(word.y, values[2], values[3]);
    }
  }

  __device__ __forceinline__ static void store(S* row, const std::int64_t (&offsets)[count], int valid,
                                               const C* values) {
    if constexpr (!Aligned) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        if (j < valid) row[offsets[j]] = rounded<S>(values[j]);
    } else if constexpr (V * sizeof(S) == 16) {
      __stcs(reinterpret_cast<uint4*>(row + offsets[0]), pack<S>(values));
    } else {
      __stcs(reinterpret_cast<uint2*>(row + offsets[0]),
             make_uint2(pack_pair<S>(values[0], values[1]), pack_pair<S>(values[2], values[3])));
    }
  }
};

/// Columns: a plain pass over 2^LogN points whose inner index is contiguous. The columns of all outer indices
/// are numbered in a row; a block has 2^LogW * V of them. `Aligned`: every chunk of V columns lies within one
/// outer index, and at a multiple of V elements.
///
/// Stages run from the lowest bit to the highest in rounds. In the first a thread has 16 neighbouring points,
/// which it reads itself, the lanes of a warp side by side; in the last it has the points that differ in the
/// four highest bits, and writes them. Nothing of a tile is on its way but through registers: 64 values of
/// 4 bytes a thread are what is in flight.
template <class In, class Out, int LogN, int LogW, int V, bool Aligned, int MinBlocks>
__global__ void __launch_bounds__(ColumnShape<compute_type<In>, LogN, LogW, V, Aligned>::threads, MinBlocks)
    columns(const __grid_constant__ detail::Pass pass, std::int64_t first_column, std::int64_t columns) {
  using C = compute_type<In>;
  using Shape = ColumnShape<C, LogN, LogW, V, Aligned>;
  using Source = ColumnVector<In, V, Aligned>;
  using Target = ColumnVector<Out, V, Aligned>;
  extern __shared__ __align__(1024) unsigned char shared[];

  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = thread & ((1 << LogW) - 1);
  const int rest = thread >> LogW;
  // An unaligned thread takes columns that are 2^LogW apart, so that neighbouring lanes still have
  // neighbouring ones.
  constexpr int chunk_step = Aligned ? V : 1;
  const std::int64_t column =
      first_column + blockIdx.x * (static_cast<std::int64_t>(V) << LogW) + chunk * chunk_step;
  std::int64_t from[Source::count];
  std::int64_t to[Source::count];
  int valid = 0;
#pragma unroll
  for (int j = 0; j < Source::count; ++j) {
    const std::int64_t index = column + (static_cast<std::int64_t>(j) << LogW);
    if (index >= columns) continue;
    valid = j + 1;
    const Offset offset = column_offsets(pass, index, columns);
    from[j] = offset.x;
    to[j] = offset.y;
  }

  C values[Shape::points * V];
  const std::int64_t x_stride = pass.fold.axis.x_stride;
  const In* source = static_cast<const In*>(pass.source) + rest * Shape::points * x_stride;
  if (valid > 0) {
#pragma unroll
    for (int i = 0; i < Shape::points; ++i) Source::load(source + i * x_stride, from, valid, values + i * V);
  }
  register_stages<Shape::value_bits, Shape::value_bits + Shape::point_bits>(values);

  if constexpr (Shape::rounds > 1) {
    const std::uint32_t buffer = ptx::shared_address(shared);
#pragma unroll
    for (int i = 0; i < Shape::points; ++i)
      ptx::store_16(buffer + Shape::offset(rest * 16 + i, chunk), pack<C>(values + i * V));
#pragma unroll
    for (int round = 1; round < Shape::rounds; ++round) {
      const bool last = round == Shape::rounds - 1;
      // The lowest of the four point bits that a thread has.
      const int bit = last ? Shape::rest_bits : 4 * round;
      const int low = rest & ((1 << bit) - 1);
      const int base = low | (rest - low) << 4;
      __syncthreads();
#pragma unroll
      for (int i = 0; i < 16; ++i)
        unpack<C>(ptx::load_16(buffer + Shape::offset(base | i << bit, chunk)), values + i * V);
      if (!last) {
        register_stages<Shape::value_bits, Shape::value_bits + 4>(values);
#pragma unroll
        for (int i = 0; i < 16; ++i)
          ptx::store_16(buffer + Shape::offset(base | i << bit, chunk), pack<C>(values + i * V));
      }
    }
    // Of the four bits some are of the round before.
    register_stages<Shape::value_bits + 4 * Shape::rounds - LogN, Shape::value_bits + 4>(values);
  }

  if (valid == 0) return;
  const std::int64_t y_stride = pass.fold.axis.y_stride;
  const C scale = static_cast<C>(pass.factor);
#pragma unroll
  for (int i = 0; i < Shape::points * V; ++i) values[i] = product(values[i], scale);
  Out* target = static_cast<Out*>(pass.target) + rest * y_stride;
  const std::int64_t step = y_stride << Shape::rest_bits;
#pragma unroll
  for (int i = 0; i < Shape::points; ++i) Target::store(target + i * step, to, valid, values + i * V);
}

}  // namespace papillon::cuda
