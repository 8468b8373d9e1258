// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda {

/// How a product of float matrices is cut.
struct GemmFloatTuning {
  int rows = 128;  ///< of a block's tile: 128 x 128, 64 x 128, 64 x 64 or 32 x 128
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
  // Few rows: tiles of no more rows than are needed, whose k is shared by the warps of a block.
  if (m <= 64 && n >= 1024 && steps >= 8) {
    GemmFloatTuning flat{m <= 32 ? 32 : 64, 128, 1, 16};
    if (tiles(flat.rows, flat.columns) * 2 <= multiprocessors) flat.split = 2;
    return flat;
  }
  // Percents of the time that a multiprocessor takes for a tile of 128 x 128 beside another one: two of them
  // together take 200, one alone 160 (too few warps), and small tiles 17 % more for the same work.
  const std::int64_t places = 2 * std::int64_t{multiprocessors};
  const std::int64_t rest = tiles(128, 128) % places;
  const std::int64_t rest_time = rest == 0 ? 0 : rest <= multiprocessors ? 160 : 200;
  const std::int64_t large_time = tiles(128, 128) / places * 200 + rest_time;
  const std::int64_t small_time = tiles(64, 64) * 117 / (4 * std::int64_t{multiprocessors});
  if (large_time <= small_time) return {};
  GemmFloatTuning small{64, 64, 1, 16};
  const std::int64_t count = tiles(64, 64);
  // Two parts while all blocks are resident; larger clusters only with a multiprocessor for each block, since
  // few of them fit where blocks share multiprocessors.
  if (count * 2 <= 4 * std::int64_t{multiprocessors} && steps >= 4) small.split = 2;
  while (small.split >= 2 && small.split < 8 && count * small.split * 2 <= multiprocessors &&
         steps >= small.split * 4)
    small.split *= 2;
  return small;
}

}  // namespace papillon::cuda
