// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/ring.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"
#include "kernels/ptx/sm_90_grid.cuh"
#include "kernels/ptx/sm_90_tensor_copy.cuh"

namespace papillon::cuda {

/// 64 elements of k of `extent` rows of A (columns of B) from `first` on: one box where k is fastest, else
/// boxes of 64 of them, 8 KiB each. `blocks` other than 0: to these blocks of the cluster.
__device__ __forceinline__ void load_operand(const CUtensorMap& map, bool k_fastest,
                                             std::uint32_t destination, std::uint32_t barrier, int first,
                                             int extent, int k, int batch, std::uint16_t blocks) {
  const int step = k_fastest ? extent : 64;
  for (int i = 0; i < extent; i += step) {
    const int x = k_fastest ? k : first + i;
    const int y = k_fastest ? first : k;
    if (blocks == 0) {
      ptx::load_box(destination + i * 128, &map, barrier, x, y, batch);
    } else {
      ptx::load_box_multicast(destination + i * 128, &map, barrier, x, y, batch, blocks);
    }
  }
}

/// One thread keeps the ring full, tile after tile.
template <class Tile>
__device__ __forceinline__ void load_tiles(const Gemm16Problem& problem, const Gemm16Shared<Tile>& shared,
                                           const Gemm16Part& part, std::uint32_t first_tile,
                                           std::uint32_t clusters) {
  RingPosition<Tile::stages> ring;
  const int share = Tile::columns / problem.multicast;  // columns of B that this block loads for all
  const int bytes = (problem.a_extent + problem.b_extent * problem.multicast) * Tile::depth * 2;
  const auto blocks = static_cast<std::uint16_t>(
      problem.multicast == 1 ? 0 : ((1 << problem.multicast) - 1) << (part.depth * problem.multicast));
  Gemm16Place place(problem, first_tile);
  ptx::settle(place.row_tile);
  ptx::settle(place.column_tile);
  ptx::settle(place.batch);
  ptx::wait_for_grid_before();  // as late as can be
  for (std::uint32_t tile = first_tile; tile < problem.tiles;) {
    const int row = (place.row_tile * problem.multicast + part.row) * Tile::rows;
    const int column = place.column_tile * Tile::columns + part.row * share;
    for (int block = 0; block < part.blocks; ++block) {
      const int k = (part.first_block + block) * Tile::depth;
      const std::uint32_t full = shared.full(ring.slot);
      const std::uint32_t stage = shared.stage(ring.slot);
      ptx::barrier_wait(shared.empty(ring.slot), ring.parity ^ 1);
      ptx::barrier_expect(full, bytes);
      load_operand(problem.a, problem.a_k_fastest, stage, full, row, problem.a_extent, k,
                   place.batch * problem.a_batches, 0);
      load_operand(problem.b, problem.b_k_fastest, stage + Tile::a_bytes + part.row * share * 128, full,
                   column, problem.b_extent, k, place.batch * problem.b_batches, blocks);
      ring.advance();
    }
    tile += clusters;
    place = Gemm16Place(problem, tile);
  }
  // Nobody leaves whom another block has still to tell of a stage.
  for (int i = 0; i < Tile::stages; ++i) {
    ptx::barrier_wait(shared.empty(ring.slot), ring.parity ^ 1);
    ring.advance();
  }
}

}  // namespace papillon::cuda
