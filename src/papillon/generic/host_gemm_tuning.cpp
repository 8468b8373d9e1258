// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_gemm.hpp"

namespace papillon::generic {
namespace {

/// Where the figures were measured, with GCC 14 and AVX-512; see perf/results/epyc-zen5.
constexpr std::string_view hardware = "two cores of an AMD EPYC (Zen 5)";

/// A level pays where blocks have an extent of `least_block`. A second one never did up to n = 4096: its sums
/// and products go through far memory as often as they save operations.
detail::GemmTuning tuning(std::int64_t least_block, double operations_per_second) {
  detail::GemmTuning result;
  result.hardware = hardware;
  result.least_block = least_block;
  result.most_levels = 1;
  result.operations_per_second = operations_per_second;
  result.bytes_per_second = 30e9;
  result.fused = true;
  return result;
}

}  // namespace

const detail::GemmTuning& host_gemm_tuning(ScalarType scalar) {
  static const detail::GemmTuning float32 = tuning(512, 490e9);
  static const detail::GemmTuning float64 = tuning(768, 235e9);
  static const detail::GemmTuning short_float = tuning(512, 490e9);
  static const detail::GemmTuning complex64 = tuning(512, 110e9);
  static const detail::GemmTuning complex128 = tuning(512, 55e9);
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
