// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

namespace papillon::cuda {

/// How a product of 16-bit matrices is cut.
struct Gemm16Tuning {
  int rows = 128;  ///< of a block's tile: 128 x 256, 128 x 128, 64 x 128 or 64 x 64
  int columns = 256;
  int multicast = 1;  ///< blocks below each other that load columns of B for each other
  int split = 1;      ///< parts of k, of a block each; 128 x 256: 1
  int group = 8;      ///< rows of clusters' tiles that are worked on together
};

/// Clocks that a product takes with a cut, near enough to choose by. Measured on an H200 (132
/// multiprocessors, driver 580.159.04, December 2026): 64 elements of k of a tile take the matrix units' time
/// (2048 products a clock) and a tenth, or that of their bytes at 50 a clock.
constexpr double gemm_16bit_clocks(const Gemm16Tuning& tuning, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t batch, int multiprocessors) {
  const auto whole = [](std::int64_t count, std::int64_t size) { return (count + size - 1) / size; };
  const int cluster = tuning.multicast * tuning.split;
  const int blocks = tuning.columns == 64 ? 2 : 1;  // a multiprocessor
  // Clusters of more than two blocks leave multiprocessors idle.
  const std::int64_t resident =
      std::int64_t{multiprocessors} * blocks * (cluster > 2 ? 9 : 10) / (10 * cluster);
  const std::int64_t tiles = whole(m, tuning.rows * tuning.multicast) * whole(n, tuning.columns) * batch;
  const double elements = tuning.rows * tuning.columns;
  const double bytes = 128.0 * static_cast<double>(std::min<std::int64_t>(tuning.rows, m) +
                                                   std::min<std::int64_t>(tuning.columns, n));
  const double block_of_k = std::max(1.1 * elements / 32, bytes / (tuning.multicast > 1 ? 54 : 50));
  const double store = elements / 16;
  const double exchange = tuning.split > 1 ? 3000 + elements * 4 / 17 : 0;
  const double tile = block_of_k * static_cast<double>(whole(whole(k, 64), tuning.split)) + store + exchange;
  return 2500 + tile * blocks * static_cast<double>(whole(tiles, std::max<std::int64_t>(resident, 1)));
}

/// The cut that takes least.
constexpr Gemm16Tuning gemm_16bit_tuning(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                                         int multiprocessors) {
  constexpr int shapes[4][2] = {{128, 256}, {128, 128}, {64, 128}, {64, 64}};
  Gemm16Tuning best;
  double least = 0;
  for (const auto& shape : shapes) {
    for (int multicast = 1; multicast <= 2; ++multicast) {
      for (int split = 1; split <= 8; ++split) {
        if (split > 1 && (shape[1] == 256 || multicast > 1 || split * 4 > (k + 63) / 64)) continue;
        if (multicast > 1 && (shape[1] == 64 || m <= shape[0])) continue;
        const Gemm16Tuning tuning{shape[0], shape[1], multicast, split, 8};
        const double clocks = gemm_16bit_clocks(tuning, m, n, k, batch, multiprocessors);
        if (least == 0 || clocks < least) {
          best = tuning;
          least = clocks;
        }
      }
    }
  }
  return best;
}

}  // namespace papillon::cuda
