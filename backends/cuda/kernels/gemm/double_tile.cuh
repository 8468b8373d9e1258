// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/slab_stream.cuh"
#include "kernels/gemm/vectors.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_80_matrix.cuh"
#include "kernels/ptx/sm_80_shared.cuh"

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

__device__ __forceinline__ double load_double(std::uint32_t address) {
  return __builtin_bit_cast(double, ptx::load_8(address));
}

/// Bytes from an element of a slab to the one `index` rows (columns) and `k` further.
template <class Copy, bool KFastest>
__device__ __forceinline__ constexpr int slab_offset(int index, int k) {
  return (KFastest ? index * Copy::row + k : k * Copy::row + index) * static_cast<int>(sizeof(double));
}

/// Adds the products of one slab to a warp's sums; `a` and `b` are the addresses of the lane's first
/// elements.
template <class Tile, bool AKFastest, bool BKFastest>
__device__ __forceinline__ void add_slab(double (&sums)[Tile::row_units][Tile::column_units][4],
                                         std::uint32_t a, std::uint32_t b) {
  using A = typename Tile::template ACopy<AKFastest>;
  using B = typename Tile::template BCopy<BKFastest>;
#pragma unroll
  for (int k = 0; k < Tile::depth; k += 8) {
    double left[Tile::row_units][4];
#pragma unroll
    for (int i = 0; i < Tile::row_units; ++i) {
#pragma unroll
      for (int part = 0; part < 4; ++part)
        left[i][part] = load_double(a + slab_offset<A, AKFastest>(16 * i + part % 2 * 8, k + part / 2 * 4));
    }
    double right[Tile::column_units][2];
#pragma unroll
    for (int j = 0; j < Tile::column_units; ++j) {
#pragma unroll
      for (int part = 0; part < 2; ++part)
        right[j][part] = load_double(b + slab_offset<B, BKFastest>(8 * j, k + 4 * part));
    }
#pragma unroll
    for (int j = 0; j < Tile::column_units; ++j) {
#pragma unroll
      for (int i = 0; i < Tile::row_units; ++i)
        ptx::multiply_add_8(left[i][0], left[i][1], left[i][2], left[i][3], right[j][0], right[j][1],
                            sums[i][j]);
    }
  }
}

/// See launch_gemm_double. The blocks share the tiles.
template <class Tile, bool AKFastest, bool BKFastest>
__global__ void __launch_bounds__(Tile::threads)
    gemm_double(const __grid_constant__ GemmProduct product, const __grid_constant__ TileOrder order) {
  using A = typename Tile::template ACopy<AKFastest>;
  using B = typename Tile::template BCopy<BKFastest>;
  using Stream = typename Tile::template Stream<AKFastest, BKFastest>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t ring = ptx::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % Tile::warps_m * Tile::row_units * 16;
  const int warp_column = warp / Tile::warps_m * Tile::column_units * 8;
  const std::uint32_t a = ring + slab_offset<A, AKFastest>(warp_row + lane / 4, lane % 4);
  const std::uint32_t b = ring + A::elements * static_cast<int>(sizeof(double)) +
                          slab_offset<B, BKFastest>(warp_column + lane / 4, lane % 4);

  Stream stream(product, order, blockIdx.x);
#pragma unroll 1
  for (int slot = 0; slot < Tile::stages - 1; ++slot)
    stream.next(product, order, ring + slot * Stream::slab_bytes);
  int slot = 0;
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x; tile < order.tiles; tile += gridDim.x) {
    double sums[Tile::row_units][Tile::column_units][4] = {};
#pragma unroll 1
    for (std::int64_t k = 0; k < product.k; k += Tile::depth) {
      ptx::async_copy_wait<Tile::stages - 2>();
      __syncthreads();  // the slab is there for all, and all have left the one that the next copy replaces
      const int free_slot = slot == 0 ? Tile::stages - 1 : slot - 1;
      stream.next(product, order, ring + free_slot * Stream::slab_bytes);
      add_slab<Tile, AKFastest, BKFastest>(sums, a + slot * Stream::slab_bytes,
                                           b + slot * Stream::slab_bytes);
      slot = slot + 1 == Tile::stages ? 0 : slot + 1;
    }
    const TilePlace at = place_of(order, tile);
    double* c = static_cast<double*>(product.c) + at.matrix * product.c_batch;
    const std::int64_t first_row = at.row * Tile::m + warp_row + lane / 4;
    const std::int64_t first_column = at.column * Tile::n + warp_column + lane % 4 * 2;
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
