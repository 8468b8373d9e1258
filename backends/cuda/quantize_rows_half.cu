// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quantize_rows_launch.cuh"

namespace papillon::cuda {

template cudaError_t launch_find_row_amax<half>(cudaStream_t, const Device&, const RowQuantization&);
template cudaError_t launch_rotate_rows<half>(cudaStream_t, const Device&, const RowQuantization&, float*);
template cudaError_t launch_quantize_rows<half>(cudaStream_t, const Device&, const RowQuantization&,
                                                KernelUse*);

}  // namespace papillon::cuda
