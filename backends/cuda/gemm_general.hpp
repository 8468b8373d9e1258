// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device.hpp"

namespace papillon::cuda {

/// C[i] = alpha · A[i] B[i] + beta · C[i], i < batch, of any strides.
struct GeneralGemm {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  std::int64_t a_row = 0;  ///< elements from row to row
  std::int64_t a_column = 0;
  std::int64_t a_batch = 0;
  std::int64_t b_row = 0;
  std::int64_t b_column = 0;
  std::int64_t b_batch = 0;
  std::int64_t c_row = 0;
  std::int64_t c_column = 0;
  std::int64_t c_batch = 0;
  double alpha = 1.0;
  double beta = 0.0;
};

template <class S, class Out>
cudaError_t launch_gemm_general(cudaStream_t stream, const Device& device, const GeneralGemm& problem);

/// C = beta · C without reading C where beta is 0; nothing else of the problem is used.
template <class Out>
cudaError_t launch_scale_matrix(cudaStream_t stream, const Device& device, const GeneralGemm& problem);

}  // namespace papillon::cuda
