// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tuning/sm_90.hpp"

namespace papillon::cuda::sm_100 {

/// As on sm_90: the kernels are compile-checked for sm_100a (148 multiprocessors, 8 TB/s), not measured
/// there.
constexpr RowTuning not_measured(RowTuning tuning) {
  tuning.measured_on = "NVIDIA H200 (sm_90); not measured on sm_100";
  return tuning;
}

constexpr RowTuning row_tuning(int bytes, int compute_bytes, int k) {
  return not_measured(sm_90::row_tuning(bytes, compute_bytes, k));
}

constexpr RowTuning inner_row_tuning(int bytes, int compute_bytes, int k) {
  return not_measured(sm_90::inner_row_tuning(bytes, compute_bytes, k));
}

constexpr bool takes_few_rows(int bytes, int compute_bytes, int k, std::int64_t rows) {
  return sm_90::takes_few_rows(bytes, compute_bytes, k, rows);
}

constexpr SharedTuning shared_tuning(int compute_bytes, int m, int k, std::int64_t rows) {
  return sm_90::shared_tuning(compute_bytes, m, k, rows);
}

}  // namespace papillon::cuda::sm_100
