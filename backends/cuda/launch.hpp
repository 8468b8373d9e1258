// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device.hpp"
#include "papillon/core/pass.hpp"
#include "tuning/row_tuning.hpp"

namespace papillon::cuda {

/// Contiguous rows of 2^k points, ready to run.
struct RowProblem {
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t x_stride = 0;  ///< elements from row to row
  std::int64_t y_stride = 0;
  int k = 0;
  double factor = 1.0;
};

/// What a launch takes: printed by `explain`, and read by tests.
struct KernelUse {
  int registers = 0;
  int threads = 0;
  std::size_t shared_bytes = 0;
  int blocks_per_multiprocessor = 0;
};

/// Launches the tuned row kernel of `tuning(k)`; with `use` it launches nothing and says what it would take:
/// without a driver, which is then the error returned, only the threads and the shared memory.
template <class S>
cudaError_t launch_rows(cudaStream_t stream, const Device& device, const RowProblem& problem, KernelUse* use);

/// Launches the kernel of one pass. `base` is the order-m matrix on the device for m > 64.
template <class In, class Out>
cudaError_t launch_pass(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                        const std::int8_t* base, KernelUse* use);

}  // namespace papillon::cuda
