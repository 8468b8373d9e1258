// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/cluster_exchange.cuh"
#include "kernels/column_index.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// How a block holds 2^PointBits points of 2^WidthBits neighbouring cells; a cell is 8 bytes of the compute
/// type, two columns or one. A thread has 32 points of a cell, a warp 8 KiB of rows that lie one after
/// another: its slice, into which it reads them itself.
template <class C, int PointBits, int WidthBits>
struct TileColumnShape {
  static_assert(PointBits >= 6 && PointBits <= 10 && WidthBits >= 2 && WidthBits <= 5);
  static_assert(PointBits + WidthBits >= 10);
  static constexpr int values = 8 / static_cast<int>(sizeof(C));  ///< of a cell
  static constexpr int value_bits = values == 2 ? 1 : 0;
  static constexpr int threads = 1 << (PointBits + WidthBits - 5);
  static constexpr int tile_bytes = 8 << (PointBits + WidthBits);
  static constexpr int target_bytes = 8 << WidthBits;  ///< behind the tile: the offset a cell is written to
  static constexpr int columns = values << WidthBits;
  static constexpr int slice_points = 1 << (10 - WidthBits);  ///< of a warp
  static constexpr int last_bit = PointBits - 5;  ///< the lowest of the five point bits of the last round

  /// Where `part` of row `point` lies, rows having 2^RowBits bytes. The lanes of a warp have rows 32 apart at
  /// first and neighbouring ones later; where rows are shorter than the 2^BankBits bytes that lanes read at
  /// once, these are exchanged within such a line by what tells the former apart.
  template <int RowBits, int BankBits>
  __device__ static constexpr std::uint32_t offset(int point, int part) {
    constexpr int mask = RowBits < BankBits ? (1 << (BankBits - RowBits)) - 1 : 0;
    return static_cast<std::uint32_t>((point ^ (point >> 5 & mask)) << RowBits) +
           static_cast<std::uint32_t>(part);
  }
  __device__ static constexpr std::uint32_t cell_offset(int point, int cell) {
    return offset<WidthBits + 3, 7>(point, cell << 3);
  }
};

/// A cell scaled, rounded once and written.
template <class Out, class C>
__device__ __forceinline__ void store_cell(Out* target, const C* values, C scale) {
  if constexpr (sizeof(Out) == sizeof(C)) {
    const C scaled[2] = {product(values[0], scale), product(values[8 / sizeof(C) - 1], scale)};
    *reinterpret_cast<uint2*>(target) = pack_cell<C>(scaled);
  } else {
    *reinterpret_cast<std::uint32_t*>(target) =
        pack_pair<Out>(product(values[0], scale), product(values[1], scale));
  }
}

/// Columns of 64 points and more: a plain pass over 2^LogN points whose inner index is contiguous; every 16
/// bytes of columns lie within one outer index, aligned. The columns of all outer indices are numbered in a
/// row. A tile is 2^WidthBits cells wide and all points high; 2^Split blocks of a cluster hold it, each the
/// points of its rank.
///
/// Rows of a tile should be 128 bytes of storage: a copy through tiles of narrower rows is slower than the
/// copy (docs/kernels-h200.md), and this is what clusters are for. A warp reads 32 rows or more by
/// asynchronous copies and has the five lowest bits of a point in registers; the bits up to ten follow after
/// an exchange within the block, the highest after one between the blocks.
template <class In, class Out, int LogN, int WidthBits, int Split, int MinBlocks>
__global__ void __launch_bounds__(TileColumnShape<compute_type<In>, LogN - Split, WidthBits>::threads,
                                  MinBlocks)
    tile_columns(const __grid_constant__ detail::Pass pass, std::int64_t first_column, std::int64_t columns) {
  using C = compute_type<In>;
  constexpr int point_bits = LogN - Split;
  using Shape = TileColumnShape<C, point_bits, WidthBits>;
  constexpr int P = Shape::values;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t buffer = ptx::shared_address(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int warp = thread >> 5;
  const int rank = static_cast<int>(blockIdx.x) & ((1 << Split) - 1);
  const std::int64_t tile_column =
      first_column + static_cast<std::int64_t>(blockIdx.x >> Split) * Shape::columns;
  const std::uint32_t slice = buffer + warp * 8192;

  constexpr int mailbox = Shape::tile_bytes + Shape::target_bytes;
  const ClusterExchange<Split, Shape::threads> exchange(buffer, buffer + mailbox, rank);

  const std::uint32_t targets = buffer + Shape::tile_bytes;
  if (thread < 1 << WidthBits) {
    const std::int64_t column = tile_column + thread * P;
    const std::int64_t offset = column < columns ? column_offsets(pass, column, columns).y : -1;
    ptx::store_8(targets + thread * 8, __builtin_bit_cast(uint2, offset));
  }
  {  // This warp's slice, in lines of 16-byte chunks.
    constexpr int chunk_columns = 16 / static_cast<int>(sizeof(In));
    constexpr int row_chunks = Shape::columns / chunk_columns;
    constexpr int row_bits = WidthBits + (sizeof(In) == sizeof(C) ? 3 : 2);
    constexpr int rows = 32 / row_chunks;  // that the warp reads at once
    static_assert(row_chunks <= 32 && 16 * row_chunks == 1 << row_bits);
    const std::int64_t column = tile_column + lane % row_chunks * chunk_columns;
    if (column < columns) {
      const In* source =
          static_cast<const In*>(pass.source) + column_offsets(pass, column, columns).x +
          ((static_cast<std::int64_t>(rank) << point_bits) + warp * Shape::slice_points + lane / row_chunks) *
              pass.fold.axis.x_stride;
      const std::int64_t step = rows * pass.fold.axis.x_stride;
#pragma unroll
      for (int i = 0; i < Shape::slice_points / rows; ++i) {
        const std::uint32_t place =
            Shape::template offset<row_bits, 7>(lane / row_chunks + i * rows, lane % row_chunks << 4);
        ptx::async_copy_16(slice + place, source);
        source += step;
      }
    }
  }
  ptx::async_copy_commit();
  ptx::async_copy_wait<0>();
  __syncwarp();

  C values[32 * P];
  const int cell = lane & ((1 << WidthBits) - 1);
  const int group = lane >> WidthBits;  // of the warp, 32 points each
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    if constexpr (sizeof(In) == sizeof(C)) {
      unpack_cell<C>(ptx::load_8(slice + Shape::cell_offset(group * 32 + i, cell)), values + i * P);
    } else {
      const std::uint32_t place = Shape::template offset<WidthBits + 2, 7>(group * 32 + i, cell << 2);
      unpack_pair<In>(ptx::load_4(slice + place), values[2 * i], values[2 * i + 1]);
    }
  }
  register_stages<Shape::value_bits, Shape::value_bits + 5>(values);

  if constexpr (sizeof(In) != sizeof(C)) __syncwarp();
#pragma unroll
  for (int i = 0; i < 32; ++i)
    ptx::store_8(slice + Shape::cell_offset(group * 32 + i, cell), pack_cell<C>(values + i * P));
  __syncthreads();
  const int low = thread >> WidthBits;
#pragma unroll
  for (int i = 0; i < 32; ++i)
    unpack_cell<C>(ptx::load_8(buffer + Shape::cell_offset(low | i << Shape::last_bit, cell)),
                   values + i * P);
  register_stages<Shape::value_bits + 5 - Shape::last_bit, Shape::value_bits + 5>(values);
  exchange.run(values);

  // Value i of a thread is now of the part i >> (5 - Split) of the column, in which it has number `kept` + i.
  const int again = ptx::thread_again();
  const auto cell_target =
      __builtin_bit_cast(std::int64_t, ptx::load_8(targets + (again & ((1 << WidthBits) - 1)) * 8));
  if (cell_target < 0) return;
  const C scale = static_cast<C>(pass.factor);
  const std::int64_t stride = pass.fold.axis.y_stride;
  constexpr int kept = 32 >> Split;
  Out* target = static_cast<Out*>(pass.target) + cell_target +
                ((again >> WidthBits) + (rank * kept << Shape::last_bit)) * stride;
  const std::int64_t step = stride << Shape::last_bit;
  const std::int64_t part_step = (stride << point_bits) - kept * step;
#pragma unroll
  for (int part = 0; part < 1 << Split; ++part) {
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      store_cell<Out>(target, values + (part * kept + i) * P, scale);
      target += step;
    }
    target += part_step;
    ptx::step_by_step(target);
  }
}

}  // namespace papillon::cuda
