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
  using A = GemmFloatFragment<Tile::rows, Tile::thread_rows, Tile::lane_rows, AKFastest>;
  using B = GemmFloatFragment<Tile::columns, Tile::thread_columns, Tile::lane_columns, BKFastest>;
  constexpr int columns = Tile::thread_columns;
  constexpr bool transposes = AKFastest || BKFastest;
  constexpr bool by_rows = columns > Tile::thread_rows && (AKFastest || !BKFastest);  // faster by 1 to 3 %
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
      ptx::barrier_init(shared.transposed(slot), Tile::warps);
    }
    ptx::barrier_visible();
    ptx::wait_for_grid_before();
  }
  for (int slot = 0; slot < Tile::stages - 2; ++slot) {
    if (threadIdx.x == 0) loader.load(problem, shared, steps);
    loader.advance(problem, steps, tile_step);
  }
  __syncthreads();
  ptx::wait_for_grid_before();

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int slice = warp / Tile::slice_warps;
  const int warp_row = warp % Tile::slice_warps / Tile::warps_across * Tile::warp_rows;
  const int warp_column = warp % Tile::warps_across * Tile::warp_columns;
  const int lane_row = lane / Tile::lane_columns;
  const int lane_column = lane % Tile::lane_columns;
  constexpr int depth = Tile::depth / Tile::slices;  // of k in a stage for this thread
  A a(warp_row, lane_row, slice * depth);
  B b(warp_column, lane_column, slice * depth);
  RingPosition<Tile::stages> ring;
  const auto transpose = [&](const RingPosition<Tile::stages>& at) {
    ptx::barrier_wait(shared.full(at.slot), at.parity);
    if constexpr (AKFastest) transpose_stage<Tile::rows, Tile::warps>(shared.stage(at.slot), warp, lane);
    if constexpr (BKFastest) {
      transpose_stage<Tile::columns, Tile::warps>(shared.stage(at.slot) + Tile::a_bytes,
                                                  Tile::warps - 1 - warp, lane);
    }
    ptx::show_to_copies();  // the copy engine writes there next
    __syncwarp();
    if (lane == 0) ptx::barrier_arrive(shared.transposed(at.slot));
  };
  const auto wait_for_stage = [&] {
    ptx::barrier_wait(transposes ? shared.transposed(ring.slot) : shared.full(ring.slot), ring.parity);
  };
  if constexpr (transposes) transpose(ring);

  for (std::uint32_t tile = first_tile; tile < problem.tiles; tile += tile_step) {
    float sums[Tile::thread_rows][columns];
#pragma unroll
    for (auto& row : sums) {
#pragma unroll
      for (float& sum : row) sum = 0.0F;
    }
    const bool last = tile + tile_step >= problem.tiles;
    wait_for_stage();
    std::uint32_t a_address = a.address(shared.stage(ring.slot));
    std::uint32_t b_address = b.address(shared.stage(ring.slot) + Tile::a_bytes);
    a.load(a_address, 0);
    b.load(b_address, 0);
    for (int step = 0; step < steps.count; ++step) {
      const std::uint32_t empty = shared.empty(ring.slot);
      if (threadIdx.x == step % Tile::warps * 32) loader.load(problem, shared, steps);
      loader.advance(problem, steps, tile_step);
#pragma unroll 1
      for (int k = 0; k < depth; k += 8) {
        if (transposes && k == depth / 16 * 8 && (!last || step + 1 < steps.count)) {
          RingPosition<Tile::stages> next = ring;
          next.advance();
          transpose(next);
        }
        std::uint32_t a_next = a_address + 8 * A::step;
        std::uint32_t b_next = b_address + 8 * B::step;
        if (k == depth - 8) {
          // After the tile's last stage what is read ahead is not used: it comes from this stage again, since
          // others may be writing to the next one.
          const bool more = step + 1 < steps.count;
          const int here = ring.slot;
          ring.advance();
          if (more) wait_for_stage();
          const std::uint32_t from = shared.stage(more ? ring.slot : here);
          a_next = a.address(from);
          b_next = b.address(from + Tile::a_bytes);
        }
        multiply_steps<Tile, by_rows>(a, b, a_address, b_address, a_next, b_next, sums);
        a_address = a_next;
        b_address = b_next;
      }
      __syncwarp();
      if (lane == 0) ptx::barrier_arrive(empty);
    }
    if (last) ptx::let_next_grid_start();

    const GemmFloatPlace place(problem, tile);
    float* const c = problem.c + place.batch * problem.c_batch;
    const int first_row = place.row * Tile::rows + warp_row + lane_row * 4;
    const int first_column = place.column * Tile::columns + warp_column + lane_column * 4;
    if (Tile::slices == 1 && problem.split == 1) {
#pragma unroll
      for (int i = 0; i < Tile::thread_rows; ++i) {
        const int row = first_row + A::row(i);
        if (row >= problem.m) continue;
        float* const c_row = c + row * problem.c_stride;
#pragma unroll
        for (int j = 0; j < columns; j += 4) {
          const int column = first_column + B::row(j);
          store_sums(problem, c_row + column, column,
                     {sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
        }
      }
    } else {
      const std::uint32_t first_sums = shared.base + threadIdx.x % Tile::slice_threads * 16;
      const std::uint32_t mine = first_sums + slice * Tile::sums_bytes;
      __syncthreads();  // the sums lie where the stages were
      // A word has four sums of a column or, by rows, of a row; the two of each pair have changed places, and
      // so the compiler gives each sum a register of the bank that the operand read with it leaves free.
#pragma unroll
      for (int word = 0; word < Tile::words; ++word) {
        const int i = word / columns * 4;
        const int j = by_rows ? word % columns / 4 * 4 : word % columns;
        const auto sum = [&](int e) {
          return __float_as_uint(by_rows ? sums[i + word % 4][j + e] : sums[i + e][j]);
        };
        ptx::store_16(mine + word * Tile::slice_threads * 16, make_uint4(sum(1), sum(0), sum(3), sum(2)));
      }
      ptx::cluster_barrier();
      // Four rows by four columns at a time.
      constexpr int squares = Tile::words / 4;
      const int parts = problem.split * Tile::slices;
      const int part = rank * Tile::slices + slice;
      const int end = squares * (part + 1) / parts;
#pragma unroll 1
      for (int square = squares * part / parts; square < end; ++square) {
        float values[4][4] = {};
#pragma unroll 4
        for (int from = 0; from < parts; ++from) {
          const std::uint32_t there = ptx::cluster_address(
              first_sums + from % Tile::slices * Tile::sums_bytes + square * 4 * Tile::slice_threads * 16,
              from / Tile::slices);
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            const uint4 word = ptx::cluster_load_16(there + j * Tile::slice_threads * 16);
            const auto add = [&](int e, std::uint32_t bits) {
              (by_rows ? values[j][e] : values[e][j]) += __uint_as_float(bits);
            };
            add(1, word.x);
            add(0, word.y);
            add(3, word.z);
            add(2, word.w);
          }
        }
        const int column = first_column + B::row(square % (columns / 4) * 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = first_row + A::row(square / (columns / 4) * 4 + i);
          if (row < problem.m) store_sums(problem, c + row * problem.c_stride + column, column, values[i]);
        }
      }
      ptx::cluster_barrier();  // nobody leaves whose sums are still read
    }
  }
}

}  // namespace papillon::cuda
