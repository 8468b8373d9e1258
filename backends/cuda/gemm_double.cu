// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/double_tile.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {
namespace {

using Tile = DoubleTile<4, 2, 2, 8, 4>;  // 128 x 128, one block a multiprocessor

template <bool AKFastest, bool BKFastest>
cudaError_t launch_oriented(cudaStream_t stream, const Device& device, const GemmProduct& product,
                            KernelUse* use) {
  constexpr auto kernel = &gemm_double<Tile, AKFastest, BKFastest>;
  constexpr int bytes = Tile::shared_bytes<AKFastest, BKFastest>;
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(Tile::threads, bytes, *use);
  const TileOrder order = tile_order(product, Tile::m, Tile::n, 8);
  return launch<kernel>(stream, std::min(order.tiles, std::int64_t{device.multiprocessors}), Tile::threads,
                        bytes, product, order);
}

}  // namespace

cudaError_t launch_gemm_double(cudaStream_t stream, const Device& device, const GemmProduct& product,
                               KernelUse* use) {
  if (product.a_k_fastest) {
    return product.b_k_fastest ? launch_oriented<true, true>(stream, device, product, use)
                               : launch_oriented<true, false>(stream, device, product, use);
  }
  return product.b_k_fastest ? launch_oriented<false, true>(stream, device, product, use)
                             : launch_oriented<false, false>(stream, device, product, use);
}

}  // namespace papillon::cuda
