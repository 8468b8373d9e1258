// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

namespace papillon::cuda {

/// How a product of 16-bit matrices is cut.
struct Gemm16Tuning {
  int rows = 128;  ///< of a block's tile: 128 x 256, 128 x 128 or 64 x 64
  int columns = 256;
  int multicast = 2;  ///< blocks below each other that load columns of B for each other
  int split = 1;      ///< parts of k, of a block each; 128 x 256: 1
  int lead = 2;       ///< blocks of k that one half of a tile is ahead of the other
  int group = 8;      ///< rows of clusters' tiles that are worked on together
};

/// Measured on an H200 (132 multiprocessors).
constexpr Gemm16Tuning gemm_16bit_tuning(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                                         int multiprocessors) {
  const auto tiles = [&](std::int64_t rows, std::int64_t columns) {
    return (m + rows - 1) / rows * ((n + columns - 1) / columns) * batch;
  };
  const std::int64_t k_blocks = (k + 63) / 64;
  const bool large = m > 128 && n > 128 && tiles(128, 256) * 4 >= 3 * multiprocessors;
  if (large) return {128, 256, 2, 1, 2, 8};
  const bool medium = (m > 64 || n > 64) && (tiles(128, 128) * k_blocks >= 4 * multiprocessors);
  Gemm16Tuning tuning = medium ? Gemm16Tuning{128, 128, 1, 1, 0, 8} : Gemm16Tuning{64, 64, 1, 1, 0, 16};
  const std::int64_t count = tiles(tuning.rows, tuning.columns);
  while (tuning.split < 8 && count * tuning.split * 2 <= multiprocessors && tuning.split * 4 <= k_blocks)
    tuning.split *= 2;
  return tuning;
}

}  // namespace papillon::cuda
