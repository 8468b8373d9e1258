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
  int split = 1;      ///< parts of k, of a block each; 1 for 128 x 256 and 64 x 64
  int group = 8;      ///< rows of clusters' tiles that are worked on together
};

/// Clocks that a product takes with a cut, near enough to choose by. Measured on an H200 (132
/// multiprocessors, driver 580.159.04, December 2026): 64 elements of k of a tile take the matrix units' time
/// (2048 products a clock) and a tenth, or that of their bytes, or that of memory's answer over the stages
/// under way.
constexpr double gemm_16bit_clocks(const Gemm16Tuning& tuning, std::int64_t m, std::int64_t n, std::int64_t k,
                                   std::int64_t batch, int multiprocessors) {
  const auto whole = [](std::int64_t count, std::int64_t size) { return (count + size - 1) / size; };
  constexpr int clusters[9] = {0, 132, 66, 39, 30, 22, 17, 15, 15};  // of 1 to 8 blocks that run at a time
  const int cluster = tuning.multicast * tuning.split;
  const std::int64_t resident = std::int64_t{multiprocessors} * clusters[std::min(cluster, 8)] / 132;
  const std::int64_t tiles = whole(m, tuning.rows * tuning.multicast) * whole(n, tuning.columns) * batch;
  const double elements = tuning.rows * tuning.columns;
  const double bytes = 128.0 * static_cast<double>(std::min<std::int64_t>(tuning.rows, m) +
                                                   std::min<std::int64_t>(tuning.columns, n));
  const bool from_memory =
      static_cast<double>(m + n) * static_cast<double>(k * batch) * 2 > 40e6;  // not the L2 cache
  const int stages = tuning.columns == 256 ? 4 : tuning.rows == 128 ? 6 : tuning.columns == 128 ? 8 : 5;
  const double block_of_k = std::max({1.1 * elements / 32, bytes / (tuning.multicast > 1 ? 54 : 50),
                                      (from_memory ? 2800.0 : 1500.0) / stages});
  const double store = elements / 16;
  const double exchange = tuning.split > 1 ? 2500 + elements / 8 * (tuning.split - 1) : 0;
  const double tile = block_of_k * static_cast<double>(whole(whole(k, 64), tuning.split)) + store + exchange;
  return 2500 + tile * static_cast<double>(whole(tiles, std::max<std::int64_t>(resident, 1)));
}

/// The cut that takes least.
constexpr Gemm16Tuning gemm_16bit_tuning(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                                         int multiprocessors) {
  constexpr Gemm16Tuning tiles[] = {
      {128, 256, 2, 1, 8}, {128, 256, 1, 1, 8}, {128, 128, 2, 1, 8}, {128, 128, 1, 8, 8},
      {64, 128, 2, 1, 2},  {64, 128, 1, 8, 8},  {64, 64, 1, 1, 8},
  };  // with the most parts of k
  Gemm16Tuning best = tiles[1];
  double least = 0;
  for (Gemm16Tuning tuning : tiles) {
    const std::int64_t parts = std::min<std::int64_t>(tuning.split, std::max<std::int64_t>(k / 512, 1));
    for (tuning.split = 1; tuning.split <= parts; ++tuning.split) {
      if (tuning.multicast > 1 && (m <= tuning.rows || n < tuning.columns)) continue;
      const double clocks = gemm_16bit_clocks(tuning, m, n, k, batch, multiprocessors);
      if (least == 0 || clocks < least) {
        best = tuning;
        least = clocks;
      }
    }
  }
  return best;
}

}  // namespace papillon::cuda
