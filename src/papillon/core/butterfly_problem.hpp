// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "papillon/butterfly_options.hpp"
#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/mode_product.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/core/tile.hpp"

namespace papillon {

/// How a call of `butterfly` is carried out, in words: its passes over the data, its multiply-adds, and the
/// bytes that it moves. Of the arrays only the addresses are looked at. Throws as `butterfly` does.
std::string explain_butterfly(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const ButterflyOptions& options,
                              Architecture architecture);

namespace detail {

/// Factors of a product at most, and of a pass.
inline constexpr std::size_t max_butterfly_factors = 64;
inline constexpr int max_pass_factors = 24;

/// A checked call of `butterfly`.
struct ButterflyProblem : ModeProduct {
  /// As they multiply a column, adjoints resolved, the one applied first coming first.
  FixedVector<ButterflyFactor, max_butterfly_factors> factors;
  const std::int64_t* permutation = nullptr;  ///< of x, or of y where `permutes_result` says so; or null
  bool permutes_result = false;
};

/// Checks every argument. Throws std::invalid_argument that names it and its value.
ButterflyProblem make_butterfly_problem(std::span<const ButterflyFactor> factors,
                                        const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                        const ButterflyOptions& options);

/// Consecutive factors that are applied one after the other to a tile near the processor: factors
/// `first` … `first + count - 1` of the problem. A pass of none moves points to where the permutation says.
struct ButterflyPass : TileShape {
  int first = 0;
  int count = 0;
};
using ButterflyPlan = FixedVector<ButterflyPass, max_butterfly_factors + 1>;

/// The passes of a product, in order. Pure.
///
/// Factors of patterns (a_i, b_i, c_i, d_i) keep apart the indices i / (a_i / A) and j mod D where A divides
/// all a_i and D all d_i: they are A · D independent products of fewer points, and such a product is a tile's
/// line. A and D are the greatest common divisors, or less where there are columns enough to fill a tile:
/// then short products are taken into one line, up to `tile_points / 8` points. A pass takes as many factors
/// as leave no more than `tile_points` points on the way, one at least.
///
/// In place a permutation needs a pass of its own where the only other one cuts the axis in several lines,
/// since lines would be read from places already written.
ButterflyPlan plan_butterfly(const ButterflyProblem& problem, std::int64_t tile_points);

/// The plan for an architecture: tiles have room for all of the lines that share a vector or a warp.
ButterflyPlan plan_butterfly(const ButterflyProblem& problem, Architecture architecture);

/// A factor as it multiplies a line of a pass: `blocks` × `repeats` dense matrices of it. The values of a
/// line start at outer · outer_stride + inner · inner_stride + batch · batch_stride.
struct TileFactor {
  const void* data = nullptr;
  std::int64_t blocks = 1, rows = 1, columns = 1, repeats = 1;
  std::int64_t block_stride = 0, row_stride = 0, column_stride = 0, repeat_stride = 0;
  std::int64_t outer_stride = 0, inner_stride = 0, batch_stride = 0;
  bool conjugate = false;
};
TileFactor tile_factor(const ButterflyFactor& factor, const TileShape& shape);

/// Whether neighbouring lines of a pass are best neighbouring columns: they share their values, and no points
/// of theirs lie closer in memory.
bool takes_columns_first(const ButterflyProblem& problem, const ButterflyPass& pass);

/// What a product costs for each column of x: multiply-adds, and points that the passes read and write.
struct ButterflyCost {
  double multiply_adds = 0;
  double points = 0;
};
ButterflyCost cost_of(const ButterflyProblem& problem, const ButterflyPlan& plan);

TileBuffers buffers_of(const ButterflyProblem& problem, const ButterflyPlan& plan, Architecture architecture);

}  // namespace detail
}  // namespace papillon
