// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "butterfly_launch.cuh"

namespace papillon::cuda {

#define PAPILLON_INSTANTIATE(In, Out, S)                                                                     \
  template cudaError_t launch_butterfly<In, Out, S>(cudaStream_t, const Device&, const ButterflyTile&, bool, \
                                                    KernelUse*);
PAPILLON_INSTANTIATE(float, float, float)
PAPILLON_INSTANTIATE(double, double, double)
PAPILLON_INSTANTIATE(ComplexValue<float>, ComplexValue<float>, ComplexValue<float>)
PAPILLON_INSTANTIATE(ComplexValue<double>, ComplexValue<double>, ComplexValue<double>)
PAPILLON_INSTANTIATE(half, half, half)
PAPILLON_INSTANTIATE(half, float, half)
PAPILLON_INSTANTIATE(float, half, half)
PAPILLON_INSTANTIATE(float, float, half)
PAPILLON_INSTANTIATE(bfloat16, bfloat16, bfloat16)
PAPILLON_INSTANTIATE(bfloat16, float, bfloat16)
PAPILLON_INSTANTIATE(float, bfloat16, bfloat16)
PAPILLON_INSTANTIATE(float, float, bfloat16)
#undef PAPILLON_INSTANTIATE

}  // namespace papillon::cuda
