// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows_launch.cuh"

namespace papillon::cuda {
template cudaError_t launch_rows<half>(cudaStream_t, const Device&, const RowProblem&, KernelUse*);
template cudaError_t launch_widened_rows<half>(cudaStream_t, const Device&, const RowProblem&, KernelUse*);
}  // namespace papillon::cuda
