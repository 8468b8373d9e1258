// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"

namespace papillon::cuda {

/// How a product of doubles is run: tiles of tile_m (128 or 64) × 128, one block a multiprocessor, and k
/// in `split` parts, one or two, each of a block of a cluster.
struct DoubleGemmTuning {
  int tile_m = 128;
  int split = 1;
};

/// Blocks that run for a choice.
constexpr std::int64_t double_gemm_blocks(const GemmProduct& product, DoubleGemmTuning tuning) {
  return (product.m + tuning.tile_m - 1) / tuning.tile_m * ((product.n + 127) / 128) * product.batch *
         tuning.split;
}

/// Clock cycles that a choice takes: rounds of blocks on the card, each with 128 multiply-adds a cycle and
/// multiprocessor, lower tiles at a lower rate; then what starting, writing and adding up the parts take. One
/// NVIDIA H200.
constexpr std::int64_t double_gemm_cycles(const GemmProduct& product, int multiprocessors,
                                          DoubleGemmTuning tuning) {
  const std::int64_t rounds = (double_gemm_blocks(product, tuning) + multiprocessors - 1) / multiprocessors;
  const std::int64_t slabs = ((product.k + 15) / 16 + tuning.split - 1) / tuning.split;
  const std::int64_t slab_cycles = tuning.tile_m == 128 ? 2048 : 1080;
  const std::int64_t exchange = tuning.split > 1 ? 2000 + tuning.tile_m * 26 : 0;
  return rounds * (slabs * slab_cycles + tuning.tile_m * 8 + exchange);
}

/// The choice that takes least. Parts of k only where all blocks run at a time.
constexpr DoubleGemmTuning double_gemm_tuning(const GemmProduct& product, int multiprocessors) {
  DoubleGemmTuning best;
  for (const int tile_m : {128, 64}) {
    for (const int split : {1, 2}) {
      const DoubleGemmTuning choice{tile_m, split};
      if (split > 1 && (double_gemm_blocks(product, choice) > multiprocessors || product.k < 64)) continue;
      if (double_gemm_cycles(product, multiprocessors, choice) <
          double_gemm_cycles(product, multiprocessors, best))
        best = choice;
    }
  }
  return best;
}

}  // namespace papillon::cuda
