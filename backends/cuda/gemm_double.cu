// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>
#include <limits>

#include "gemm.hpp"
#include "kernels/gemm/double_tile.cuh"
#include "launch_kernel.cuh"
#include "tuning/gemm_double.hpp"

namespace papillon::cuda {
namespace {

using SquareTile = DoubleTile<2, 4, 4, 2, 5>;  // 128 x 128
using LowTile = DoubleTile<2, 4, 2, 2, 6>;     // 64 x 128

template <class Tile, bool AKFastest, bool BKFastest, int Split>
cudaError_t launch_split(cudaStream_t stream, const Device& device, const GemmProduct& product,
                         KernelUse* use) {
  constexpr auto kernel = &gemm_double<Tile, AKFastest, BKFastest, Split>;
  constexpr int bytes = SlabStream<double, Tile, AKFastest, BKFastest>::shared_bytes;
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) {
    use->cluster = Split;
    return describe_kernel<kernel>(Tile::threads, bytes, *use);
  }
  const TileOrder order = tile_order(product, Tile::m, Tile::n, 8 * 128 / Tile::m);
  const std::int64_t slabs = (product.k + Tile::depth - 1) / Tile::depth;
  const std::int64_t blocks = Split > 1 ? order.tiles * Split : std::min(order.tiles, device.multiprocessors);
  return launch<kernel, Split>(stream, blocks, Tile::threads, bytes, product, order,
                               static_cast<int>((slabs + Split - 1) / Split * Tile::depth));
}

template <class Tile, bool AKFastest, bool BKFastest>
cudaError_t launch_tile(cudaStream_t stream, const Device& device, const GemmProduct& product, int split,
                        KernelUse* use) {
  return split > 1 ? launch_split<Tile, AKFastest, BKFastest, 2>(stream, device, product, use)
                   : launch_split<Tile, AKFastest, BKFastest, 1>(stream, device, product, use);
}

template <bool AKFastest, bool BKFastest>
cudaError_t launch_oriented(cudaStream_t stream, const Device& device, const GemmProduct& product,
                            KernelUse* use) {
  const DoubleGemmTuning tuning = double_gemm_tuning(product, device.multiprocessors);
  return tuning.tile_m == 64
             ? launch_tile<LowTile, AKFastest, BKFastest>(stream, device, product, tuning.split, use)
             : launch_tile<SquareTile, AKFastest, BKFastest>(stream, device, product, tuning.split, use);
}

}  // namespace

cudaError_t launch_gemm_double(cudaStream_t stream, const Device& device, const GemmProduct& product,
                               KernelUse* use) {
  if (product.k > std::numeric_limits<int>::max() - 64) return cudaErrorInvalidValue;  // counted in 32 bits
  if (product.a_k_fastest) {
    return product.b_k_fastest ? launch_oriented<true, true>(stream, device, product, use)
                               : launch_oriented<true, false>(stream, device, product, use);
  }
  return product.b_k_fastest ? launch_oriented<false, true>(stream, device, product, use)
                             : launch_oriented<false, false>(stream, device, product, use);
}

}  // namespace papillon::cuda
