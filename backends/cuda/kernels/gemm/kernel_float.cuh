// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "kernels/gemm/load_float.cuh"
#include "kernels/gemm/multiply_float.cuh"
#include "kernels/gemm/store_float.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

/// C = alpha · A B + beta · C, tile after tile: the copy engine fills a ring of stages in shared memory,
/// which one thread keeps going; sums are in registers. Products whose tiles do not fill the card run in
/// clusters, whose blocks share a tile's k and then its sums: each adds up its part of them in the order of
/// the blocks.
template <class Tile, bool AKFastest, bool BKFastest>
__global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    gemm_float_kernel(const __grid_constant__ GemmFloatProblem problem) {
  using A = GemmFloatFragment<Tile::rows, Tile::thread_rows, Tile::lane_rows, AKFastest>;
  using B = GemmFloatFragment<Tile::columns, Tile::thread_columns, Tile::lane_columns, BKFastest>;
  constexpr int columns = Tile::thread_columns;
  constexpr int units = Tile::depth / 4;
  constexpr int halves = BKFastest && columns >= 8 ? 2 : 1;  // columns whose words are replaced at a time
  extern __shared__ char memory[];
  const GemmFloatShared<Tile> shared(memory);
  const int rank = problem.split == 1 ? 0 : static_cast<int>(ptx::cluster_rank());
  const GemmFloatSteps steps(problem, rank);
  const std::uint32_t tile_step = gridDim.x / static_cast<unsigned>(problem.split);
  const std::uint32_t first_tile = blockIdx.x / static_cast<unsigned>(problem.split);

  GemmFloatLoader<Tile, AKFastest, BKFastest> loader(problem, first_tile);
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < Tile::stages; ++slot) {
      ptx::barrier_init(shared.full(slot), 1);
      ptx::barrier_init(shared.empty(slot), Tile::warps);
    }
    ptx::barrier_visible();
    for (int slot = 0; slot < Tile::stages - 1; ++slot) loader.load(problem, shared, steps, tile_step);
  }
  __syncthreads();

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_row = warp / Tile::warps_across * Tile::warp_rows;
  const int warp_column = warp % Tile::warps_across * Tile::warp_columns;
  const int lane_row = lane / Tile::lane_columns;
  const int lane_column = lane % Tile::lane_columns;
  A a(warp_row, lane_row);
  B b(warp_column, lane_column);
  GemmFloatRing<Tile::stages> ring;
  ptx::barrier_wait(shared.full(0), 0);
  std::uint32_t a_unit = a.unit(shared.stage(0), 0);
  std::uint32_t b_unit = b.unit(shared.stage(0) + Tile::a_bytes, 0);
  a.load(a_unit, 0);
  b.load(b_unit, 0);

  for (std::uint32_t tile = first_tile; tile < problem.tiles; tile += tile_step) {
    float sums[Tile::thread_rows][columns];
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (float& sum : row) sum = 0.0F;
    }
    const bool last = tile + tile_step >= problem.tiles;
    for (int step = 0; step < steps.count; ++step) {
      const std::uint32_t empty = shared.empty(ring.slot);
#pragma unroll 1
      for (int unit = 0; unit < units; ++unit) {
        if (unit == units / 2 && threadIdx.x == 0) loader.load(problem, shared, steps, tile_step);
        if (unit == units - 1) {
          ring.advance();
          if (!last || step + 1 < steps.count) ptx::barrier_wait(shared.full(ring.slot), ring.parity);
        }
        const int next = (unit + 1) % units;
        const std::uint32_t a_next = a.unit(shared.stage(ring.slot), next);
        const std::uint32_t b_next = b.unit(shared.stage(ring.slot) + Tile::a_bytes, next);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          // What is read a step of k at a time is read a step ahead.
          if constexpr (!AKFastest) a.load(k == 3 ? a_next : a_unit, (k + 1) % 4);
          if constexpr (!BKFastest) b.load(k == 3 ? b_next : b_unit, (k + 1) % 4);
          const auto multiply_row = [&](int i, int begin, int end) {
#pragma unroll
            for (int j = begin; j < end; ++j) {
              const int column = i % 2 == 0 ? j : begin + end - 1 - j;  // the turning column is used twice
              sums[i][column] = __fmaf_rn(a.get(i, k), b.get(column, k), sums[i][column]);
            }
          };
#pragma unroll
          for (int half = 0; half < halves; ++half) {
            constexpr int width = columns / halves;
#pragma unroll
            for (int i = 0; i < Tile::thread_rows; ++i) {
              multiply_row(i, half * width, (half + 1) * width);
              if (AKFastest && k == 3 && half == halves - 1) a.load_word(a_next, 0, i);
            }
            if (BKFastest && k == 3) {
#pragma unroll
              for (int j = half * width; j < (half + 1) * width; ++j) b.load_word(b_next, 0, j);
            }
          }
        }
        a_unit = a_next;
        b_unit = b_next;
      }
      __syncwarp();
      if (lane == 0) ptx::barrier_arrive_cluster(empty);
    }

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
#pragma unroll
      for (int word = 0; word < Tile::words; ++word) {
        const float* const from = &sums[word / (columns / 4)][word % (columns / 4) * 4];
        ptx::store_16(mine + word * Tile::threads * 16,
                      make_uint4(__float_as_uint(from[0]), __float_as_uint(from[1]), __float_as_uint(from[2]),
                                 __float_as_uint(from[3])));
      }
      ptx::cluster_sync();
      const int end = Tile::words * (rank + 1) / problem.split;
#pragma unroll 1
      for (int word = Tile::words * rank / problem.split; word < end; ++word) {
        float values[4] = {0.0F, 0.0F, 0.0F, 0.0F};
#pragma unroll 4
        for (int block = 0; block < problem.split; ++block) {
          const uint4 part =
              ptx::load_cluster_16(ptx::cluster_address(mine + word * Tile::threads * 16, block));
          values[0] += __uint_as_float(part.x);
          values[1] += __uint_as_float(part.y);
          values[2] += __uint_as_float(part.z);
          values[3] += __uint_as_float(part.w);
        }
        const int row = first_row + A::row(word / (columns / 4));
        if (row >= problem.m) continue;
#pragma unroll
        for (int e = 0; e < 4; e += B::neighbours) {
          const int column = first_column + B::row(word % (columns / 4) * 4 + e);
          float group[B::neighbours];
#pragma unroll
          for (int i = 0; i < B::neighbours; ++i) group[i] = values[e + i];
          store_sums(problem, c + row * problem.c_stride + column, column, group);
        }
      }
      ptx::cluster_sync();  // nobody leaves whose sums are still read
    }
  }
}

}  // namespace papillon::cuda
