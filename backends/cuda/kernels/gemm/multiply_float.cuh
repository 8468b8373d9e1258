// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_float.cuh"
#include "kernels/ptx/sm_80_shared.cuh"

namespace papillon::cuda {

/// A thread's `Count` rows of A, or columns of B, at one step of k and at the next, out of a stage, for
/// `Lanes` threads beside each other: words of four rows, the threads' words side by side. A stage holds
/// [k][Extent], or where k was fastest blocks of 32 rows as [block][k][32] (see transpose_stage).
template <int Extent, int Count, int Lanes, bool KFastest>
class GemmFloatFragment {
 public:
  /// The row of number i, from the thread's first one on.
  static constexpr int row(int i) { return i / 4 * 4 * Lanes + i % 4; }
  /// Bytes from one step of k to the next.
  static constexpr int step = KFastest ? 128 : 4 * Extent;

  /// For a thread that begins with step `k` of each stage.
  __device__ __forceinline__ GemmFloatFragment(int first, int lane, int k)
      : place_(offset(first + 4 * lane) + k * step) {}

  /// Where the first step of a stage lies for this thread.
  __device__ __forceinline__ std::uint32_t address(std::uint32_t stage) const { return stage + place_; }

  __device__ __forceinline__ void load(std::uint32_t address, int k) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
      const uint4 word = ptx::load_16(address + offset(row(i)));
      values_[k % 2][i] = __uint_as_float(word.x);
      values_[k % 2][i + 1] = __uint_as_float(word.y);
      values_[k % 2][i + 2] = __uint_as_float(word.z);
      values_[k % 2][i + 3] = __uint_as_float(word.w);
    }
  }

  __device__ __forceinline__ float get(int i, int k) const { return values_[k % 2][i]; }

 private:
  static constexpr int offset(int row) { return KFastest ? row / 32 * 4096 + row % 32 * 4 : 4 * row; }

  std::uint32_t place_;
  float values_[2][Count];
};

/// Turns the rows of A (columns of B) of a stage, which the copy engine left as [row][32 k] with word w of
/// row r at w ^ r % 8, into blocks of 32 rows as [block][k][32]; each block by one warp, in place.
template <int Extent, int Warps>
__device__ __forceinline__ void transpose_stage(std::uint32_t stage, int warp, int lane) {
#pragma unroll 1
  for (int block = warp; block < Extent / 32; block += Warps) {
    const std::uint32_t base = stage + block * 4096;
    uint4 words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i] = ptx::load_16(base + lane * 128 + (i ^ lane % 8) * 16);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t column = base + i * 4 * 128 + lane * 4;
      ptx::store_4(column, words[i].x);
      ptx::store_4(column + 128, words[i].y);
      ptx::store_4(column + 256, words[i].z);
      ptx::store_4(column + 384, words[i].w);
    }
  }
}

/// Adds the products of eight steps of k, row by row (an element of A stays in its register's reader) or
/// column by column, reading each step while the one before is multiplied; the last reads the first step of
/// `next`.
template <class Tile, bool ByRows, class A, class B>
__device__ __forceinline__ void multiply_steps(A& a, B& b, std::uint32_t a_address, std::uint32_t b_address,
                                               std::uint32_t a_next, std::uint32_t b_next,
                                               float (&sums)[Tile::thread_rows][Tile::thread_columns]) {
  constexpr int rows = Tile::thread_rows;
  constexpr int columns = Tile::thread_columns;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    a.load(k == 7 ? a_next : a_address + (k + 1) * A::step, k + 1);
    b.load(k == 7 ? b_next : b_address + (k + 1) * B::step, k + 1);
    const auto add = [&](int i, int j) { sums[i][j] = __fmaf_rn(a.get(i, k), b.get(j, k), sums[i][j]); };
    // There and back, so that at the turns an operand is used twice.
    if constexpr (ByRows) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) add(i, i % 2 == 0 ? j : columns - 1 - j);
      }
    } else {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
#pragma unroll
        for (int i = 0; i < rows; ++i) add(j % 2 == 0 ? i : rows - 1 - i, j);
      }
    }
  }
}

}  // namespace papillon::cuda
