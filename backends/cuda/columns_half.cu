// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_COLUMNS(half, half)
PAPILLON_INSTANTIATE_COLUMNS(half, float)
PAPILLON_INSTANTIATE_COLUMNS(float, half)
}  // namespace papillon::cuda
