// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <utility>

#include "base_matrix.hpp"
#include "kernels/shared_rows.cuh"
#include "launch_kernel.cuh"
#include "tuning/sm_100.hpp"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {

template <class S, int M>
cudaError_t launch_shared_rows_of(cudaStream_t stream, const Device& device, const SharedRowProblem& problem,
                                  KernelUse* use) {
  using C = compute_type<S>;
  constexpr auto kernel = &shared_rows<S, M>;
  const auto tune = device.major >= 10 ? sm_100::shared_tuning : sm_90::shared_tuning;
  const SharedTuning tuning = tune(sizeof(C), M, problem.rows.k, problem.rows.rows);
  const auto bytes =
      static_cast<int>(shared_rows_bytes(sizeof(S), sizeof(C), M, problem.rows.k, tuning.tile_rows));
  constexpr int resident_threads = most_shared_threads(M) * (sizeof(C) == 4 && M == 1 ? 2 : 1);
  if (use != nullptr)
    *use = {0, tuning.threads, static_cast<std::size_t>(bytes), 0, 0, 1, 0, resident_threads};
  const cudaError_t error = allow_shared_memory<kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(tuning.threads, static_cast<std::size_t>(bytes), *use);

  SharedRows<S> rows;
  rows.x_stride = problem.rows.x_stride;
  rows.y_stride = problem.rows.y_stride;
  rows.k = problem.rows.k;
  rows.tile_rows = tuning.tile_rows;
  rows.scale = static_cast<C>(problem.rows.factor);
  rows.in = problem.rows.in;
  rows.out = problem.rows.out;
  rows.ordering = problem.ordering;
  BaseMatrix<C, M> base;
  if constexpr (M > 1) {
    const SmallBase signs = small_base(M, problem.transpose);
    if constexpr (BaseMatrix<C, M>::unrolled) {
      for (int i = 0; i < M * M; ++i)
        base.entries[i] = (signs.rows[i / M] >> (i % M) & 1u) != 0 ? C{-1} : C{1};
    } else {
      base.entries = signs;
    }
  }
  // A grid has at most 2^31 - 1 blocks.
  const std::int64_t most = (std::int64_t{1} << 30) * tuning.tile_rows;
  for (std::int64_t first = 0; first < problem.rows.rows; first += most) {
    rows.rows = std::min(problem.rows.rows - first, most);
    rows.x = static_cast<const S*>(problem.rows.x) + first * rows.x_stride;
    rows.y = static_cast<S*>(problem.rows.y) + first * rows.y_stride;
    const cudaError_t launched = launch<kernel>(stream, (rows.rows + tuning.tile_rows - 1) / tuning.tile_rows,
                                                tuning.threads, bytes, rows, base);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

template <class S, int... M>
cudaError_t launch_by_order(cudaStream_t stream, const Device& device, const SharedRowProblem& problem,
                            KernelUse* use, std::integer_sequence<int, M...>) {
  cudaError_t error = cudaErrorInvalidValue;  // the caller asks has_shared_rows first
  (void)((problem.m == M && (error = launch_shared_rows_of<S, M>(stream, device, problem, use), true)) ||
         ...);
  return error;
}

template <class S>
cudaError_t launch_shared_rows(cudaStream_t stream, const Device& device, const SharedRowProblem& problem,
                               KernelUse* use) {
  return launch_by_order<S>(stream, device, problem, use,
                            std::integer_sequence<int, 1, 12, 20, 28, 36, 44, 52, 60>{});
}

}  // namespace papillon::cuda
