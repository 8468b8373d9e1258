// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "gemm.hpp"
#include "kernels/gemm/kernel_float.cuh"
#include "launch_kernel.cuh"
#include "tensor_map.hpp"
#include "tuning/gemm_float.hpp"

namespace papillon::cuda {

using GemmFloatLarge = GemmFloatTile<128, 128, 16, 8, 1, 3, 2>;
using GemmFloatSmall = GemmFloatTile<64, 64, 4, 4, 1, 3, 4>;
using GemmFloatFlat = GemmFloatTile<64, 128, 8, 4, 2, 4, 1>;
using GemmFloatThin = GemmFloatTile<32, 128, 8, 4, 4, 5, 1>;

/// The copy engine's map of an operand: boxes of a tile's extent and the depth of a stage.
inline cudaError_t make_gemm_float_map(CUtensorMap& map, const void* values, std::int64_t extent,
                                       const GemmProduct& product, bool k_fastest, std::int64_t stride,
                                       std::int64_t batch_stride, int box_extent, int box_depth) {
  MatrixBoxes boxes{values, k_fastest ? product.k : extent, k_fastest ? extent : product.k};
  boxes.batch = batch_stride == 0 ? 1 : product.batch;
  boxes.row_stride = stride;
  boxes.batch_stride = batch_stride;
  boxes.box_columns = k_fastest ? box_depth : box_extent;
  boxes.box_rows = k_fastest ? box_extent : box_depth;
  boxes.swizzled = k_fastest;
  return make_tensor_map(map, boxes, 4);
}

template <class Tile, bool AKFastest, bool BKFastest>
cudaError_t launch_gemm_float_tile(cudaStream_t stream, const Device& device, const GemmProduct& product,
                                   const GemmFloatTuning& tuning, KernelUse* use) {
  constexpr auto kernel = &gemm_float_kernel<Tile, AKFastest, BKFastest>;
  cudaError_t error = allow_shared_memory<kernel>(device, Tile::shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) {
    use->cluster = tuning.split;
    use->resident_threads = Tile::threads * Tile::blocks;
    return tuning.split == 1
               ? describe_kernel<kernel>(Tile::threads, Tile::shared_bytes, *use)
               : describe_cluster_kernel<kernel>(Tile::threads, Tile::shared_bytes, tuning.split, *use);
  }
  const auto whole = [](std::int64_t count, std::int64_t size) { return (count + size - 1) / size; };
  GemmFloatProblem problem{};
  error = make_gemm_float_map(problem.a, product.a, product.m, product, AKFastest, product.a_stride,
                              product.a_batch, Tile::rows, Tile::depth);
  if (error != cudaSuccess) return error;
  error = make_gemm_float_map(problem.b, product.b, product.n, product, BKFastest, product.b_stride,
                              product.b_batch, Tile::columns, Tile::depth);
  if (error != cudaSuccess) return error;
  problem.c = static_cast<float*>(product.c);
  problem.c_stride = product.c_stride;
  problem.c_batch = product.c_batch;
  problem.row_tiles = static_cast<std::uint32_t>(whole(product.m, Tile::rows));
  problem.column_tiles = static_cast<std::uint32_t>(whole(product.n, Tile::columns));
  const std::int64_t matrix_tiles = std::int64_t{problem.row_tiles} * problem.column_tiles;
  constexpr std::int64_t most_tiles = std::numeric_limits<int>::max() / 8;
  if (matrix_tiles > most_tiles || product.batch > most_tiles / matrix_tiles) return cudaErrorInvalidValue;
  const std::int64_t tiles = matrix_tiles * product.batch;
  problem.tiles = static_cast<std::uint32_t>(tiles);
  problem.group = static_cast<std::uint32_t>(tuning.group);
  problem.m = static_cast<int>(product.m);
  problem.n = static_cast<int>(product.n);
  problem.steps = static_cast<int>(whole(product.k, Tile::depth));
  problem.split = tuning.split;
  problem.a_batches = product.a_batch == 0 ? 0 : 1;
  problem.b_batches = product.b_batch == 0 ? 0 : 1;
  problem.alpha = static_cast<float>(product.alpha);
  problem.beta = static_cast<float>(product.beta);
  // A split tile's sums are exchanged where the stages were: one tile a cluster.
  const std::int64_t resident = std::int64_t{device.multiprocessors} * Tile::blocks;
  const std::int64_t blocks =
      Tile::slices == 1 && tuning.split == 1 ? std::min(tiles, resident) : tiles * tuning.split;
  LaunchConfig launch(stream, blocks, Tile::threads, Tile::shared_bytes, static_cast<unsigned>(tuning.split));
  // The kernel's start overlaps the end of the one before; it waits before it touches global memory.
  std::array<cudaLaunchAttribute, 2> attributes{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1] = launch.cluster;
  launch.config.attrs = attributes.data();
  launch.config.numAttrs = tuning.split == 1 ? 1 : 2;
  return cudaLaunchKernelEx(&launch.config, kernel, problem);
}

template <class Tile>
cudaError_t launch_gemm_float_tile(cudaStream_t stream, const Device& device, const GemmProduct& product,
                                   const GemmFloatTuning& tuning, KernelUse* use) {
  if (product.a_k_fastest) {
    return product.b_k_fastest
               ? launch_gemm_float_tile<Tile, true, true>(stream, device, product, tuning, use)
               : launch_gemm_float_tile<Tile, true, false>(stream, device, product, tuning, use);
  }
  return product.b_k_fastest
             ? launch_gemm_float_tile<Tile, false, true>(stream, device, product, tuning, use)
             : launch_gemm_float_tile<Tile, false, false>(stream, device, product, tuning, use);
}

/// Launches the kernel with this tuning.
inline cudaError_t launch_gemm_float(cudaStream_t stream, const Device& device, const GemmProduct& product,
                                     const GemmFloatTuning& tuning, KernelUse* use) {
  if (device.major < 9) return cudaErrorNotSupported;                   // the copy engine
  constexpr std::int64_t most = std::numeric_limits<int>::max() - 256;  // its coordinates
  if (std::max({product.m, product.n, product.k, product.batch}) > most) return cudaErrorInvalidValue;
  const auto is = [&](int rows, int columns) { return tuning.rows == rows && tuning.columns == columns; };
  if (is(GemmFloatLarge::rows, GemmFloatLarge::columns))
    return launch_gemm_float_tile<GemmFloatLarge>(stream, device, product, tuning, use);
  if (is(GemmFloatFlat::rows, GemmFloatFlat::columns))
    return launch_gemm_float_tile<GemmFloatFlat>(stream, device, product, tuning, use);
  if (is(GemmFloatThin::rows, GemmFloatThin::columns))
    return launch_gemm_float_tile<GemmFloatThin>(stream, device, product, tuning, use);
  return launch_gemm_float_tile<GemmFloatSmall>(stream, device, product, tuning, use);
}

}  // namespace papillon::cuda
