// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device.hpp"
#include "papillon/core/gemm_plan.hpp"

namespace papillon::cuda {

/// One of the tables U, V or W of every level of a plan, as kernels read it: by value, as a parameter.
struct LevelTables {
  static constexpr int most_levels = 5;
  static constexpr int most_entries = 6144;
  static constexpr int most_pair_levels = 3;  ///< that the kernels of level_pairs.cuh take

  int levels = 0;
  int rank[most_levels] = {};
  int slow[most_levels] = {};              ///< blocks along the slower index of the matrix in memory
  int fast[most_levels] = {};              ///< blocks along the faster one
  int first[most_levels] = {};             ///< entry of the level's first product, block (0, 0)
  std::int8_t entries[most_entries] = {};  ///< [product][slow][fast] of level after level

  int products() const;
  bool pairs() const;  ///< whether every level is of 2 × 2 blocks and seven products
};

/// Which matrix the table is of, and whether its rows are the faster index in memory.
enum class LevelTable { u, v, w };

/// Throws std::invalid_argument where the tables are too large for a kernel's parameters.
LevelTables level_tables(const detail::GemmPlan& plan, LevelTable which, bool rows_fastest);

/// The table that adds up so many products of one block.
LevelTables sum_of_products(int products);

/// A matrix cut into a grid of blocks, of which the last ones may be ragged or empty.
struct BlockedMatrix {
  void* data = nullptr;
  std::int64_t slow = 0;  ///< extents
  std::int64_t fast = 0;
  std::int64_t slow_stride = 0;
  std::int64_t fast_stride = 1;
  std::int64_t block_slow = 0;  ///< extents of a block
  std::int64_t block_fast = 0;
};

/// Dense matrices, one a product, of block_slow rows of `stride` elements; `turned`, of block_fast rows: the
/// faster index of the source's is the slower one of theirs.
struct PackedMatrices {
  void* data = nullptr;
  std::int64_t stride = 0;  ///< elements from row to row, a multiple of 16 bytes
  std::int64_t matrix = 0;  ///< elements from matrix to matrix
  std::int64_t first = 0;   ///< product of the first
  std::int64_t count = 0;
  bool turned = false;
};

/// Whether launch_pack_sums can turn the matrices of such tables.
bool packs_turned(const LevelTables& tables);

/// packed[p] = Σ_b table[p][b] source block b, summed in the compute type of S, for the products of `packed`;
/// what a block lacks counts as 0.
template <class S>
cudaError_t launch_pack_sums(cudaStream_t stream, const Device& device, const BlockedMatrix& source,
                             const PackedMatrices& packed, const LevelTables& tables);

/// Target block b = alpha · Σ_p table[p][b] products[p] + beta · target block b, over the products of
/// `products`; the target is not read where beta is 0.
template <class C, class Out>
cudaError_t launch_combine(cudaStream_t stream, const Device& device, const PackedMatrices& products,
                           const BlockedMatrix& target, const LevelTables& tables, double alpha, double beta);

}  // namespace papillon::cuda
