// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_float_launch.cuh"

namespace papillon::cuda {

cudaError_t launch_gemm_float(cudaStream_t stream, const Device& device, const GemmProduct& product,
                              KernelUse* use) {
  return launch_gemm_float(
      stream, device, product,
      gemm_float_tuning(product.m, product.n, product.k, product.batch, device.multiprocessors), use);
}

}  // namespace papillon::cuda
