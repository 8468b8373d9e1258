// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>

#include "gemm.hpp"
#include "kernels/gemm/float_tile.cuh"
#include "launch_kernel.cuh"
#include "tuning/gemm_float.hpp"

namespace papillon::cuda {
namespace {

using LargeTile = FloatTile<2, 2, 2, 4, 4>;
using LowTile = FloatTile<1, 4, 1, 2, 6>;

/// Blocks that run at a time on a multiprocessor; the kernels are compiled for as many.
template <class Tile>
constexpr int resident = Tile::row_words * Tile::column_words >= 8 ? 256 / Tile::threads : 4;

template <class Tile, bool AKFastest, bool BKFastest, int Split>
cudaError_t launch_split(cudaStream_t stream, const Device& device, const GemmProduct& product,
                         KernelUse* use) {
  constexpr auto kernel = &gemm_float<Tile, AKFastest, BKFastest, Split>;
  const cudaError_t error = allow_shared_memory<kernel>(device, Tile::shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(Tile::threads, Tile::shared_bytes, *use);
  const TileOrder order = tile_order(product, Tile::m, Tile::n, 8);
  const std::int64_t slabs = (product.k + Tile::depth - 1) / Tile::depth;
  const std::int64_t k_part = (slabs + Split - 1) / Split * Tile::depth;
  const std::int64_t blocks =
      Split > 1 ? order.tiles * Split
                : std::min(order.tiles, std::int64_t{device.multiprocessors} * resident<Tile>);
  return launch<kernel, Split>(stream, blocks, Tile::threads, Tile::shared_bytes, product, order, k_part,
                               static_cast<float>(product.alpha), static_cast<float>(product.beta));
}

template <class Tile, bool AKFastest, bool BKFastest>
cudaError_t launch_tile(cudaStream_t stream, const Device& device, const GemmProduct& product, int split,
                        KernelUse* use) {
  switch (split) {
    case 8:
      return launch_split<Tile, AKFastest, BKFastest, 8>(stream, device, product, use);
    case 4:
      return launch_split<Tile, AKFastest, BKFastest, 4>(stream, device, product, use);
    case 2:
      return launch_split<Tile, AKFastest, BKFastest, 2>(stream, device, product, use);
    default:
      return launch_split<Tile, AKFastest, BKFastest, 1>(stream, device, product, use);
  }
}

template <bool AKFastest, bool BKFastest>
cudaError_t launch_oriented(cudaStream_t stream, const Device& device, const GemmProduct& product,
                            KernelUse* use) {
  const FloatGemmTuning tuning = float_gemm_tuning(product, device.multiprocessors);
  return tuning.low_tile
             ? launch_tile<LowTile, AKFastest, BKFastest>(stream, device, product, tuning.split, use)
             : launch_tile<LargeTile, AKFastest, BKFastest>(stream, device, product, tuning.split, use);
}

}  // namespace

cudaError_t launch_gemm_float(cudaStream_t stream, const Device& device, const GemmProduct& product,
                              KernelUse* use) {
  if (product.a_k_fastest) {
    return product.b_k_fastest ? launch_oriented<true, true>(stream, device, product, use)
                               : launch_oriented<true, false>(stream, device, product, use);
  }
  return product.b_k_fastest ? launch_oriented<false, true>(stream, device, product, use)
                             : launch_oriented<false, false>(stream, device, product, use);
}

}  // namespace papillon::cuda
