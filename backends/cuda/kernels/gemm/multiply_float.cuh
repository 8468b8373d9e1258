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
template <int Extent, int Count, int Lanes, bool KFastest, bool UnitAhead>
class GemmFloatFragment {
 public:
  /// Neighbouring rows that a thread has.
  static constexpr int neighbours = KFastest ? (Lanes >= 8 ? 1 : 8 / Lanes) : 4;
  static constexpr bool k_fastest = KFastest;
  /// Whether a unit is read while the one before is multiplied; else its words replace used ones.
  static constexpr bool unit_ahead = UnitAhead;
  static constexpr int words = KFastest ? Count : Count / 4;

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
  /// The unit after an even one.
  static __device__ __forceinline__ std::uint32_t after(std::uint32_t unit) {
    return KFastest ? unit ^ 16 : unit + 4 * 4 * Extent;
  }

  /// Reads all rows: of step k, or where k is fastest of the whole unit, which is even or odd.
  __device__ __forceinline__ void load(std::uint32_t unit, int odd, int k) {
#pragma unroll
    for (int word = 0; word < words; ++word) load_word(unit, odd, k, word);
  }

  /// Reads one word of them.
  __device__ __forceinline__ void load_word(std::uint32_t unit, int odd, int k, int word) {
    if constexpr (KFastest) {
      set(values_[(UnitAhead ? odd : 0) * Count + word],
          ptx::load_16((unit ^ static_cast<std::uint32_t>(row(word) % 8 * 16)) + row(word) * 128));
    } else {
      set(values_[k % 2 * words + word], ptx::load_16(unit + (k * Extent + row(4 * word)) * 4));
    }
  }

  __device__ __forceinline__ float get(int odd, int i, int k) const {
    return KFastest ? values_[(UnitAhead ? odd : 0) * Count + i][k] : values_[k % 2 * words + i / 4][i % 4];
  }

 private:
  static __device__ __forceinline__ void set(float (&to)[4], const uint4& word) {
    to[0] = __uint_as_float(word.x);
    to[1] = __uint_as_float(word.y);
    to[2] = __uint_as_float(word.z);
    to[3] = __uint_as_float(word.w);
  }

  std::uint32_t place_;
  float values_[words * (KFastest && !UnitAhead ? 1 : 2)][4];
};

/// Adds the products of a unit, which is even or odd, and reads the next one.
template <class Tile, int Odd, class A, class B>
__device__ __forceinline__ void multiply_unit(A& a, B& b, std::uint32_t a_unit, std::uint32_t b_unit,
                                              std::uint32_t a_next, std::uint32_t b_next,
                                              float (&sums)[Tile::thread_rows][Tile::thread_columns]) {
  constexpr int rows = Tile::thread_rows;
  constexpr int columns = Tile::thread_columns;
  constexpr bool replace_a = A::k_fastest && !A::unit_ahead;
  constexpr bool replace_b = B::k_fastest && !B::unit_ahead;
  constexpr int parts = replace_b && columns >= 8 ? 2 : 1;  // columns whose words are replaced at a time
  constexpr int width = columns / parts;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (!A::k_fastest) a.load(k == 3 ? a_next : a_unit, 0, (k + 1) % 4);
    if constexpr (!B::k_fastest) b.load(k == 3 ? b_next : b_unit, 0, (k + 1) % 4);
    if constexpr (A::unit_ahead) {
#pragma unroll
      for (int word = 0; word < A::words; ++word) {
        if (word * 4 / A::words == k) a.load_word(a_next, 1 - Odd, 0, word);
      }
    }
#pragma unroll
    for (int part = 0; part < parts; ++part) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < width; ++j) {
          const int column =
              part * width + (i % 2 == 0 ? j : width - 1 - j);  // turning columns are used twice
          sums[i][column] = __fmaf_rn(a.get(Odd, i, k), b.get(Odd, column, k), sums[i][column]);
        }
        if (replace_a && k == 3 && part == parts - 1) a.load_word(a_next, 0, 0, i);
      }
      if (replace_b && k == 3) {
#pragma unroll
        for (int column = part * width; column < (part + 1) * width; ++column)
          b.load_word(b_next, 0, 0, column);
      }
    }
  }
}

}  // namespace papillon::cuda
