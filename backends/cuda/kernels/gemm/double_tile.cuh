// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/slab_stream.cuh"
#include "kernels/gemm/vectors.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_80_matrix.cuh"

namespace papillon::cuda {

// FP64 products on the matrix units, 16 × 8 sums and 8 of k at a time. A warp has RowUnits · 16 × ColumnUnits
// · 8 sums in registers; slabs of A and B come through a ring in shared memory in the order that they have in
// memory. Rows of slabs are 4 elements more than a multiple of 16 long, so that what half a warp reads, 4 of
// k times 4 rows, lies in 16 different pairs of banks either way.

template <int WarpsM, int WarpsN, int RowUnits, int ColumnUnits, int Stages>
struct DoubleTile {
  static constexpr int warps_m = WarpsM;
  static constexpr int row_units = RowUnits;
  static constexpr int column_units = ColumnUnits;
  static constexpr int stages = Stages;
  static constexpr int threads = 32 * WarpsM * WarpsN;
  static constexpr int m = WarpsM * RowUnits * 16;
  static constexpr int n = WarpsN * ColumnUnits * 8;
  static constexpr int depth = 16;
  template <bool KFastest>
  using ACopy = SlabCopy<double, threads, m, depth, KFastest>;
  template <bool KFastest>
  using BCopy = SlabCopy<double, threads, n, depth, KFastest>;
  template <bool AKFastest, bool BKFastest>
  using Stream = SlabStream<double, DoubleTile, ACopy<AKFastest>, BCopy<BKFastest>, AKFastest, BKFastest>;
  template <bool AKFastest, bool BKFastest>
  static constexpr int shared_bytes = stages * Stream<AKFastest, BKFastest>::slab_bytes;
};

/// Elements from one of a slab to the one `index` rows (columns) and `k` further.
template <class Copy, bool KFastest>
constexpr int slab_offset(int index, int k) {
  return KFastest ? index * Copy::row + k : k * Copy::row + index;
}

/// What a lane has of a step of 8 k. Elements of the next step are read while this one's are multiplied:
/// those of A into registers of their own, each of B into its predecessor's, as soon as that is used.
template <class Tile, bool AKFastest, bool BKFastest>
struct DoubleFragments {
  using A = typename Tile::template ACopy<AKFastest>;
  using B = typename Tile::template BCopy<BKFastest>;
  static constexpr int b_begin = A::elements;  ///< of a slab
  double left[2][Tile::row_units][4];
  double right[Tile::column_units][2];

  __device__ __forceinline__ void load_left(int buffer, const double* a) {
#pragma unroll
    for (int i = 0; i < Tile::row_units; ++i)
#pragma unroll
      for (int part = 0; part < 4; ++part)
        left[buffer][i][part] = a[slab_offset<A, AKFastest>(16 * i + part % 2 * 8, part / 2 * 4)];
  }
  __device__ __forceinline__ void load_right(int j, const double* b) {
#pragma unroll
    for (int part = 0; part < 2; ++part) right[j][part] = b[slab_offset<B, BKFastest>(8 * j, 4 * part)];
  }

  /// Multiplies the step in `buffer`, and reads the next one, whose first elements are at `a` and `b`.
  __device__ __forceinline__ void step(double (&sums)[Tile::row_units][Tile::column_units][4], int buffer,
                                       const double* a, const double* b) {
    load_left(1 - buffer, a);
#pragma unroll
    for (int j = 0; j < Tile::column_units; ++j) {
#pragma unroll
      for (int i = 0; i < Tile::row_units; ++i) {
        const double(&x)[4] = left[buffer][i];
        ptx::multiply_add_8(x[0], x[1], x[2], x[3], right[j][0], right[j][1], sums[i][j]);
      }
      load_right(j, b);
    }
  }
};

/// See launch_gemm_double. The blocks share the tiles.
template <class Tile, bool AKFastest, bool BKFastest>
__global__ void __launch_bounds__(Tile::threads)
    gemm_double(const __grid_constant__ GemmProduct product, const __grid_constant__ TileOrder order) {
  using Fragments = DoubleFragments<Tile, AKFastest, BKFastest>;
  using Stream = typename Tile::template Stream<AKFastest, BKFastest>;
  constexpr int slab = Stream::slab_bytes / static_cast<int>(sizeof(double));
  static_assert(Tile::depth == 16, "a slab is two steps");
  extern __shared__ __align__(1024) unsigned char shared[];
  const double* ring = reinterpret_cast<const double*>(shared);
  const std::uint32_t ring_address = ptx::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % Tile::warps_m * Tile::row_units * 16;
  const int warp_column = warp / Tile::warps_m * Tile::column_units * 8;
  const double* a = ring + slab_offset<typename Fragments::A, AKFastest>(warp_row + lane / 4, lane % 4);
  const double* b = ring + Fragments::b_begin +
                    slab_offset<typename Fragments::B, BKFastest>(warp_column + lane / 4, lane % 4);
  constexpr int a_step = slab_offset<typename Fragments::A, AKFastest>(0, 8);
  constexpr int b_step = slab_offset<typename Fragments::B, BKFastest>(0, 8);

  Stream stream(product, order, static_cast<int>(blockIdx.x));
#pragma unroll 1
  for (int slot = 0; slot < Tile::stages; ++slot)
    stream.next(product, order, ring_address + slot * Stream::slab_bytes);
  ptx::async_copy_wait<Tile::stages - 1>();
  __syncthreads();
  Fragments fragments;
  fragments.load_left(0, a);
#pragma unroll
  for (int j = 0; j < Tile::column_units; ++j) fragments.load_right(j, b);

  const int slabs = static_cast<int>((product.k + Tile::depth - 1) / Tile::depth);
  int slot = 0;
#pragma unroll 1
  for (int tile = static_cast<int>(blockIdx.x); tile < order.tiles; tile += static_cast<int>(gridDim.x)) {
    double sums[Tile::row_units][Tile::column_units][4] = {};
#pragma unroll 1
    for (int left = slabs; left > 0; --left) {
      fragments.step(sums, 0, a + slot * slab + a_step, b + slot * slab + b_step);
      ptx::async_copy_wait<Tile::stages - 2>();
      __syncthreads();  // the next slab is there for all, and all have read what they need of this one
      stream.next(product, order, ring_address + slot * Stream::slab_bytes);
      slot = slot + 1 == Tile::stages ? 0 : slot + 1;
      fragments.step(sums, 1, a + slot * slab, b + slot * slab);
    }
    const TilePlace at = place_of(order, tile);
    double* c = static_cast<double*>(product.c) + at.matrix * product.c_batch;
    const std::int64_t first_row = std::int64_t{at.row} * Tile::m + warp_row + lane / 4;
    const std::int64_t first_column = std::int64_t{at.column} * Tile::n + warp_column + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2 * Tile::row_units; ++i) {
      const std::int64_t row = first_row + 8 * i;
      if (row >= product.m) continue;
#pragma unroll
      for (int j = 0; j < Tile::column_units; ++j) {
        const std::int64_t column = first_column + 8 * j;
        if (column >= product.n) continue;
        const double pair[2] = {sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]};
        finish_elements<double, double, 2>(c + row * product.c_stride + column, 1, product.n - column, pair,
                                           product.alpha, product.beta);
      }
    }
  }
}

}  // namespace papillon::cuda
