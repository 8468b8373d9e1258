// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_COLUMNS(float, float)
}  // namespace papillon::cuda
