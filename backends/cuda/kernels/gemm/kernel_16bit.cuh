// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/exchange_16bit.cuh"
#include "kernels/gemm/load_16bit.cuh"
#include "kernels/gemm/multiply_16bit.cuh"
#include "kernels/gemm/store_16bit.cuh"
#include "kernels/ptx/sm_90_grid.cuh"

namespace papillon::cuda {

// The matrix product of 16-bit values on compute capability 9.0. The last warpgroup's first thread loads
// boxes of A and B into a ring of stages by the copy engine, as far ahead as the ring allows, also across
// tiles; the other warpgroups multiply 64 rows of the tile each and store them. Blocks stay and take tile
// after tile.

/// The part of a warpgroup that multiplies.
template <class S, class Out, class Tile>
__device__ __forceinline__ void multiply_tiles(const Gemm16Problem& problem, const Gemm16Shared<Tile>& shared,
                                               const Gemm16Part& part, int warp, std::uint32_t first_tile,
                                               std::uint32_t clusters) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  Gemm16Reader<Tile> reader{shared, warp / 4, lane < problem.multicast, 0, {}};
  reader.empty_barriers = ptx::cluster_address(
      shared.empty(0), static_cast<std::uint32_t>(part.depth * problem.multicast + lane % problem.multicast));
  float sums[Tile::columns / 2];
  for (std::uint32_t tile = first_tile; tile < problem.tiles; tile += clusters) {
    Gemm16Place place;
    multiply_stages<S, Tile>(problem, sums, reader, part.blocks, [&] {
      place = Gemm16Place(problem, tile);
      ptx::settle(place.row_tile);
      ptx::settle(place.column_tile);
      ptx::settle(place.batch);
    });
    const int row = (place.row_tile * problem.multicast + part.row) * Tile::rows;
    const int column = place.column_tile * Tile::columns;
    bool stores = true;
    if constexpr (Tile::splits) {
      if (problem.split > 1) stores = exchange_sums<Tile>(problem, sums, shared, part, warp);
    }
    if (stores) {
      store_tile<Out, Tile>(problem, sums, shared.buffers() + warp * Tile::buffers * Tile::buffer_bytes,
                            row + 16 * warp, column, place.batch);
    }
  }
  if constexpr (Tile::splits) {
    if (problem.split > 1) end_exchange<Tile>(problem, shared, part);
  }
  if (lane == 0) ptx::stores_done();
}

template <class S, class Out, class Tile>
__global__ void __launch_bounds__(Tile::threads, 1)
    gemm_16bit_kernel(const __grid_constant__ Gemm16Problem problem) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  const Gemm16Shared<Tile> shared(memory);
  if (threadIdx.x == 32 * Tile::warps) {
    ptx::prefetch_map(&problem.a);
    ptx::prefetch_map(&problem.b);
    ptx::prefetch_map(&problem.c);
  }
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x / 32), 0);
  const int cluster = problem.multicast * problem.split;
  const Gemm16Part part(problem, ptx::cluster_rank());
  const std::uint32_t first_tile = blockIdx.x / static_cast<unsigned>(cluster);
  const std::uint32_t clusters = gridDim.x / static_cast<unsigned>(cluster);
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Tile::stages; ++slot) {
      ptx::barrier_init(shared.full(slot), 1);
      ptx::barrier_init(shared.empty(slot), problem.multicast * Tile::warps);
    }
    if (Tile::splits && problem.split > 1) init_exchange<Tile>(problem, shared, part);
    ptx::barrier_visible();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::let_next_grid_start();
  constexpr bool large =
      Tile::columns / 2 > 64;  // sums that the registers of all threads alike have no room for
  if (warp >= Tile::warps) {
    if constexpr (large) ptx::give_registers<40>();
    if (threadIdx.x == 32 * Tile::warps) load_tiles<Tile>(problem, shared, part, first_tile, clusters);
  } else {
    if constexpr (large) ptx::take_registers<232>();
    ptx::wait_for_grid_before();
    multiply_tiles<S, Out, Tile>(problem, shared, part, warp, first_tile, clusters);
  }
#endif
}

}  // namespace papillon::cuda
