// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_COLUMNS(bfloat16, bfloat16)
PAPILLON_INSTANTIATE_COLUMNS(bfloat16, float)
PAPILLON_INSTANTIATE_COLUMNS(float, bfloat16)
}  // namespace papillon::cuda
