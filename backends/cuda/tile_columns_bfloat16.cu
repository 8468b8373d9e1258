// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tile_columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_TILE_COLUMNS(bfloat16, bfloat16)
PAPILLON_INSTANTIATE_TILE_COLUMNS(bfloat16, float)
PAPILLON_INSTANTIATE_TILE_COLUMNS(float, bfloat16)
}  // namespace papillon::cuda
