// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/quantize/strips.cuh"

namespace papillon::cuda {

/// The largest finite magnitude of a lane's strip of a tile in which there is a NaN or an infinity.
template <class S, int Bits>
__device__ __noinline__ float finite_strip_amax(const RowQuantization& problem, StripTile<S, Bits> tile,
                                                int stage, StripSigns signs, int lane) {
  float values[StripTile<S, Bits>::strip];
  read_rotated<S, Bits>(problem, tile, stage, signs, lane, values);
  float amax = 0.0f;
#pragma unroll
  for (const float value : values) amax = detail::finite_amax(amax, value * remaining_factor<Bits>(problem));
  return amax;
}

/// Raises amax_bits to the largest finite magnitude of the rotated x.
template <class S, int Bits>
__global__ void __launch_bounds__(quantize_threads, quantize_blocks(Bits))
    find_row_amax(const __grid_constant__ RowQuantization problem) {
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
  float most = 0.0f;
  for (int stage = 0; first < problem.strips; first += step, stage ^= 1) {
    __syncwarp();
    tile.start(first + step, stage ^ 1);
    ptx::async_copy_commit();
    ptx::async_copy_wait<1>();
    __syncwarp();
    float values[Tile::strip];
    read_rotated<S, Bits>(problem, tile, stage, signs, lane, values);
    float amax = 0.0f;
#pragma unroll
    for (int b = 0; b < Tile::strip / detail::run_length; ++b)
      amax = ptx::max_or_nan(amax, run_amax(values + b * detail::run_length));
    amax *= factor;
    const bool active = first + lane < problem.strips;
    if (__any_sync(0xffffffffu, active && !(amax <= detail::largest_float)))
      amax = finite_strip_amax<S, Bits>(problem, tile, stage, signs, lane);
    if (active) most = fmaxf(most, amax);
  }
  ptx::async_copy_wait<0>();
  raise_warp_amax(problem.amax_bits, most);
}

}  // namespace papillon::cuda
