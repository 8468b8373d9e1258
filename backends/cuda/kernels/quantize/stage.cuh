// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/quantize/stage.hpp"

namespace papillon::cuda {

/// Copies tiles of 64 x 64 through shared memory, so that it reads along what is near in x and writes along
/// rows, whichever x has.
template <class S, class C>
__global__ void __launch_bounds__(stage_threads) stage_rows(const __grid_constant__ RowStaging problem) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const tile = reinterpret_cast<C*>(shared);
  constexpr int pitch = stage_tile + 4 / static_cast<int>(sizeof(C));
  const std::int64_t tile_columns = (problem.columns + stage_tile - 1) / stage_tile;
  const std::int64_t row = blockIdx.x / tile_columns * stage_tile;
  const std::int64_t column = blockIdx.x % tile_columns * stage_tile;
  const auto least = [](std::int64_t left) {
    return static_cast<int>(left < stage_tile ? left : std::int64_t{stage_tile});
  };
  const int rows = least(problem.rows - row);
  const int columns = least(problem.columns - column);
  const S* const x = static_cast<const S*>(problem.x);
  const int near = static_cast<int>(threadIdx.x) % stage_tile;
  const int far = static_cast<int>(threadIdx.x) / stage_tile;
  constexpr int step = stage_threads / stage_tile;
  if (problem.along_rows) {
    const std::int64_t offset =
        near < rows ? problem.x_rows.offset(problem.first_row + row + near) : std::int64_t{0};
    for (int c = far; c < columns; c += step)
      if (near < rows)
        tile[near * pitch + c] =
            static_cast<C>(load_converted(x[offset + (column + c) * problem.x_rows.element_stride]));
  } else {
    for (int r = far; r < rows; r += step)
      if (near < columns)
        tile[r * pitch + near] =
            static_cast<C>(load_converted(x[problem.x_rows.offset(problem.first_row + row + r) +
                                            (column + near) * problem.x_rows.element_stride]));
  }
  __syncthreads();
  C* const target = static_cast<C*>(problem.target) + row * problem.columns + column;
  for (int r = far; r < rows; r += step)
    if (near < columns) target[r * problem.columns + near] = tile[r * pitch + near];
}

}  // namespace papillon::cuda
