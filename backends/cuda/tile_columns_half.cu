// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tile_columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_TILE_COLUMNS(half, half)
PAPILLON_INSTANTIATE_TILE_COLUMNS(half, float)
PAPILLON_INSTANTIATE_TILE_COLUMNS(float, half)
}  // namespace papillon::cuda
