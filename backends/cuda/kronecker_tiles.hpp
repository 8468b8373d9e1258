// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>

#include "kronecker.hpp"

namespace papillon::cuda {

/// One launch of the general kernel.
struct KroneckerStage {
  ScalarType scalar = ScalarType::float32;
  ScalarType source_type = ScalarType::float32;
  ScalarType target_type = ScalarType::float32;
  KroneckerTile tile;
  bool direct = false;  ///< too large for a tile: one factor, from memory to memory
};

/// The passes of a product, and what lies between them: y itself where every pass has as many points after
/// it as before and sums are formed in the scalar, else buffers.
struct KroneckerStages {
  detail::KroneckerPlan plan;
  bool through_y = false;
  detail::TileBuffers buffers;
  std::size_t workspace_bytes = 0;

  /// The launch of pass number `index` for the columns from `first` on.
  KroneckerStage stage(const detail::KroneckerProblem& problem, std::size_t index, std::int64_t first,
                       std::int64_t count, void* workspace) const;

  /// Visits all launches in order.
  template <class Visit>
  void for_each(const detail::KroneckerProblem& problem, void* workspace, const Visit& visit) const {
    const std::int64_t columns = problem.fold.outer_count();
    const std::int64_t step = workspace_bytes > 0 ? buffers.columns : columns;
    for (std::int64_t first = 0; first < columns; first += step)
      for (std::size_t p = 0; p < plan.size(); ++p)
        visit(stage(problem, p, first, std::min(step, columns - first), workspace));
  }
};

/// Pure; needs no GPU. Throws std::invalid_argument for a product in place that no tile takes.
KroneckerStages make_stages(const detail::KroneckerProblem& problem);

}  // namespace papillon::cuda
