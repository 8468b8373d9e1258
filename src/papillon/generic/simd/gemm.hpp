// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstdint>

#include "papillon/generic/simd/butterfly.hpp"

/// Vector kernels of matrix products on the CPU: panels packed from sums of blocks, tiles of C in registers,
/// added to every block of C that they belong to. Compiled once for several instruction sets, chosen at run
/// time, single-threaded; nothing is allocated, thrown or checked.
///
/// A panel holds, for every index of the sum, `width` neighbouring rows of A or columns of B ("lines"), of
/// complex ones first the real parts, then the imaginary ones. Lines that are missing are zeros.
namespace papillon::simd {

/// Real numbers that an element is packed as.
template <class S>
inline constexpr int packed_parts = RealSum<S>::complex ? 2 : 1;

/// The panels' widths: of a tile of C in registers.
struct GemmTile {
  int rows = 0;
  int columns = 0;
};

/// A block of which a packed sum is formed.
template <class S>
struct PanelTerm {
  const S* data = nullptr;  ///< its first line's first point
  typename RealSum<S>::type coefficient = 1;
  std::int64_t lines = 0;   ///< that it has
  std::int64_t points = 0;  ///< that each of them has
};

/// Where the elements of a sum's blocks lie, and how many of them are packed.
struct PanelShape {
  std::int64_t line_stride = 0;
  std::int64_t point_stride = 0;
  bool conjugate = false;
  std::int64_t lines = 0;
  std::int64_t points = 0;
  int width = 0;  ///< one of those of the tile
};

template <class S>
struct PanelKernels {
  /// to[panel, point, part, line] = the sum of coefficient · block, for every panel of `width` lines.
  static void pack(const PanelTerm<S>* terms, int count, const PanelShape& shape,
                   typename RealSum<S>::type* to);
};

/// A block of C that products are added to.
template <class T>
struct GemmTarget {
  T* data = nullptr;  ///< the element of the product's row 0 and column 0
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  T coefficient = T(1);
  bool first = false;  ///< nothing was added to it yet: it is multiplied by beta before
};

/// A part of a product of packed panels.
template <class T>
struct GemmPart {
  const typename RealSum<T>::type* a = nullptr;  ///< the panel of row 0
  const typename RealSum<T>::type* b = nullptr;  ///< the panel of column 0
  std::int64_t points = 0;
  std::int64_t first_row = 0;  ///< multiples of the tile's extents
  std::int64_t first_column = 0;
  std::int64_t last_row = 0;  ///< one past the last
  std::int64_t last_column = 0;
  const GemmTarget<T>* targets = nullptr;
  int target_count = 0;
  std::int64_t row_stride = 0;  ///< of C
  std::int64_t column_stride = 0;
  T beta = T(0);
};

/// T is float, double or complex.
template <class T>
struct GemmKernels {
  static GemmTile tile();
  static void multiply(const GemmPart<T>& part);
};

}  // namespace papillon::simd
