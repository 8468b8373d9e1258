// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "papillon/core/gemm_problem.hpp"

namespace papillon::detail {

/// What a backend knows about its products of one scalar: where a level of Strassen pays, and what
/// predictions of time are made of. The figures are those of `hardware`.
struct GemmTuning {
  std::string_view hardware;
  std::int64_t least_block = 0;  ///< no level whose blocks would have a smaller extent; 0: no level pays
  int most_levels = 0;           ///< that `automatic` takes
  /// Where levels pay by the least extent of the product instead: `automatic` takes the most levels L for
  /// which that is at least pays_from[L - 1]; 0: so many never pay. All 0: `least_block` says.
  std::array<std::int64_t, 4> pays_from{};
  double operations_per_second = 0;  ///< of large classical products, 2 m n k counted
  double bytes_per_second = 0;
  std::int64_t alignment = 1;       ///< elements that extents of packed blocks are multiples of
  std::size_t sum_bytes = 0;        ///< bytes of an element of the packed sums of A and B
  std::size_t product_bytes = 0;    ///< bytes of an element of a product M_p
  std::int64_t block_multiple = 1;  ///< elements that extents of blocks of more are multiples of
  bool fused = false;  ///< sums exist in packed panels alone, products in registers: no workspace is needed
};

/// How a product is carried out. Without levels it is a classical one. With levels A, B and C are cut into
/// grids of blocks, the last ones ragged or empty, which are taken as filled up with zeros; for each of
/// `products` the sums of blocks are packed, multiplied, and added to C: `round` products at a time.
struct GemmPlan {
  std::vector<const BilinearAlgorithm*> levels;  ///< outermost first
  std::int64_t grid_m = 1;                       ///< blocks along m: the product of the levels' m
  std::int64_t grid_k = 1;
  std::int64_t grid_n = 1;
  std::int64_t block_m = 0;  ///< ceil(m / grid_m), and so on
  std::int64_t block_k = 0;
  std::int64_t block_n = 0;
  std::int64_t packed_m = 0;  ///< block_m rounded up to the alignment, and so on
  std::int64_t packed_k = 0;
  std::int64_t packed_n = 0;
  std::int64_t products = 1;
  std::int64_t round = 1;
  std::size_t workspace_bytes =
      0;  ///< round · (packed A + packed B + product), each part a multiple of 256 bytes

  bool classical() const { return levels.empty(); }
  std::size_t a_bytes(const GemmTuning& tuning) const;  ///< of one packed sum
  std::size_t b_bytes(const GemmTuning& tuning) const;
  std::size_t c_bytes(const GemmTuning& tuning) const;  ///< of one product
};

/// Pure. Throws std::invalid_argument where one product needs more than `max_workspace_bytes`.
GemmPlan plan_gemm(const GemmProblem& problem, const GemmTuning& tuning);

/// The composed algorithm of the plan's levels; for plans with levels.
BilinearAlgorithm composed(const GemmPlan& plan);

/// 2 · multiplications of the base products, and the elements of the additions around them.
double operations(const GemmProblem& problem, const GemmPlan& plan);

/// Bytes that packing, products and combination move through memory.
double moved_bytes(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning);

/// Predicted seconds: operations and bytes one after the other.
double predicted_seconds(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning);

/// E in |C - exact| <= E · u · |alpha| max|A| max|B| + O(u²) for every element, u the unit roundoff of the
/// sums, beta = 0: for classical products k², and k more where alpha is no power of two and products by it
/// are rounded; above one level max over the blocks of C of Σ_p |w_p| (a_p b_p (E' + k' s_p) + (t - 1) k'
/// a_p b_p), with a_p and b_p the sums of |u_p| and |v_p|, s_p the additions of both, t the terms of the
/// block, E' and k' those of the level below. (N. Higham, section 23.2.2; G.
/// Ballard et al., SIAM J. Matrix Anal. Appl. 37, 2016.)
double error_factor(const GemmProblem& problem, const GemmPlan& plan);

/// What `explain` prints: lines that end in a line break.
std::string describe(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning);

}  // namespace papillon::detail
