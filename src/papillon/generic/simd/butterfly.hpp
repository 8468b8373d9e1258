// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstdint>

#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/scalar.hpp"

/// Vector kernels of butterfly products on the CPU: tiles of lines, with a line in each lane of a vector.
/// Compiled once for several instruction sets, chosen at run time, single-threaded; nothing is allocated,
/// thrown or checked. Sums are those of `generic::add_product`, so that the team kernel and every instruction
/// set give the same bits.
namespace papillon::simd {

/// The real numbers that sums of elements E are formed in.
template <class E>
struct RealSum {
  using type = compute_type<E>;
  static constexpr bool complex = false;
};
template <class R>
struct RealSum<std::complex<R>> {
  using type = R;
  static constexpr bool complex = true;
};

/// Lines of a tile at most.
inline constexpr int most_tile_lines = 256;

/// How the values of a factor lie for the lines of a tile.
enum class Entries : std::uint8_t {
  shared,        ///< one for all lines
  side_by_side,  ///< neighbours
  apart,         ///< anywhere
};

/// Tiles of elements E (float, double, half, bfloat16, std::complex<float>, std::complex<double>). Row p of a
/// tile holds point p of `lines` lines as real numbers R, of complex ones first the real parts, then the
/// imaginary ones. `lines` is a multiple of `vector_lines`; offsets, one a line, count elements, and of a
/// tile with fewer lines than that those missing repeat the first.
template <class E>
struct ButterflyKernels {
  using R = typename RealSum<E>::type;
  static constexpr int parts = RealSum<E>::complex ? 2 : 1;

  /// Lines that fill a vector.
  static int vector_lines();
  /// Reads point p of line l at from[offsets[l] + p * stride].
  static void load(const E* from, const std::int64_t* offsets, int lines, std::int64_t stride,
                   std::int64_t points, R* tile);
  /// Writes the first `count` lines, times the scale.
  static void store(const R* tile, R scale, E* to, const std::int64_t* offsets, int count, int lines,
                    std::int64_t stride, std::int64_t points);
  /// Applies a factor with values of type E, those of line l starting at offsets[l]; only offsets[0] is
  /// looked at unless they are `apart`. True: the result is in `other`; false: in `tile`.
  static bool apply(const detail::TileFactor& factor, Entries entries, const std::int64_t* offsets, int lines,
                    R* tile, R* other);
};

}  // namespace papillon::simd
