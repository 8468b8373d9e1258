// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "device.hpp"
#include "kronecker.hpp"
#include "launch.hpp"
#include "papillon/core/butterfly_problem.hpp"

namespace papillon::cuda {

/// Where a pass reads or writes: the caller's array, or a buffer with `buffer_points` points a column.
struct ButterflyEnd {
  void* data = nullptr;
  std::int64_t axis_stride = 1;
  std::int64_t buffer_points = 0;             ///< 0: the array, whose columns lie where the fold says
  const std::int64_t* permutation = nullptr;  ///< point i of the axis lies at permutation[i], if given
};

/// A pass of a product of Kronecker-sparse factors: a block takes `width` lines, a line being the pass'
/// points of one column at one slower and one faster index. In shared memory a tile is [point][line], twice.
struct ButterflyTile {
  detail::TileShape shape;
  Fold fold;
  std::int64_t first_column = 0;
  std::int64_t column_count = 0;
  bool columns_first = false;  ///< neighbouring lines are neighbouring columns
  ButterflyEnd source;
  ButterflyEnd target;
  double scale = 1.0;
  std::int64_t lines = 0;
  std::int64_t first_tile = 0;
  int width = 1;
  int count = 0;
  detail::TileFactor factors[detail::max_pass_factors];
};

/// Launches the pass, of storage types In and Out and values of S; `direct` where its one factor is too large
/// for a tile.
template <class In, class Out, class S>
cudaError_t launch_butterfly(cudaStream_t stream, const Device& device, const ButterflyTile& tile,
                             bool direct, KernelUse* use);

/// Shared memory of a block, for sums of `bytes` each.
constexpr std::int64_t butterfly_shared_bytes(const ButterflyTile& tile, int bytes) {
  const std::int64_t points = tile.shape.largest > 0 ? tile.shape.largest : 1;
  return std::int64_t{tile.width} * 48 + (2 * points * tile.width * bytes + 15) / 16 * 16;
}

/// Factors of 2 x 2 blocks over rows of 2^k points without gaps.
struct PairFactor {
  const void* data = nullptr;
  std::int64_t block_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t repeat_stride = 0;
  bool contiguous = false;  ///< the values are a contiguous, aligned array of shape (a, 2, 2, d)
};
/// Consecutive factors whose pairs lie at neighbouring powers of two: they are applied at a time.
struct PairRound {
  int first = 0;
  int count = 0;
  int bit = 0;           ///< the lowest of the index bits that tell their pairs apart
  bool falling = false;  ///< the factor applied first has the highest bit
};
inline constexpr int most_pair_factors = 40;
struct PairProblem {
  PowerProblem rows;  ///< of which the factors are not used
  int k = 0;
  int round_count = 0;
  PairRound rounds[most_pair_factors];
  PairFactor factors[most_pair_factors];
};

/// The product as one of 2 x 2 blocks over rows, if it is one; else its passes are these.
std::optional<PairProblem> as_pairs(const detail::ButterflyProblem& problem);
detail::ButterflyPlan plan_of(const detail::ButterflyProblem& problem);

/// Launches the kernel for rows of 2^k points, least_pair_bits <= k <= most_pair_bits; sets rows.tiles
/// itself.
inline constexpr int least_pair_bits = 8;
inline constexpr int most_pair_bits = 12;
template <class S>
cudaError_t launch_pairs(cudaStream_t stream, const Device& device, const PairProblem& problem,
                         KernelUse* use);

}  // namespace papillon::cuda
