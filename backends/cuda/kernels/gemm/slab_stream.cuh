// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/tile_order.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda {

// Slabs of operands on their way to a ring in shared memory: `Extent` rows of A (columns of B) × `Depth` of
// k.

/// Copies slab after slab in words of 16 bytes, in the operand's own order: as [index][k] where k is the
/// faster one in memory, else as [k][index], each row `pad` elements longer than its contents. What lies
/// outside becomes 0.
template <class T, int Threads, int Extent, int Depth, bool KFastest>
class SlabCopy {
 public:
  static constexpr int word = 16 / static_cast<int>(sizeof(T));
  static constexpr int pad = 4;
  static constexpr int row = (KFastest ? Depth : Extent) + pad;
  static constexpr int elements = row * (KFastest ? Extent : Depth);

  /// The operand's first element of the tile is `source`; `left` of its rows (columns) are there.
  __device__ __forceinline__ void start(const T* source, std::int64_t stride, std::int64_t left) {
    stride_ = stride;
    slow_ = static_cast<int>(threadIdx.x) / words;
    fast_ = static_cast<int>(threadIdx.x) % words * word;
    source_ = source + slow_ * stride + fast_;
    left_ = static_cast<int>(left < Extent ? left : Extent);
  }

  /// The next slab, of which `k_left` of k are there, to shared memory at `slab`.
  __device__ __forceinline__ void copy(std::uint32_t slab, std::int64_t k_left) {
    const int k_here = static_cast<int>(k_left < Depth ? k_left : Depth);
    const int fast_here = KFastest ? k_here : left_;
    const int slow_here = KFastest ? left_ : k_here;
    const int bytes = (fast_here - fast_) * static_cast<int>(sizeof(T));
    const int valid = bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
    const T* source = source_;
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const int slow = slow_ + step * rows_at_a_time;
      ptx::async_copy_16_filled(slab + (slow * row + fast_) * static_cast<int>(sizeof(T)), source,
                                slow < slow_here ? valid : 0);
      source += rows_at_a_time * stride_;
    }
    source_ += KFastest ? Depth : Depth * stride_;
  }

 private:
  static constexpr int words = (KFastest ? Depth : Extent) / word;  ///< of a row
  static constexpr int rows_at_a_time = Threads / words;
  static constexpr int steps = (KFastest ? Extent : Depth) / rows_at_a_time;
  static_assert(Threads % words == 0 && steps * rows_at_a_time == (KFastest ? Extent : Depth));

  const T* source_;
  std::int64_t stride_;
  int slow_;
  int fast_;
  int left_;
};

/// Where the copies are in the sequence of a block's tiles, which they lead by some slabs. Tile has m, n,
/// depth.
template <class T, class Tile, class ACopy, class BCopy, bool AKFastest, bool BKFastest>
class SlabStream {
 public:
  static constexpr int slab_bytes = (ACopy::elements + BCopy::elements) * static_cast<int>(sizeof(T));

  __device__ __forceinline__ SlabStream(const GemmProduct& product, const TileOrder& order, std::int64_t tile)
      : tile_(tile) {
    if (tile_ < order.tiles) open(product, order);
  }

  /// Starts the copies of the next slab, if there is one, to shared memory at `slab`.
  __device__ __forceinline__ void next(const GemmProduct& product, const TileOrder& order,
                                       std::uint32_t slab) {
    if (tile_ < order.tiles) {
      a_.copy(slab, k_left_);
      b_.copy(slab + ACopy::elements * static_cast<int>(sizeof(T)), k_left_);
      k_left_ -= Tile::depth;
      if (k_left_ <= 0) {
        tile_ += gridDim.x;
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
    k_left_ = product.k;
    a_.start(static_cast<const T*>(product.a) + place.matrix * product.a_batch +
                 (AKFastest ? row * product.a_stride : row),
             product.a_stride, product.m - row);
    b_.start(static_cast<const T*>(product.b) + place.matrix * product.b_batch +
                 (BKFastest ? column * product.b_stride : column),
             product.b_stride, product.n - column);
  }

  ACopy a_;
  BCopy b_;
  std::int64_t tile_;
  std::int64_t k_left_ = 0;
};

}  // namespace papillon::cuda
