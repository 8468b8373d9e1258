// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/quantize/strips.cuh"

namespace papillon::cuda {

/// Writes the rotated rows of a call densely to `target`, as float32: for formats whose blocks are longer
/// than the strip of a lane.
template <class S, int Bits>
__global__ void __launch_bounds__(quantize_threads, quantize_blocks(Bits))
    rotate_rows(const __grid_constant__ RowQuantization problem, float* target) {
  extern __shared__ __align__(16) unsigned char shared[];
  using Tile = StripTile<S, Bits>;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const Tile tile(problem, shared + warp * quantize_stages * Tile::bytes, lane);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * quantize_threads;
  std::int64_t first =
      problem.first_strip + static_cast<std::int64_t>(blockIdx.x) * quantize_threads + warp * 32;
  tile.start(first, 0);
  ptx::async_copy_commit();
  const StripSigns signs = strip_signs<Tile::strip>(problem, lane);
  const float factor = remaining_factor<Bits>(problem);
  for (int stage = 0; first < problem.strips; first += step, stage ^= 1) {
    __syncwarp();
    tile.start(first + step, stage ^ 1);
    ptx::async_copy_commit();
    ptx::async_copy_wait<1>();
    __syncwarp();
    float values[Tile::strip];
    read_rotated<S, Bits>(problem, tile, stage, signs, lane, values);
    const std::int64_t number = first + lane;
    if (number >= problem.strips) continue;
    auto* const to = reinterpret_cast<float4*>(target + (number - problem.first_strip) * Tile::strip);
#pragma unroll
    for (int q = 0; q < Tile::strip / 4; ++q)
      to[q] = make_float4(product(values[4 * q], factor), product(values[4 * q + 1], factor),
                          product(values[4 * q + 2], factor), product(values[4 * q + 3], factor));
  }
  ptx::async_copy_wait<0>();
}

}  // namespace papillon::cuda
