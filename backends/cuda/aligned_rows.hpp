// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/mode_product.hpp"

namespace papillon::cuda {

/// Whether the columns are rows of contiguous, aligned points, one after the other if `dense`.
inline bool has_aligned_rows(const detail::ModeProduct& problem, bool dense) {
  const Fold& fold = problem.fold;
  const auto word = static_cast<std::int64_t>(16 / size_of(problem.scalar));
  if (fold.axis.x_stride != 1 || fold.axis.y_stride != 1 || fold.outer_rank > 1) return false;
  if (reinterpret_cast<std::uintptr_t>(problem.x) % 16 != 0 ||
      reinterpret_cast<std::uintptr_t>(problem.y) % 16 != 0)
    return false;
  if (fold.outer_rank == 0 || fold.outer[0].extent == 1) return true;
  const Dimension& columns = fold.outer[0];
  if (dense) return columns.x_stride == problem.x_length && columns.y_stride == problem.y_length;
  return columns.x_stride % word == 0 && columns.y_stride % word == 0;
}

}  // namespace papillon::cuda
