// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/gemm_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace papillon::generic {
namespace {

/// How a matrix is cut into a grid of blocks.
struct Grid {
  std::int64_t block_rows, block_columns;
  std::int64_t grid_columns;
  std::int64_t rows, columns;  ///< of the matrix

  /// The blocks that have a coefficient in row `product` of a table, without those that are empty.
  std::vector<GemmBlock> blocks(const std::vector<std::int8_t>& table, std::int64_t blocks_of_product,
                                std::int64_t product) const {
    std::vector<GemmBlock> result;
    for (std::int64_t i = 0; i < blocks_of_product; ++i) {
      const auto coefficient =
          static_cast<int>(table[static_cast<std::size_t>(product * blocks_of_product + i)]);
      const std::int64_t row = i / grid_columns * block_rows, column = i % grid_columns * block_columns;
      if (coefficient == 0 || row >= rows || column >= columns) continue;
      result.push_back({row, column, std::min(block_rows, rows - row),
                        std::min(block_columns, columns - column), coefficient});
    }
    return result;
  }
};

std::int64_t most_rows(const std::vector<GemmBlock>& blocks) {
  std::int64_t most = 0;
  for (const GemmBlock& block : blocks) most = std::max(most, block.rows);
  return most;
}
std::int64_t most_columns(const std::vector<GemmBlock>& blocks) {
  std::int64_t most = 0;
  for (const GemmBlock& block : blocks) most = std::max(most, block.columns);
  return most;
}

void set_extents(BlockProduct& product) {
  product.m = most_rows(product.a);
  product.n = most_columns(product.b);
  // Zeros that fill up one factor never meet an element of the other.
  product.k = std::min(most_columns(product.a), most_rows(product.b));
}

}  // namespace

std::vector<BlockProduct> block_products(const detail::GemmProblem& problem, const detail::GemmPlan& plan) {
  const std::int64_t m = problem.m, n = problem.n, k = problem.k;
  if (plan.classical()) {
    return {{{{0, 0, m, k}}, {{0, 0, k, n}}, {{0, 0, m, n, 1, true}}, m, n, k}};
  }
  const BilinearAlgorithm algorithm = detail::composed(plan);
  const Grid a{plan.block_m, plan.block_k, plan.grid_k, m, k};
  const Grid b{plan.block_k, plan.block_n, plan.grid_n, k, n};
  const Grid c{plan.block_m, plan.block_n, plan.grid_n, m, n};
  std::vector<bool> seen(static_cast<std::size_t>(plan.grid_m * plan.grid_n), false);
  std::vector<BlockProduct> result;
  for (std::int64_t p = 0; p < plan.products; ++p) {
    BlockProduct product;
    product.a = a.blocks(algorithm.u, plan.grid_m * plan.grid_k, p);
    product.b = b.blocks(algorithm.v, plan.grid_k * plan.grid_n, p);
    product.c = c.blocks(algorithm.w, plan.grid_m * plan.grid_n, p);
    if (product.a.empty() || product.b.empty() || product.c.empty()) continue;
    for (GemmBlock& block : product.c) {
      const auto index =
          static_cast<std::size_t>(block.row / plan.block_m * plan.grid_n + block.column / plan.block_n);
      block.first = !seen[index];
      seen[index] = true;
    }
    set_extents(product);
    result.push_back(std::move(product));
  }
  return result;
}

}  // namespace papillon::generic
