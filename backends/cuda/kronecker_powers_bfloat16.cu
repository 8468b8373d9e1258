// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker_powers_launch.cuh"

namespace papillon::cuda {

template cudaError_t launch_powers<bfloat16>(cudaStream_t, const Device&, int, const PowerProblem&,
                                             KernelUse*);

}  // namespace papillon::cuda
