// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/double_tile.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {
namespace {

using LargeTile = DoubleTile<4, 2, 2, 8, 4>;   // 128 x 128, one block a multiprocessor
using MiddleTile = DoubleTile<2, 4, 2, 4, 4>;  // 64 x 128
using LowTile = DoubleTile<1, 4, 2, 4, 4>;     // 32 x 128

template <class Tile, bool AKFastest, bool BKFastest>
cudaError_t launch_tile(cudaStream_t stream, const Device& device, const GemmProduct& product,
                        KernelUse* use) {
  constexpr auto kernel = &gemm_double<Tile, AKFastest, BKFastest>;
  constexpr int bytes = Tile::template shared_bytes<AKFastest, BKFastest>;
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(Tile::threads, bytes, *use);
  const TileOrder order = tile_order(product, Tile::m, Tile::n, 8);
  const int resident = device.shared_bytes / (bytes + 1024) > 1 ? 2 : 1;
  return launch<kernel>(stream, std::min(order.tiles, device.multiprocessors * resident), Tile::threads,
                        bytes, product, order);
}

template <bool AKFastest, bool BKFastest>
cudaError_t launch_oriented(cudaStream_t stream, const Device& device, const GemmProduct& product,
                            KernelUse* use) {
  if (product.m <= 32) return launch_tile<LowTile, AKFastest, BKFastest>(stream, device, product, use);
  if (product.m <= 64) return launch_tile<MiddleTile, AKFastest, BKFastest>(stream, device, product, use);
  return launch_tile<LargeTile, AKFastest, BKFastest>(stream, device, product, use);
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
