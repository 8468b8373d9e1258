// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"

namespace papillon::cuda {

/// How a product of floats is run: 128 × 128 tiles, or 32 × 128 ones for few rows, and k in `split` parts.
struct FloatGemmTuning {
  bool low_tile = false;
  int split = 1;
};

/// Parts of k so that blocks fill the card where tiles alone do not; each part keeps `least_k` of k. Two
/// blocks with 128 × 128 tiles, four with 32 × 128 ones, run at a time on a multiprocessor of an NVIDIA H200.
constexpr FloatGemmTuning float_gemm_tuning(const GemmProduct& product, int multiprocessors) {
  FloatGemmTuning tuning;
  tuning.low_tile = product.m <= 48;
  const std::int64_t tile_m = tuning.low_tile ? 32 : 128;
  const std::int64_t tiles = (product.m + tile_m - 1) / tile_m * ((product.n + 127) / 128) * product.batch;
  const std::int64_t places = std::int64_t{multiprocessors} * (tuning.low_tile ? 4 : 2);
  const std::int64_t least_k = 64;
  while (tuning.split < 8 && tiles * tuning.split * 2 <= places && product.k >= least_k * tuning.split * 2)
    tuning.split *= 2;
  return tuning;
}

}  // namespace papillon::cuda
