// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/tile_order.cuh"
#include "kernels/gemm/vectors.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

// FP32 products on the FFMA units. A block of threads has a tile of C in registers; slabs of A and B come
// through a ring in shared memory, stored as [k][index], so that a thread reads four neighbouring rows or
// columns at a time. Eight lanes of a warp lie along m and four along n: a step of k costs a thread RowWords
// + ColumnWords reads of 16 bytes for 16 RowWords · ColumnWords fused multiply-adds.

/// The shape of a tile. RowWords and ColumnWords: words of four rows (columns) of a thread.
template <int WarpsM, int WarpsN, int RowWords, int ColumnWords, int Stages>
struct FloatTile {
  static constexpr int warps_m = WarpsM;
  static constexpr int warps_n = WarpsN;
  static constexpr int row_words = RowWords;
  static constexpr int column_words = ColumnWords;
  static constexpr int stages = Stages;
  static constexpr int threads = 32 * WarpsM * WarpsN;
  static constexpr int m = 32 * RowWords * WarpsM;
  static constexpr int n = 16 * ColumnWords * WarpsN;
  static constexpr int depth = 16;  ///< k of a slab
  // Four floats more a row of a slab: without them the scattered writes of operands stored along k would meet
  // in one bank.
  static constexpr int a_row = m + 4;
  static constexpr int b_row = n + 4;
  static constexpr int a_slab = depth * a_row;
  static constexpr int slab = depth * (a_row + b_row);
  static constexpr int pipeline_floats = Stages * slab;
  static constexpr int shared_bytes = (pipeline_floats > m * n ? pipeline_floats : m * n) * 4;
};

/// Copies `Extent` rows (columns) × depth of k of an operand to a slab; what lies outside becomes 0.
template <class Tile, int Extent, bool KFastest>
struct SlabCopy {
  static constexpr int row = Extent + 4;

  /// An operand whose first element of the tile is `source`: `left` rows of it are there.
  __device__ __forceinline__ void start(const float* source, std::int64_t stride, std::int64_t left) {
    const int thread = static_cast<int>(threadIdx.x);
    stride_ = stride;
    if constexpr (KFastest) {
      const int lane = thread % 32;
      first_ = thread / 32 * 4 + lane / 8;
      left_ = static_cast<int>(left < Extent ? left : Extent);
      source_ = source + first_ * stride + lane % 8;
      place_ = (lane % 8) * row + first_;
      k_ = lane % 8;
    } else {
      constexpr int words = Extent / 4;
      first_ = thread % words * 4;
      k_ = thread / words;
      const std::int64_t bytes = (left - first_) * 4;
      left_ = static_cast<int>(bytes < 0 ? 0 : bytes > 16 ? 16 : bytes);
      source_ = source + k_ * stride + first_;
      place_ = k_ * row + first_;
    }
  }

  /// The next slab, of which `k_left` of k are there.
  __device__ __forceinline__ void copy(std::uint32_t slab, std::int64_t k_left) {
    const int k_here = static_cast<int>(k_left < Tile::depth ? k_left : Tile::depth);
    if constexpr (KFastest) {
      constexpr int rows = Tile::threads / 32 * 4;  // of all warps at a time
#pragma unroll
      for (int step = 0; step < Extent / rows; ++step) {
#pragma unroll
        for (int half = 0; half < Tile::depth / 8; ++half) {
          const bool inside = first_ + step * rows < left_ && k_ + 8 * half < k_here;
          ptx::async_copy_4_filled(slab + (place_ + step * rows + 8 * half * row) * 4,
                                   source_ + step * rows * stride_ + 8 * half, inside ? 4 : 0);
        }
      }
      source_ += Tile::depth;
    } else {
      constexpr int words = Extent / 4;
      constexpr int ks = Tile::threads / words;  // of all threads at a time
#pragma unroll
      for (int step = 0; step < Tile::depth / ks; ++step) {
        ptx::async_copy_16_filled(slab + (place_ + step * ks * row) * 4, source_ + step * ks * stride_,
                                  k_ + step * ks < k_here ? left_ : 0);
      }
      source_ += Tile::depth * stride_;
    }
  }

 private:
  const float* source_;
  std::int64_t stride_;
  int first_;
  int k_;
  int left_;   ///< rows that are there; bytes of this thread's word for operands stored along rows
  int place_;  ///< floats from the slab's first to this thread's
};

/// Where the copies are in the sequence of a block's tiles, which they lead by some slabs.
template <class Tile, bool AKFastest, bool BKFastest>
class SlabStream {
 public:
  __device__ __forceinline__ SlabStream(const GemmProduct& product, const TileOrder& order, std::int64_t tile,
                                        std::int64_t first_k, std::int64_t end_k)
      : tile_(tile), first_k_(first_k), end_k_(end_k) {
    open(product, order);
  }

  /// Starts the copies of the next slab, if there is one, to ring place `slot`.
  __device__ __forceinline__ void next(const GemmProduct& product, const TileOrder& order, std::uint32_t ring,
                                       int slot, std::int64_t tile_step) {
    if (tile_ < order.tiles) {
      const std::uint32_t slab = ring + slot * Tile::slab * 4;
      a_.copy(slab, end_k_ - k_);
      b_.copy(slab + Tile::a_slab * 4, end_k_ - k_);
      k_ += Tile::depth;
      if (k_ >= end_k_) {
        tile_ += tile_step;
        if (tile_ < order.tiles) open(product, order);
      }
    }
    ptx::async_copy_commit();
  }

 private:
  __device__ __forceinline__ void open(const GemmProduct& product, const TileOrder& order) {
    const TilePlace place = place_of(order, tile_);
    const std::int64_t row = place.row * Tile::m;
    const std::int64_t column = place.column * Tile::n;
    k_ = first_k_;
    a_.start(static_cast<const float*>(product.a) + place.matrix * product.a_batch +
                 (AKFastest ? row * product.a_stride + k_ : k_ * product.a_stride + row),
             product.a_stride, product.m - row);
    b_.start(static_cast<const float*>(product.b) + place.matrix * product.b_batch +
                 (BKFastest ? column * product.b_stride + k_ : k_ * product.b_stride + column),
             product.b_stride, product.n - column);
  }

  SlabCopy<Tile, Tile::m, AKFastest> a_;
  SlabCopy<Tile, Tile::n, BKFastest> b_;
  std::int64_t tile_;
  std::int64_t first_k_;
  std::int64_t end_k_;
  std::int64_t k_;
};

/// What a thread has of a step of k.
template <class Tile>
struct Fragment {
  float a[4 * Tile::row_words];
  float b[4 * Tile::column_words];

  __device__ __forceinline__ void load(const float* a_place, const float* b_place) {
#pragma unroll
    for (int i = 0; i < Tile::row_words; ++i) {
      const float4 word = *reinterpret_cast<const float4*>(a_place + 32 * i);
      a[4 * i] = word.x, a[4 * i + 1] = word.y, a[4 * i + 2] = word.z, a[4 * i + 3] = word.w;
    }
#pragma unroll
    for (int j = 0; j < Tile::column_words; ++j) {
      const float4 word = *reinterpret_cast<const float4*>(b_place + 16 * j);
      b[4 * j] = word.x, b[4 * j + 1] = word.y, b[4 * j + 2] = word.z, b[4 * j + 3] = word.w;
    }
  }
};

/// A thread's part of the tile.
template <class Tile>
struct TileSums {
  static constexpr int rows = 4 * Tile::row_words;
  static constexpr int columns = 4 * Tile::column_words;
  float values[rows][columns];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < columns; ++j) values[i][j] = 0;
  }

  __device__ __forceinline__ void add(const Fragment<Tile>& x) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int step = 0; step < columns; ++step) {
        const int j = i % 2 == 0
                          ? step
                          : columns - 1 - step;  // to and fro: the next row begins with the last value read
        values[i][j] = __fmaf_rn(x.a[i], x.b[j], values[i][j]);
      }
    }
  }
};

/// Row and column, in the tile, of a thread's first value; row word i is 32 i further, column word j 16 j.
template <class Tile>
struct ThreadPlace {
  int row;
  int column;
  __device__ __forceinline__ ThreadPlace() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    row = warp % Tile::warps_m * 32 * Tile::row_words + lane / 4 * 4;
    column = warp / Tile::warps_m * 16 * Tile::column_words + lane % 4 * 4;
  }
};

/// Adds the products of one slab.
template <class Tile>
__device__ __forceinline__ void add_slab(TileSums<Tile>& sums, const float* slab,
                                         const ThreadPlace<Tile>& place) {
  const float* a = slab + place.row;
  const float* b = slab + Tile::a_slab + place.column;
  Fragment<Tile> fragments[2];
  fragments[0].load(a, b);
#pragma unroll 1
  for (int first = 0; first < Tile::depth; first += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      // After the last one the first again, which is not used.
      const bool last = k == 7 && first + 8 == Tile::depth;
      fragments[(k + 1) % 2].load(last ? slab + place.row : a + (k + 1) * Tile::a_row,
                                  last ? slab + Tile::a_slab + place.column : b + (k + 1) * Tile::b_row);
      sums.add(fragments[k % 2]);
    }
    a += 8 * Tile::a_row;
    b += 8 * Tile::b_row;
  }
}

/// Writes a thread's part of the tile at (row, column) of `c`, a matrix of `m` × `n`.
template <class Tile>
__device__ __forceinline__ void write_tile(const TileSums<Tile>& sums, const GemmProduct& product, float* c,
                                           std::int64_t row, std::int64_t column, float alpha, float beta) {
#pragma unroll
  for (int i = 0; i < TileSums<Tile>::rows; ++i) {
    const std::int64_t r = row + i / 4 * 32 + i % 4;
    if (r >= product.m) continue;
#pragma unroll
    for (int j = 0; j < Tile::column_words; ++j) {
      const std::int64_t left = product.n - (column + 16 * j);
      if (left <= 0) continue;
      const float values[4] = {sums.values[i][4 * j], sums.values[i][4 * j + 1], sums.values[i][4 * j + 2],
                               sums.values[i][4 * j + 3]};
      finish_elements<float, float, 4>(c + r * product.c_stride + column + 16 * j, 1, left, values, alpha,
                                       beta);
    }
  }
}

/// Adds the sums of a cluster's blocks, each block a part of the rows, and writes them.
template <class Tile, int Split>
__device__ __forceinline__ void add_up_tile(const TileSums<Tile>& sums, const GemmProduct& product, float* c,
                                            const TilePlace& at, float* buffer, int rank,
                                            const ThreadPlace<Tile>& place, float alpha, float beta) {
  ptx::async_copy_wait<0>();
  __syncthreads();  // the ring is free
#pragma unroll
  for (int i = 0; i < TileSums<Tile>::rows; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::column_words; ++j) {
      const float* v = &sums.values[i][4 * j];
      *reinterpret_cast<float4*>(buffer + (place.row + i / 4 * 32 + i % 4) * Tile::n + place.column +
                                 16 * j) = make_float4(v[0], v[1], v[2], v[3]);
    }
  }
  ptx::cluster_barrier();
  constexpr int words = Tile::m / Split * Tile::n / 4;
  static_assert(words % Tile::threads == 0);
#pragma unroll 1
  for (int word = static_cast<int>(threadIdx.x); word < words; word += Tile::threads) {
    const int index = rank * words + word;
    const std::uint32_t address = ptx::shared_address(buffer + 4 * index);
    float total[4] = {};
#pragma unroll
    for (int other = 0; other < Split; ++other) {
      const uint4 part =
          ptx::cluster_load_16(ptx::cluster_address(address, static_cast<std::uint32_t>(other)));
      total[0] += __uint_as_float(part.x);
      total[1] += __uint_as_float(part.y);
      total[2] += __uint_as_float(part.z);
      total[3] += __uint_as_float(part.w);
    }
    const std::int64_t row = at.row * Tile::m + index / (Tile::n / 4);
    const std::int64_t column = at.column * Tile::n + index % (Tile::n / 4) * 4;
    if (row < product.m && column < product.n) {
      finish_elements<float, float, 4>(c + row * product.c_stride + column, 1, product.n - column, total,
                                       alpha, beta);
    }
  }
  ptx::cluster_barrier();  // nobody leaves while others read
}

/// See launch_gemm_float. The blocks share the tiles; with Split > 1 a cluster of so many blocks has one
/// tile, each a part of k, and adds the sums in the order of its ranks.
template <class Tile, bool AKFastest, bool BKFastest, int Split>
__global__ void __launch_bounds__(Tile::threads,
                                  Tile::row_words* Tile::column_words >= 8 ? 256 / Tile::threads : 4)
    gemm_float(const __grid_constant__ GemmProduct product, const __grid_constant__ TileOrder order,
               std::int64_t k_part, float alpha, float beta) {
  extern __shared__ __align__(1024) unsigned char shared[];
  float* ring = reinterpret_cast<float*>(shared);
  const std::uint32_t ring_address = ptx::shared_address(ring);
  const std::int64_t tile_step = Split > 1 ? order.tiles : gridDim.x;
  const int rank = Split > 1 ? static_cast<int>(blockIdx.x % Split) : 0;
  const std::int64_t first_tile = Split > 1 ? blockIdx.x / Split : blockIdx.x;
  const std::int64_t first_k = rank * k_part;
  const std::int64_t end_k = first_k + k_part < product.k ? first_k + k_part : product.k;
  const ThreadPlace<Tile> place;

  SlabStream<Tile, AKFastest, BKFastest> stream(product, order, first_tile, first_k, end_k);
#pragma unroll 1
  for (int slot = 0; slot < Tile::stages - 1; ++slot)
    stream.next(product, order, ring_address, slot, tile_step);
  int slot = 0;
#pragma unroll 1
  for (std::int64_t tile = first_tile; tile < order.tiles; tile += tile_step) {
    TileSums<Tile> sums;
    sums.clear();
#pragma unroll 1
    for (std::int64_t k = first_k; k < end_k; k += Tile::depth) {
      ptx::async_copy_wait<Tile::stages - 2>();
      __syncthreads();  // the slab is there for all, and all have left the one that the next copy replaces
      const int free_slot = slot == 0 ? Tile::stages - 1 : slot - 1;
      stream.next(product, order, ring_address, free_slot, tile_step);
      add_slab<Tile>(sums, ring + slot * Tile::slab, place);
      slot = slot + 1 == Tile::stages ? 0 : slot + 1;
    }
    const TilePlace at = place_of(order, tile);
    float* c = static_cast<float*>(product.c) + at.matrix * product.c_batch;
    if constexpr (Split == 1) {
      write_tile<Tile>(sums, product, c, at.row * Tile::m + place.row, at.column * Tile::n + place.column,
                       alpha, beta);
    } else {
      add_up_tile<Tile, Split>(sums, product, c, at, ring, rank, place, alpha, beta);
    }
  }
}

}  // namespace papillon::cuda
