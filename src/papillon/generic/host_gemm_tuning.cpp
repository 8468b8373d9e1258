// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_gemm.hpp"

namespace papillon::generic {
namespace {

constexpr std::string_view hardware = "two cores of an AMD EPYC (Zen 5)";

detail::GemmTuning tuning(std::int64_t least_block, int most_levels, double operations) {
  detail::GemmTuning result;
  result.hardware = hardware;
  result.least_block = least_block;
  result.most_levels = most_levels;
  result.operations_per_second = operations;
  result.bytes_per_second = 40e9;
  result.fused = true;
  return result;
}

}  // namespace

const detail::GemmTuning& host_gemm_tuning(ScalarType scalar) {
  static const detail::GemmTuning float32 = tuning(1024, 2, 440e9);
  static const detail::GemmTuning float64 = tuning(1024, 2, 220e9);
  static const detail::GemmTuning short_float = tuning(1024, 2, 440e9);
  static const detail::GemmTuning complex64 = tuning(512, 2, 110e9);
  static const detail::GemmTuning complex128 = tuning(512, 2, 55e9);
  switch (scalar) {
    case ScalarType::float64:
      return float64;
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return short_float;
    case ScalarType::complex64:
      return complex64;
    case ScalarType::complex128:
      return complex128;
    default:
      return float32;
  }
}

}  // namespace papillon::generic
