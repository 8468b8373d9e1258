// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/quantize_problem.hpp"

namespace papillon::cuda {

inline constexpr int stage_threads = 256;
inline constexpr int stage_tile = 64;

/// Rows first_row … first_row + rows - 1 of an array of any strides, copied to a dense matrix.
struct RowStaging {
  const void* x = nullptr;
  detail::RowIndex x_rows;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool along_rows = false;  ///< neighbouring rows are nearer in memory than neighbouring elements of a row
  void* target = nullptr;
};

}  // namespace papillon::cuda
