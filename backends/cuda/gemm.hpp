// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device.hpp"
#include "launch.hpp"

namespace papillon::cuda {

/// A batch of matrix products ready for a kernel: C[i] = alpha · A[i] B[i] + beta · C[i] for i < batch, with
/// A of m × k, B of k × n and C of m × n elements. All extents are at least 1, and alpha is not 0. C is
/// row-major (a column-major one is the row-major transpose: its operands have changed places). C is not read
/// where beta is 0.
struct GemmProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  bool a_k_fastest = true;    ///< A[row][k], k varying fastest; else stored as [k][row]
  bool b_k_fastest = false;   ///< stored as [column][k], k varying fastest; else B[k][column]
  std::int64_t a_stride = 0;  ///< elements from one index of the slower of A's two to the next
  std::int64_t b_stride = 0;
  std::int64_t c_stride = 0;  ///< elements from row to row
  std::int64_t a_batch = 0;   ///< elements from matrix to matrix; 0: the same one
  std::int64_t b_batch = 0;
  std::int64_t c_batch = 0;
  double alpha = 1.0;
  double beta = 0.0;
};

/// Whether rows of A, B and C start at multiples of 16 bytes, as the tuned kernels ask.
constexpr bool aligned_rows_for_gemm(const GemmProduct& product, std::size_t in_bytes,
                                     std::size_t out_bytes) {
  const auto whole = [](std::int64_t elements, std::size_t bytes) {
    return elements * static_cast<std::int64_t>(bytes) % 16 == 0;
  };
  return reinterpret_cast<std::uintptr_t>(product.a) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(product.b) % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(product.c) % 16 == 0 && whole(product.a_stride, in_bytes) &&
         whole(product.b_stride, in_bytes) && whole(product.c_stride, out_bytes) &&
         whole(product.a_batch, in_bytes) && whole(product.b_batch, in_bytes) &&
         whole(product.c_batch, out_bytes);
}

// Launch the tuned kernel of a product with aligned rows; with `use` they launch nothing and say what it
// would take. They allocate nothing, may be captured in a graph, and give the same bits in every run.
cudaError_t launch_gemm_float(cudaStream_t stream, const Device& device, const GemmProduct& product,
                              KernelUse* use);
cudaError_t launch_gemm_double(cudaStream_t stream, const Device& device, const GemmProduct& product,
                               KernelUse* use);
/// S: half or bfloat16, summed in FP32; Out: S or float. Needs compute capability 9.0.
template <class S, class Out>
cudaError_t launch_gemm_16bit(cudaStream_t stream, const Device& device, const GemmProduct& product,
                              KernelUse* use);

}  // namespace papillon::cuda
