// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "papillon/core/gemm_plan.hpp"

namespace papillon::cuda {

/// Where a level of Strassen pays, and rates of products with and without. One NVIDIA H200, driver
/// 580.159.04.
constexpr detail::GemmTuning gemm_tuning(ScalarType in) {
  detail::GemmTuning tuning;
  tuning.hardware = "NVIDIA H200";
  tuning.alignment = 16;
  tuning.block_multiple = 16 / static_cast<std::int64_t>(size_of(in));
  tuning.sum_bytes = size_of(in);
  tuning.product_bytes = size_of(compute_scalar(in));
  tuning.bytes_per_second = 4.1e12;
  switch (in) {
    case ScalarType::float64:
      tuning.pays_from = {0, 3584, 12288, 0};
      tuning.most_levels = 3;
      tuning.operations_per_second = 6.0e13;
      break;
    case ScalarType::float32:
      tuning.pays_from = {0, 2048, 6144, 0};
      tuning.most_levels = 3;
      tuning.operations_per_second = 5.1e13;
      break;
    default:
      tuning.most_levels = 1;  // on request alone
      tuning.operations_per_second = 6.9e14;
      break;
  }
  return tuning;
}

/// Whether products are faster with k as the slower index of both operands, so that packing turns those that
/// have it as the faster one.
constexpr bool packs_k_slowest(ScalarType in) { return in == ScalarType::float32; }

/// Whether cuBLAS 13.0 was measured faster than the tuned kernels for a batch of products. Large ones of
/// 16-bit scalars, batches, and float with k as the slower index of both operands run faster on the tuned
/// kernels. Where cuBLAS is faster it is by 1 to 5 % from 2048 on, more below.
constexpr bool cublas_is_faster(ScalarType in, const GemmProduct& product, int major) {
  const std::int64_t least = std::min({product.m, product.n, product.k});
  switch (in) {
    case ScalarType::float32:
      if (product.k <= 256 && std::min(product.m, product.n) >= 2048) return false;  // 1.1 times as fast
      return least < 512 || product.a_k_fastest || product.b_k_fastest ||
             (product.batch == 1 && least < 2048);
    case ScalarType::float64:
      return product.batch < 7 || least < 512;
    default:
      return major != 9 ||
             least < 2048;  // the tuned kernels for 16-bit scalars are of compute capability 9.0
  }
}

/// Matrices of a batch that cuBLAS is given at a time. (Of 343 products of 2048 × 2048 floats in one call it
/// runs at 49.5, of 49 at 53.2 TFLOP/s.)
constexpr std::int64_t most_cublas_batch(ScalarType in, std::int64_t least_extent) {
  return in == ScalarType::float32 && least_extent >= 2048 ? 49 : std::int64_t{1} << 40;
}

/// Parts of k that are multiplied as a batch and added up afterwards, where the tiles of C alone would not
/// fill the card and the kernels' own cuts, by clusters, do not reach: long k, and small products of doubles.
/// 264 tiles of 128 × 128 floats and of low tiles, 132 of others, run at a time.
constexpr std::int64_t k_parts(ScalarType in, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::int64_t tiles = ((m + 127) / 128) * ((n + 127) / 128);
  const bool is_double = in == ScalarType::float64;
  const std::int64_t places = in == ScalarType::float32 || m <= 64 ? 264 : 132;
  const std::int64_t from_k = is_double && tiles <= 32 ? 128 : size_of(in) == 2 ? 8192 : 4096;
  const std::int64_t least_k = is_double ? 64 : size_of(in) == 2 ? 1024 : 256;
  std::int64_t parts = 1;
  if (k < from_k || tiles > 32) return parts;
  while (parts < 256 && tiles * parts * 2 <= places && k >= least_k * parts * 2) parts *= 2;
  return parts;
}

}  // namespace papillon::cuda
