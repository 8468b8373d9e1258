// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/cluster_exchange.cuh"
#include "kernels/tile_rows.cuh"

namespace papillon::cuda {

/// Contiguous rows of 2^Split tiles, each in a block of a cluster: one pass over memory for rows that no
/// block can hold.
///
/// A block transforms its tile as in tile_rows; then the blocks exchange, and results leave straight from the
/// exchange.
template <class S, int LogN, int CellBits, int Split, int MinBlocks, bool Signed, bool Inner>
__global__ void __launch_bounds__(32 * (1 << (CellBits - 10)), MinBlocks)
    cluster_rows(const S* x, S* y, std::int64_t x_stride, std::int64_t y_stride, compute_type<S> scale,
                 RowSigns row_signs, int first_bit) {
  using C = compute_type<S>;
  using Shape = TileShape<S, CellBits>;
  using Layout = StoreLayout<S, CellBits>;
  constexpr int threads = 32 * Shape::warps;
  constexpr int vector = 16 / static_cast<int>(sizeof(C));
  constexpr int words = 16 >> Split;              // of a thread to each block
  constexpr int stores = Layout::count >> Split;  // of a thread to each tile
  constexpr int word_stores = vector / Layout::values;
  constexpr int chunk_elements = 16 / static_cast<int>(sizeof(S));
  static_assert(LogN == CellBits + Shape::value_bits + Split && Split >= 1 && Split <= 4);
  static_assert(threads * 256 <= Shape::bytes && stores == words * word_stores);
  extern __shared__ __align__(1024) unsigned char shared[];

  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread & 31;
  const int warp = thread >> 5;
  const int rank = static_cast<int>(blockIdx.x) & ((1 << Split) - 1);
  const std::int64_t row = blockIdx.x >> Split;
  const std::uint32_t buffer = ptx::shared_address(shared);
  const std::uint32_t slice = buffer + warp * Shape::slice_bytes;
  const S* source =
      x + row * x_stride + rank * Shape::elements + warp * Shape::slice_elements + lane * chunk_elements;

  const ClusterExchange<Split, threads> exchange(buffer, buffer + Shape::bytes, rank);

  ThreadCells<S> cells;
  copy_slice<S, CellBits, false>(slice, source, 0, lane);
  const int first_store = Layout::place(rank * stores);
  const int kept = lane % Layout::count;  // the store whose signs this lane keeps
  const TileSigns<S, LogN, CellBits, Signed> signs(
      row_signs, warp, lane, rank * Shape::elements,
      first_store + Layout::place(kept % stores) + kept / stores * Shape::elements);
  transform_tile<S, LogN, CellBits, Inner>(
      cells, slice, buffer, warp, lane, signs, first_bit, [] { __syncwarp(); }, [] { __syncthreads(); });

  exchange.run(cells.values);

  S* target = y + row * y_stride + Layout::first(warp, lane) + first_store;
#pragma unroll
  for (int tile = 0; tile < 1 << Split; ++tile) {
#pragma unroll
    for (int i = 0; i < stores; ++i) {
      const int store = tile * stores + i;
      store_cells<S, CellBits, Signed>(target, i, cells.values + store * Layout::values, scale,
                                       signs.of_store(store, lane), tile, Shape::elements << Split);
    }
  }
}

}  // namespace papillon::cuda
