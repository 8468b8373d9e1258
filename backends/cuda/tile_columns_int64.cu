// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tile_columns_launch.cuh"

namespace papillon::cuda {
PAPILLON_INSTANTIATE_TILE_COLUMNS(std::int64_t, std::int64_t)
}  // namespace papillon::cuda
