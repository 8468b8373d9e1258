// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker_launch.cuh"

namespace papillon::cuda {

template cudaError_t launch_kronecker<double, double, double>(cudaStream_t, const Device&,
                                                              const KroneckerTile&, bool, KernelUse*);

}  // namespace papillon::cuda
