// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/tile_order.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_90_barrier.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

// Slabs of operands on their way to a ring in shared memory: `Extent` rows of A (columns of B) × `Depth` of
// k.

/// Copies slab after slab in words of 16 bytes, in the operand's own order: as [index][k] where k is the
/// faster one in memory, else as [k][index], each row some elements longer than its contents. What lies
/// outside becomes 0.
template <class T, int Threads, int Extent, int Depth, bool KFastest>
class SlabCopy {
 public:
  static constexpr int word = 16 / static_cast<int>(sizeof(T));
  /// Rows of [index][k] are two words longer, so that every second one begins four words of banks further;
  /// rows of [k][index] one, so that every second one begins two words further.
  static constexpr int pad = KFastest ? 2 * word : word;
  static constexpr int row = (KFastest ? Depth : Extent) + pad;
  static constexpr int elements = row * (KFastest ? Extent : Depth);

  /// The operand's first element of the tile is `source`; `left` of its rows (columns) are there.
  __device__ __forceinline__ void start(const T* source, std::int64_t stride, std::int64_t left) {
    const int thread = ptx::thread_again();
    source_ = source + slow(thread) * stride + fast(thread);
    left_ = static_cast<int>(left < Extent ? left : Extent);
  }

  /// The next slab, of which `k_left` of k are there, to shared memory at `slab`.
  __device__ __forceinline__ void copy(std::uint32_t slab, std::int64_t stride, int k_left) {
    const int thread = static_cast<int>(threadIdx.x);
    const std::uint32_t place = slab + (slow(thread) * row + fast(thread)) * static_cast<int>(sizeof(T));
    constexpr int step_bytes = rows_at_a_time * row * static_cast<int>(sizeof(T));
    const T* source = source_;
    if (left_ == Extent && k_left >= Depth) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        ptx::async_copy_16(place + step * step_bytes, source);
        source += rows_at_a_time * stride;
      }
    } else {
      const int again = ptx::thread_again();
      const int k_here = k_left < Depth ? k_left : Depth;
      const int fast_here = KFastest ? k_here : left_;
      const int slow_here = KFastest ? left_ : k_here;
      const int bytes = (fast_here - fast(again)) * static_cast<int>(sizeof(T));
      const int valid = bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        ptx::async_copy_16_filled(place + step * step_bytes, source,
                                  slow(again) + step * rows_at_a_time < slow_here ? valid : 0);
        source += rows_at_a_time * stride;
      }
    }
    source_ += KFastest ? Depth : Depth * stride;
  }

 private:
  static constexpr int words = (KFastest ? Depth : Extent) / word;  ///< of a row
  static constexpr int rows_at_a_time = Threads / words;
  static constexpr int steps = (KFastest ? Extent : Depth) / rows_at_a_time;
  static_assert(Threads % words == 0 && steps * rows_at_a_time == (KFastest ? Extent : Depth));

  /// Place of a thread's first word in a slab; made anew where it is seldom needed, to spare registers.
  static __device__ __forceinline__ int slow(int thread) { return thread / words; }
  static __device__ __forceinline__ int fast(int thread) { return thread % words * word; }

  const T* source_;
  int left_;
};

/// A block's places in the ring in their order, and how often it has gone round.
template <int Stages>
struct RingPlace {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++slot == Stages) slot = 0, parity ^= 1;
  }
};

/// Where the copies are in the sequence of a block's tiles, which they lead by some slabs. Tile has m, n,
/// depth, stages. All threads copy; a barrier a slot says that a slab is there, another that all warps have
/// read it.
template <class T, class Tile, bool AKFastest, bool BKFastest>
class SlabStream {
 public:
  using A = SlabCopy<T, Tile::threads, Tile::m, Tile::depth, AKFastest>;
  using B = SlabCopy<T, Tile::threads, Tile::n, Tile::depth, BKFastest>;
  static constexpr int b_offset = A::elements * static_cast<int>(sizeof(T));
  static constexpr int slab_bytes = b_offset + B::elements * static_cast<int>(sizeof(T));
  static constexpr int barriers = Tile::stages * slab_bytes;  ///< where they are in shared memory
  static constexpr int shared_bytes = barriers + Tile::stages * 16;

  static __device__ __forceinline__ std::uint32_t full(std::uint32_t ring, int slot) {
    return ring + barriers + slot * 16;
  }
  static __device__ __forceinline__ std::uint32_t empty(std::uint32_t ring, int slot) {
    return full(ring, slot) + 8;
  }

  /// Makes the barriers; called by all threads.
  static __device__ __forceinline__ void init(std::uint32_t ring) {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int slot = 0; slot < Tile::stages; ++slot) {
        ptx::barrier_init(full(ring, slot), Tile::threads);
        ptx::barrier_init(empty(ring, slot), Tile::threads / 32);
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ SlabStream(const GemmProduct& product, const TileOrder& order, int tile,
                                        int first_k, int end_k)
      : tile_(tile) {
    if (tile_ < order.tiles) open(product, order, first_k, end_k);
  }

  /// Starts the copies of the next slab, if there is one, when its slot is free.
  __device__ __forceinline__ void next(const GemmProduct& product, const TileOrder& order, std::uint32_t ring,
                                       int tile_step, int first_k, int end_k) {
    if (tile_ >= order.tiles) return;
    ptx::barrier_wait(empty(ring, place_.slot), place_.parity ^ 1);
    const std::uint32_t slab = ring + place_.slot * slab_bytes;
    a_.copy(slab, product.a_stride, k_left_);
    b_.copy(slab + b_offset, product.b_stride, k_left_);
    ptx::barrier_arrive_after_copies(full(ring, place_.slot));
    place_.advance();
    k_left_ -= Tile::depth;
    if (k_left_ <= 0) {
      tile_ += tile_step;
      if (tile_ < order.tiles) open(product, order, first_k, end_k);
    }
  }

 private:
  __device__ __forceinline__ void open(const GemmProduct& product, const TileOrder& order, int first_k,
                                       int end_k) {
    const TilePlace at = place_of(order, tile_);
    const std::int64_t row = std::int64_t{at.row} * Tile::m;
    const std::int64_t column = std::int64_t{at.column} * Tile::n;
    k_left_ = end_k - first_k;
    a_.start(
        static_cast<const T*>(product.a) + at.matrix * product.a_batch +
            (AKFastest ? row * product.a_stride + first_k : std::int64_t{first_k} * product.a_stride + row),
        product.a_stride, product.m - row);
    b_.start(static_cast<const T*>(product.b) + at.matrix * product.b_batch +
                 (BKFastest ? column * product.b_stride + first_k
                            : std::int64_t{first_k} * product.b_stride + column),
             product.b_stride, product.n - column);
  }

  A a_;
  B b_;
  int tile_;
  int k_left_ = 0;
  RingPlace<Tile::stages> place_;
};

}  // namespace papillon::cuda
