// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/slab_stream.cuh"
#include "kernels/gemm/vectors.cuh"
#include "kernels/ptx/sm_80_matrix.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

// FP64 products on the matrix units, 16 × 8 sums and 8 of k at a time. A warp has RowUnits · 16 × ColumnPairs
// · 16 sums in registers; slabs of A and B come through a ring in shared memory in the order that they have
// in memory.
//
// Which row, column or k of a unit is which in the slab is free as long as all agree. Lane (g, t) = (lane /
// 4, lane % 4) takes k 2 t and 2 t + 1, rows 2 g and 2 g + 1 of sixteen, and columns 2 g and 2 g + 1 of
// sixteen, one of each of two units. So every read is of 16 bytes, two of k or two rows (columns), whatever
// the operand's order, and a lane's sums of two units are four neighbouring columns.

template <int WarpsM, int WarpsN, int RowUnits, int ColumnPairs, int Stages>
struct DoubleTile {
  static constexpr int warps_m = WarpsM;
  static constexpr int row_units = RowUnits;
  static constexpr int column_pairs = ColumnPairs;
  static constexpr int stages = Stages;
  static constexpr int threads = 32 * WarpsM * WarpsN;
  static constexpr int m = WarpsM * RowUnits * 16;
  static constexpr int n = WarpsN * ColumnPairs * 16;
  static constexpr int depth = 16;
  static constexpr int lead = Stages - 2;  ///< slabs under way
};

/// A lane's elements of two neighbouring rows (columns) and two neighbouring k.
struct DoubleQuad {
  double at[2][2];  ///< [row or column][k]

  template <class Copy, bool KFastest>
  __device__ __forceinline__ void load(std::uint32_t address) {
    const uint4 x = ptx::load_16(address);
    const uint4 y = ptx::load_16(address + Copy::row * static_cast<int>(sizeof(double)));
    const auto first = __builtin_bit_cast(Elements<double, 2>, x);
    const auto second = __builtin_bit_cast(Elements<double, 2>, y);
    at[0][0] = first.values[0];
    at[KFastest ? 0 : 1][KFastest ? 1 : 0] = first.values[1];
    at[KFastest ? 1 : 0][KFastest ? 0 : 1] = second.values[0];
    at[1][1] = second.values[1];
  }
};

/// Bytes from an element of a slab to the one `index` rows (columns) and `k` further.
template <class Copy, bool KFastest>
__device__ __forceinline__ constexpr int slab_offset(int index, int k) {
  return (KFastest ? index * Copy::row + k : k * Copy::row + index) * static_cast<int>(sizeof(double));
}

/// What a warp has of a slab, and the sums.
template <class Tile, class Stream, bool AKFastest, bool BKFastest>
struct DoubleWarp {
  static constexpr int rows = Tile::row_units;
  static constexpr int pairs = Tile::column_pairs;
  using A = typename Stream::A;
  using B = typename Stream::B;

  DoubleQuad a[2][rows];  ///< of one step of 8 k and of the next
  DoubleQuad b[2][pairs];
  double sums[pairs][2 * rows][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < pairs; ++i)
#pragma unroll
      for (int j = 0; j < 2 * rows; ++j)
#pragma unroll
        for (int v = 0; v < 4; ++v) sums[i][j][v] = 0;
  }
  __device__ __forceinline__ void load_a(int buffer, std::uint32_t address, int step) {
#pragma unroll
    for (int i = 0; i < rows; ++i)
      a[buffer][i].template load<A, AKFastest>(address + slab_offset<A, AKFastest>(16 * i, 8 * step));
  }
  __device__ __forceinline__ void load_b(int buffer, int pair, std::uint32_t address, int step) {
    b[buffer][pair].template load<B, BKFastest>(address + slab_offset<B, BKFastest>(16 * pair, 8 * step));
  }
  /// C transposed: the units' rows are columns of C, so that lanes store whole lines of C's rows.
  __device__ __forceinline__ void multiply(int buffer, int pair) {
    const DoubleQuad& y = b[buffer][pair];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int part = 0; part < 2; ++part)
        ptx::multiply_add_8(y.at[0][0], y.at[1][0], y.at[0][1], y.at[1][1], a[buffer][i].at[part][0],
                            a[buffer][i].at[part][1], sums[pair][2 * i + part]);
    }
  }
};

/// Row and column, in the tile, of a lane's first sums: of each 16 × 16 it has rows 4 t to 4 t + 3 of columns
/// 2 g and 2 g + 1. Made anew where it is needed, since the loop over slabs has no registers to spare.
template <class Tile>
struct SumPlace {
  int row;
  int column;
  __device__ __forceinline__ SumPlace() {
    const int thread = ptx::thread_again();
    const int lane = thread % 32;
    const int warp = thread / 32;
    row = warp % Tile::warps_m * Tile::row_units * 16 + lane % 4 * 4;
    column = warp / Tile::warps_m * Tile::column_pairs * 16 + lane / 4 * 2;
  }
  static constexpr int rows = 4 * Tile::row_units;
  /// How much further a lane's row i is than its first.
  static __device__ __forceinline__ constexpr int row_step(int i) { return i / 4 * 16 + i % 4; }
};

/// Two neighbouring columns of a lane's row.
template <class Warp>
__device__ __forceinline__ void two_sums(const Warp& warp, int row, int pair, double (&two)[2]) {
  const double(&unit)[4] = warp.sums[pair][row / 4 * 2 + row % 2];
  two[0] = unit[row % 4 / 2];
  two[1] = unit[2 + row % 4 / 2];
}

/// C of one tile: writes two neighbouring sums, if they are inside.
template <class Tile>
struct TileOfC {
  double* c;
  int rows_left;
  int columns_left;

  __device__ __forceinline__ TileOfC(const GemmProduct& product, const TilePlace& at) {
    const std::int64_t row = std::int64_t{at.row} * Tile::m;
    const std::int64_t column = std::int64_t{at.column} * Tile::n;
    c = static_cast<double*>(product.c) + at.matrix * product.c_batch + row * product.c_stride + column;
    rows_left = static_cast<int>(product.m - row < Tile::m ? product.m - row : Tile::m);
    columns_left = static_cast<int>(product.n - column < Tile::n ? product.n - column : Tile::n);
  }
  __device__ __forceinline__ void write(const GemmProduct& product, int row, int column,
                                        const double (&two)[2]) const {
    if (row >= rows_left || column >= columns_left) return;
    finish_elements<double, double, 2>(c + row * product.c_stride + column, 1, columns_left - column, two,
                                       product.alpha, product.beta);
  }
};

/// Writes a warp's sums.
template <class Tile, class Warp>
__device__ __forceinline__ void write_tile(const Warp& warp, const GemmProduct& product,
                                           const TilePlace& at) {
  const TileOfC<Tile> target(product, at);
  const SumPlace<Tile> place;
  double* line = target.c + place.row * product.c_stride + place.column;
  const int rows_left = target.rows_left - place.row;
  const int columns_left = target.columns_left - place.column;
#pragma unroll
  for (int row = 0; row < SumPlace<Tile>::rows; ++row) {
    if (SumPlace<Tile>::row_step(row) < rows_left) {
#pragma unroll
      for (int pair = 0; pair < Tile::column_pairs; ++pair) {
        double two[2];
        two_sums(warp, row, pair, two);
        if (16 * pair < columns_left)
          finish_elements<double, double, 2>(line + 16 * pair, 1, columns_left - 16 * pair, two,
                                             product.alpha, product.beta);
      }
    }
    line += (SumPlace<Tile>::row_step(row + 1) - SumPlace<Tile>::row_step(row)) * product.c_stride;
    ptx::step_by_step(line);
  }
}

/// Adds the sums of a cluster's blocks in the order of their ranks, each block those of a part of the rows,
/// and writes them. The ring must be free; the sums pass through it.
template <class Tile, int Split, class Warp>
__device__ __forceinline__ void add_up_tile(const Warp& warp, const GemmProduct& product, const TilePlace& at,
                                            std::uint32_t ring, int rank) {
  __syncthreads();
  constexpr int row_bytes = (Tile::n + 2) * static_cast<int>(sizeof(double));
  const SumPlace<Tile> place;
#pragma unroll
  for (int row = 0; row < SumPlace<Tile>::rows; ++row) {
#pragma unroll
    for (int pair = 0; pair < Tile::column_pairs; ++pair) {
      double two[2];
      two_sums(warp, row, pair, two);
      ptx::store_16(ring + (place.row + SumPlace<Tile>::row_step(row)) * row_bytes +
                        (place.column + 16 * pair) * static_cast<int>(sizeof(double)),
                    __builtin_bit_cast(uint4, Elements<double, 2>{{two[0], two[1]}}));
    }
  }
  ptx::cluster_barrier();
  const TileOfC<Tile> target(product, at);
  constexpr int words = Tile::m * Tile::n / 2 / Split;
#pragma unroll 4
  for (int word = ptx::thread_again(); word < words; word += Tile::threads) {
    const int index = rank * words + word;
    const int row = index / (Tile::n / 2);
    const int column = index % (Tile::n / 2) * 2;
    const std::uint32_t address = ring + row * row_bytes + column * static_cast<int>(sizeof(double));
    double total[2] = {};
#pragma unroll
    for (int other = 0; other < Split; ++other) {
      const auto part = __builtin_bit_cast(
          Elements<double, 2>,
          ptx::cluster_load_16(ptx::cluster_address(address, static_cast<std::uint32_t>(other))));
      total[0] += part.values[0];
      total[1] += part.values[1];
    }
    target.write(product, row, column, total);
  }
  ptx::cluster_barrier();  // nobody leaves while others read
}

/// See launch_gemm_double. The blocks share the tiles; with Split a cluster of `parts` blocks has one tile,
/// each block k_part of k.
template <class Tile, bool AKFastest, bool BKFastest, int Split>
__global__ void __launch_bounds__(Tile::threads, 1)
    gemm_double(const __grid_constant__ GemmProduct product, const __grid_constant__ TileOrder order,
                int k_part) {
  using Stream = SlabStream<double, Tile, AKFastest, BKFastest>;
  using Warp = DoubleWarp<Tile, Stream, AKFastest, BKFastest>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t ring = ptx::shared_address(shared);
  const int first_tile = static_cast<int>(blockIdx.x) / Split;
  const int tile_step = static_cast<int>(gridDim.x) / Split;
  const int rank = static_cast<int>(blockIdx.x) % Split;
  const int all_k = static_cast<int>(product.k);
  const int first_k = rank * k_part;
  const int end_k = Split > 1 && first_k + k_part < all_k ? first_k + k_part : all_k;

  Stream::init(ring);
  Stream stream(product, order, first_tile, first_k, end_k);
#pragma unroll 1
  for (int slab = 0; slab < Tile::lead; ++slab) stream.next(product, order, ring, tile_step, first_k, end_k);

  std::uint32_t a;  // addresses of the lane's first elements in a slab
  std::uint32_t b;
  RingPlace<Tile::stages> place;
  const auto enter = [&] {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int row = warp % Tile::warps_m * Tile::row_units * 16 + lane / 4 * 2;
    const int column = warp / Tile::warps_m * Tile::column_pairs * 16 + lane / 4 * 2;
    const int k = lane % 4 * 2;
    a = ring + place.slot * Stream::slab_bytes + slab_offset<typename Stream::A, AKFastest>(row, k);
    b = ring + place.slot * Stream::slab_bytes + Stream::b_offset +
        slab_offset<typename Stream::B, BKFastest>(column, k);
  };
  constexpr int pairs = Tile::column_pairs;
  Warp sums;
  ptx::barrier_wait(Stream::full(ring, 0), 0);
  enter();
  sums.load_a(0, a, 0);
#pragma unroll
  for (int pair = 0; pair < pairs; ++pair) sums.load_b(0, pair, b, 0);

#pragma unroll 1
  for (int tile = first_tile; tile < order.tiles; tile += tile_step) {
    sums.clear();
#pragma unroll 1
    for (int k = first_k; k < end_k; k += Tile::depth) {
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        if (step == 1) {
          // All of the slab is read: on to the next one, if there is one.
          __syncwarp();
          if (threadIdx.x % 32 == 0) ptx::barrier_arrive(Stream::empty(ring, place.slot));
          if (k + Tile::depth < end_k || tile + tile_step < order.tiles) {
            place.advance();
            ptx::barrier_wait(Stream::full(ring, place.slot), place.parity);
            enter();
          }
        }
#pragma unroll
        for (int pair = 0; pair < pairs; ++pair) {
          if (pair == 0) sums.load_a(1 - step, a, 1 - step);
          sums.load_b(1 - step, pair, b, 1 - step);
          sums.multiply(step, pair);
          if (step == 0 && pair == pairs / 2) stream.next(product, order, ring, tile_step, first_k, end_k);
        }
      }
    }
    const TilePlace at = place_of(order, tile);
    if constexpr (Split > 1) {
      add_up_tile<Tile, Split>(sums, product, at, ring, rank);
    } else {
      write_tile<Tile>(sums, product, at);
    }
  }
}

}  // namespace papillon::cuda
