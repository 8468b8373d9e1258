// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shared_rows_launch.cuh"

namespace papillon::cuda {
template cudaError_t launch_shared_rows<half>(cudaStream_t, const Device&, const SharedRowProblem&,
                                              KernelUse*);
}  // namespace papillon::cuda
