// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda {

/// How a product of float matrices is cut.
struct GemmFloatTuning {
  int rows = 128;  ///< of a block's tile: 128 x 128 or 64 x 64
  int columns = 128;
  int split = 1;   ///< parts of k, of a block each: 1, 2, 4 or 8
  int group = 16;  ///< rows of tiles that are worked on together
};

/// Measured on an H200 (132 multiprocessors).
constexpr GemmFloatTuning gemm_float_tuning(std::int64_t m, std::int64_t n, std::int64_t k,
                                            std::int64_t batch, int multiprocessors) {
  const auto tiles = [&](std::int64_t rows, std::int64_t columns) {
    return (m + rows - 1) / rows * ((n + columns - 1) / columns) * batch;
  };
  const std::int64_t steps = (k + 31) / 32;
  GemmFloatTuning tuning;
  const bool large = m > 64 && n > 64 && tiles(128, 128) * steps >= 8 * multiprocessors;
  if (!large) tuning = {64, 64, 1, 16};
  const std::int64_t count = tiles(tuning.rows, tuning.columns);
  const std::int64_t room = std::int64_t{large ? 2 : 4} * multiprocessors;
  while (tuning.split < 8 && count * tuning.split * 2 <= room && tuning.split * 4 <= steps) tuning.split *= 2;
  return tuning;
}

}  // namespace papillon::cuda
