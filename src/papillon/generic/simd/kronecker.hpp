// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "papillon/core/kronecker_problem.hpp"

/// Vector kernels of Kronecker products on the CPU: factor after factor on a tile that stays in a core's
/// caches. Compiled once for several instruction sets, chosen at run time, single-threaded; nothing is
/// allocated, thrown or checked. Sums are those of `generic::add_product`, so that the team kernel, every
/// instruction set and every tiling give the same bits.
namespace papillon::simd {

/// A factor in the type R of sums: `values` has its rows one after the other, `columns_first` its columns. Of
/// complex factors these are the real parts; the imaginary ones follow.
template <class R>
struct TileFactor {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  const R* values = nullptr;
  const R* columns_first = nullptr;  ///< may be null but for the last factor
};

/// A product applied to a tile: `lines` independent arrays of extents columns[0] × … × columns[count-1] ×
/// width, the last index varying fastest, become such arrays of rows[0] × … × width.
template <class R>
struct TileProduct {
  TileFactor<R> factors[detail::max_factors];
  int count = 0;
  int order[detail::max_factors] = {};  ///< the factors in the order in which they are applied
  bool complex = false;
  std::int64_t width = 1;
};

/// What one walk over a tile does.
struct TileStep {
  enum class Kind : std::uint8_t {
    entries_times_vectors,  ///< one factor; a vector holds neighbours of the faster indices
    vectors_times_entries,  ///< the last factor, its rows in a vector's lanes
    registers,              ///< several small factors on values in registers
    lines,                  ///< several factors with a line in each lane: transposes on both sides
    lines_in_registers,     ///< the same, all in registers
    blocks_in_registers,    ///< factors between lines, then those in them, all in registers
  };
  Kind kind;
  std::int8_t first;        ///< place of the first factor in the order of application
  std::int8_t count;        ///< of factors
  std::int8_t inner_first;  ///< lines: the steps between the transposes
  std::int8_t inner_count;  ///<
  std::int64_t outer;       ///< blocks that the step is done to in each line of the tile (lane)
  std::int64_t run;         ///< neighbours of the faster indices; lines: those before the step
  std::int64_t run_after;   ///< lines: those after it
};

/// The steps of a product. From step `split` on blocks of the nearest cache go through the rest of the steps.
struct TilePlan {
  TileStep steps[2 * detail::max_factors];
  int count = 0;
  int split = 0;
  std::int64_t points = 1;         ///< of a line at most, with its width
  std::int64_t points_before = 1;  ///< and before the first step
  std::int64_t points_after = 1;   ///< and after the last
  std::int64_t blocks = 1;         ///< blocks of a line at `split`
  std::int64_t block = 1;          ///< points of one at most, with its width
  std::int64_t block_before = 1;   ///< and before step `split`
  std::int64_t block_after = 1;    ///< and after the last
  std::int64_t line_points = 0;    ///< of the tiles of lines at most
};

template <class R>
struct TileKernels {
  static void plan(const TileProduct<R>& product, TilePlan& plan);
  static std::size_t scratch(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines);
  static void run(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines, const R* from,
                  std::int64_t from_plane, R* to, std::int64_t to_plane, R* scratch);
};

/// The plan for tiles of a product. R is float or double.
template <class R>
void plan_tile(const TileProduct<R>& product, TilePlan& plan) {
  TileKernels<R>::plan(product, plan);
}

/// Values of R that `run_tile` needs as scratch.
template <class R>
std::size_t tile_scratch_elements(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines) {
  return TileKernels<R>::scratch(product, plan, lines);
}

/// Applies the product to `lines` lines one after the other. The imaginary parts of complex values lie
/// `from_plane` and `to_plane` values after the real ones. `to` may be `from` where lines keep their length
/// and the plan has more than one step.
template <class R>
void run_tile(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines, const R* from,
              std::int64_t from_plane, R* to, std::int64_t to_plane, R* scratch) {
  TileKernels<R>::run(product, plan, lines, from, from_plane, to, to_plane, scratch);
}

}  // namespace papillon::simd
