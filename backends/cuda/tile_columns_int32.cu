// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tile_columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_TILE_COLUMNS(std::int32_t, std::int32_t)
}  // namespace papillon::cuda
