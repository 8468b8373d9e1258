// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include "papillon/core/gemm_plan.hpp"

namespace papillon::generic {

/// A block of a matrix: its first row and column, and how many of each it has.
struct GemmBlock {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int coefficient = 1;
  bool first = false;  ///< of blocks of C: no earlier product is added to it
};

/// One product of a plan: (Σ coefficient · A block) (Σ coefficient · B block), added to blocks of C. m, n and
/// k are its extents, which no block exceeds: where all blocks of a sum are ragged it is smaller than others.
struct BlockProduct {
  std::vector<GemmBlock> a, b, c;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// The products of a plan, without those that are zero because all their blocks of A or of B lie outside; a
/// classical one has one of one block each. Every block of C has a first product: the sums that are left
/// still give A B.
std::vector<BlockProduct> block_products(const detail::GemmProblem& problem, const detail::GemmPlan& plan);

}  // namespace papillon::generic
