// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_float.cuh"
#include "kernels/ptx/sm_80_shared.cuh"

namespace papillon::cuda {

/// A thread's `Count` rows of A, or columns of B, out of a stage, for `Lanes` threads beside each other, and
/// how they are read: four steps of k are a unit.
///
/// Stored as [k][Extent]: words of four rows, the threads' words side by side; of each step of k a copy for
/// this one and the next. Stored as [Extent][32 k], swizzled by the copy engine (word w of row r at w ^ r %
/// 8): a row's four values of a unit are one word, and eight threads' rows follow each other, so that they
/// lie in different banks.
template <int Extent, int Count, int Lanes, bool KFastest>
class GemmFloatFragment {
 public:
  /// Neighbouring rows that a thread has.
  static constexpr int neighbours = KFastest ? (Lanes >= 8 ? 1 : 8 / Lanes) : 4;

  /// The row of number i, from the thread's first one on.
  static constexpr int row(int i) { return i / neighbours * neighbours * Lanes + i % neighbours; }

  __device__ __forceinline__ GemmFloatFragment(int first, int lane)
      : place_(KFastest ? (first + lane * neighbours) * 128 + lane * neighbours % 8 * 16
                        : (first + lane * neighbours) * 4) {}

  /// Where a unit of a stage begins for this thread.
  __device__ __forceinline__ std::uint32_t unit(std::uint32_t stage, int unit) const {
    return KFastest ? (stage + place_) ^ static_cast<std::uint32_t>(unit * 16)
                    : stage + place_ + unit * (4 * 4 * Extent);
  }

  /// Reads all rows: of step k, or where k is fastest of the whole unit.
  __device__ __forceinline__ void load(std::uint32_t unit, int k) {
#pragma unroll
    for (int i = 0; i < Count; i += KFastest ? 1 : 4) load_word(unit, k, i);
  }

  /// Reads the word of row i (and of the three after it, where k is not fastest).
  __device__ __forceinline__ void load_word(std::uint32_t unit, int k, int i) {
    if constexpr (KFastest) {
      set(values_[i], ptx::load_16((unit ^ static_cast<std::uint32_t>(row(i) % 8 * 16)) + row(i) * 128));
    } else {
      set(values_[k % 2 * (Count / 4) + i / 4], ptx::load_16(unit + (k * Extent + row(i)) * 4));
    }
  }

  __device__ __forceinline__ float get(int i, int k) const {
    return KFastest ? values_[i][k] : values_[k % 2 * (Count / 4) + i / 4][i % 4];
  }

 private:
  static __device__ __forceinline__ void set(float (&to)[4], const uint4& word) {
    to[0] = __uint_as_float(word.x);
    to[1] = __uint_as_float(word.y);
    to[2] = __uint_as_float(word.z);
    to[3] = __uint_as_float(word.w);
  }

  std::uint32_t place_;
  float values_[KFastest ? Count : Count / 2][4];
};

}  // namespace papillon::cuda
