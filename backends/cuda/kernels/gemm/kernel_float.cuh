// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "kernels/gemm/load_float.cuh"
#include "kernels/gemm/multiply_float.cuh"
#include "kernels/gemm/store_float.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"
#include "kernels/ptx/sm_90_grid.cuh"

namespace papillon::cuda {

/// C = alpha · A B + beta · C, tile after tile: the copy engine fills a ring of stages in shared memory,
/// which one thread keeps going; sums are in registers. Products whose tiles do not fill the card run in
/// clusters, whose blocks share a tile's k and then its sums: each adds up its part of them in the order of
/// the blocks.
template <class Tile, bool AKFastest, bool BKFastest>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    gemm_float_kernel(const __grid_constant__ GemmFloatProblem problem) {
  using A =
      GemmFloatFragment<Tile::rows, Tile::thread_rows, Tile::lane_rows, AKFastest, AKFastest && !BKFastest>;
  using B = GemmFloatFragment<Tile::columns, Tile::thread_columns, Tile::lane_columns, BKFastest, false>;
  constexpr int columns = Tile::thread_columns;
  constexpr int units = Tile::depth / 4;
  constexpr int round = AKFastest && BKFastest ? 1 : 2;  // units in the loop's body: registers allow no more
  extern __shared__ char memory[];
  const GemmFloatShared<Tile> shared(memory);
  const int rank = problem.split == 1 ? 0 : static_cast<int>(ptx::cluster_rank());
  const GemmFloatSteps steps(problem, rank);
  const std::uint32_t tile_step = gridDim.x / static_cast<unsigned>(problem.split);
  const std::uint32_t first_tile = blockIdx.x / static_cast<unsigned>(problem.split);

  GemmFloatLoader<Tile, AKFastest, BKFastest> loader(problem, first_tile);
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&problem.a);
    ptx::prefetch_map(&problem.b);
    for (int slot = 0; slot < Tile::stages; ++slot) {
      ptx::barrier_init(shared.full(slot), 1);
      ptx::barrier_init(shared.empty(slot), Tile::warps);
    }
    ptx::barrier_visible();
    ptx::wait_for_grid_before();
    for (int slot = 0; slot < Tile::stages - 2; ++slot) loader.load(problem, shared, steps, tile_step);
  }
  __syncthreads();
  ptx::wait_for_grid_before();

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_row = warp / Tile::warps_across * Tile::warp_rows;
  const int warp_column = warp % Tile::warps_across * Tile::warp_columns;
  const int lane_row = lane / Tile::lane_columns;
  const int lane_column = lane % Tile::lane_columns;
  A a(warp_row, lane_row);
  B b(warp_column, lane_column);
  GemmFloatRing<Tile::stages> ring;

  for (std::uint32_t tile = first_tile; tile < problem.tiles; tile += tile_step) {
    float sums[Tile::thread_rows][columns];
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (float& sum : row) sum = 0.0F;
    }
    ptx::barrier_wait(shared.full(ring.slot), ring.parity);
    std::uint32_t a_unit = a.unit(shared.stage(ring.slot), 0);
    std::uint32_t b_unit = b.unit(shared.stage(ring.slot) + Tile::a_bytes, 0);
    a.load(a_unit, 0, 0);
    b.load(b_unit, 0, 0);
    for (int step = 0; step < steps.count; ++step) {
      const std::uint32_t empty = shared.empty(ring.slot);
      if (threadIdx.x == 0) loader.load(problem, shared, steps, tile_step);
#pragma unroll 1
      for (int unit = 0; unit < units; unit += round) {
        const std::uint32_t a_middle = round == 2 ? A::after(a_unit) : a_unit;
        const std::uint32_t b_middle = round == 2 ? B::after(b_unit) : b_unit;
        if constexpr (round == 2) multiply_unit<Tile, 0>(a, b, a_unit, b_unit, a_middle, b_middle, sums);
        if (unit == units - round) {
          ring.advance();
          // After the tile's last stage what is read ahead is not used.
          if (step + 1 < steps.count) ptx::barrier_wait(shared.full(ring.slot), ring.parity);
        }
        a_unit = a.unit(shared.stage(ring.slot), (unit + round) % units);
        b_unit = b.unit(shared.stage(ring.slot) + Tile::a_bytes, (unit + round) % units);
        multiply_unit<Tile, round - 1>(a, b, a_middle, b_middle, a_unit, b_unit, sums);
      }
      __syncwarp();
      if (lane == 0) ptx::barrier_arrive_cluster(empty);
    }

    if (tile + tile_step >= problem.tiles) ptx::let_next_grid_start();

    const GemmFloatPlace place(problem, tile);
    float* const c = problem.c + place.batch * problem.c_batch;
    const int first_row = place.row * Tile::rows + warp_row + lane_row * A::neighbours;
    const int first_column = place.column * Tile::columns + warp_column + lane_column * B::neighbours;
    if (problem.split == 1) {
#pragma unroll
      for (int i = 0; i < Tile::thread_rows; ++i) {
        const int row = first_row + A::row(i);
        if (row >= problem.m) continue;
        float* const c_row = c + row * problem.c_stride;
#pragma unroll
        for (int j = 0; j < columns; j += B::neighbours) {
          float values[B::neighbours];
#pragma unroll
          for (int e = 0; e < B::neighbours; ++e) values[e] = sums[i][j + e];
          const int column = first_column + B::row(j);
          store_sums(problem, c_row + column, column, values);
        }
      }
    } else {
      const std::uint32_t mine = shared.base + threadIdx.x * 16;
      __syncthreads();  // the sums lie where the stages were
#pragma unroll
      for (int word = 0; word < Tile::words; ++word) {
        const float* const from = &sums[word / (columns / 4)][word % (columns / 4) * 4];
        ptx::store_16(mine + word * Tile::threads * 16,
                      make_uint4(__float_as_uint(from[0]), __float_as_uint(from[1]), __float_as_uint(from[2]),
                                 __float_as_uint(from[3])));
      }
      ptx::cluster_sync();
      constexpr int at_once = 4;  // words, so that many loads are under way
      const int end = Tile::words * (rank + 1) / problem.split;
#pragma unroll 1
      for (int first = Tile::words * rank / problem.split; first < end; first += at_once) {
        float values[at_once][4] = {};
#pragma unroll 4
        for (int block = 0; block < problem.split; ++block) {
          const std::uint32_t there = ptx::cluster_address(mine + first * Tile::threads * 16, block);
#pragma unroll
          for (int i = 0; i < at_once; ++i) {
            if (Tile::words < 8 * at_once && first + i >= end) break;
            const uint4 part = ptx::load_cluster_16(there + i * Tile::threads * 16);
            values[i][0] += __uint_as_float(part.x);
            values[i][1] += __uint_as_float(part.y);
            values[i][2] += __uint_as_float(part.z);
            values[i][3] += __uint_as_float(part.w);
          }
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int word = first + i;
          const int row = first_row + A::row(word / (columns / 4));
          if (word >= end || row >= problem.m) continue;
#pragma unroll
          for (int e = 0; e < 4; e += B::neighbours) {
            const int column = first_column + B::row(word % (columns / 4) * 4 + e);
            float group[B::neighbours];
#pragma unroll
            for (int x = 0; x < B::neighbours; ++x) group[x] = values[i][e + x];
            store_sums(problem, c + row * problem.c_stride + column, column, group);
          }
        }
      }
      ptx::cluster_sync();  // nobody leaves whose sums are still read
    }
  }
}

}  // namespace papillon::cuda
