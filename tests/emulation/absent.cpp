// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the emulator leaves out: cuBLAS, and the kernels that read through the copy engine, for which the
// general ones run.
#include <stdexcept>

#include "cublas.hpp"
#include "gemm.hpp"

namespace papillon::cuda {

const std::string& why_no_cublas() {
  static const std::string why = "cuBLAS does not run in the emulator";
  return why;
}

void cublas_gemm(cudaStream_t, const Device&, ScalarType, ScalarType, const GemmProduct&, void*) {
  throw std::logic_error(why_no_cublas());
}

cudaError_t launch_gemm_float(cudaStream_t, const Device&, const GemmProduct&, KernelUse*) {
  return cudaErrorNotSupported;
}

template <class S, class Out>
cudaError_t launch_gemm_16bit(cudaStream_t, const Device&, const GemmProduct&, KernelUse*) {
  return cudaErrorNotSupported;
}
template cudaError_t launch_gemm_16bit<half, half>(cudaStream_t, const Device&, const GemmProduct&,
                                                   KernelUse*);
template cudaError_t launch_gemm_16bit<half, float>(cudaStream_t, const Device&, const GemmProduct&,
                                                    KernelUse*);
template cudaError_t launch_gemm_16bit<bfloat16, bfloat16>(cudaStream_t, const Device&, const GemmProduct&,
                                                           KernelUse*);
template cudaError_t launch_gemm_16bit<bfloat16, float>(cudaStream_t, const Device&, const GemmProduct&,
                                                        KernelUse*);

}  // namespace papillon::cuda
