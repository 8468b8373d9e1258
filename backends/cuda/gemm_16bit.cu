// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "gemm.hpp"
#include "kernels/gemm/kernel_16bit.cuh"
#include "launch_kernel.cuh"
#include "tensor_map.hpp"
#include "tuning/gemm_16bit.hpp"

namespace papillon::cuda {
namespace {

using Large = Gemm16Tile<128, 256, 4, 2, false>;
using Medium = Gemm16Tile<128, 128, 6, 2, true>;
using Wide = Gemm16Tile<64, 128, 8, 2, true>;
using Small = Gemm16Tile<64, 64, 5, 1, false>;

constexpr std::int64_t most_tiles = std::numeric_limits<int>::max();
constexpr std::int64_t whole(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

/// Rows or columns of an operand that a block loads: no more than there are, since boxes that are mostly
/// outside take longer than smaller ones; whole boxes of 64 where k is not fastest.
constexpr int loaded_extent(int tile, std::int64_t extent, bool k_fastest) {
  return static_cast<int>(std::min<std::int64_t>(tile, k_fastest ? extent : whole(extent, 64) * 64));
}

/// The copy engine's maps of a product for a tile.
template <class Tile, class Out>
cudaError_t make_maps(const GemmProduct& product, const Gemm16Tuning& tuning, Gemm16Problem& problem) {
  problem.a_extent = loaded_extent(Tile::rows, product.m, product.a_k_fastest);
  const int share = Tile::columns / tuning.multicast;
  problem.b_extent = tuning.multicast > 1 ? share : loaded_extent(share, product.n, product.b_k_fastest);
  // A's rows and B's columns by k: boxes of 64 elements of what is fastest.
  const auto operand = [&](const void* values, std::int64_t extent, bool k_fastest, std::int64_t stride,
                           std::int64_t batch_stride, int box) {
    MatrixBoxes boxes{values, k_fastest ? product.k : extent, k_fastest ? extent : product.k};
    boxes.batch = batch_stride == 0 ? 1 : product.batch;
    boxes.row_stride = stride;
    boxes.batch_stride = batch_stride;
    boxes.box_columns = 64;
    boxes.box_rows = k_fastest ? box : Tile::depth;
    return boxes;
  };
  cudaError_t error = make_tensor_map(
      problem.a,
      operand(product.a, product.m, product.a_k_fastest, product.a_stride, product.a_batch, problem.a_extent),
      2);
  if (error == cudaSuccess) {
    error = make_tensor_map(problem.b,
                            operand(product.b, product.n, product.b_k_fastest, product.b_stride,
                                    product.b_batch, problem.b_extent),
                            2);
  }
  if (error != cudaSuccess) return error;
  MatrixBoxes c{product.c, product.n, product.m, product.batch, product.c_stride, product.c_batch};
  c.box_columns = 128 / sizeof(Out);
  c.box_rows = 16;
  return make_tensor_map(problem.c, c, sizeof(Out));
}

/// Clusters of `size` blocks that the device runs at a time, asked once for each size.
template <auto Kernel>
cudaError_t resident_clusters(const Device& device, int threads, int shared_bytes, int size, int& count) {
  static std::array<std::atomic<int>, 17> known{};  // one architecture has these kernels
  std::atomic<int>& answer = known[static_cast<std::size_t>(size)];
  count = answer.load(std::memory_order_relaxed);
  if (count != 0) return cudaSuccess;
  const LaunchConfig launch(nullptr, size, threads, shared_bytes, static_cast<unsigned>(size));
  const cudaError_t error = size == 1 ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                            &count, Kernel, threads, static_cast<std::size_t>(shared_bytes))
                                      : cudaOccupancyMaxActiveClusters(&count, Kernel, &launch.config);
  if (error != cudaSuccess) return error;
  if (count == 0) return cudaErrorInvalidConfiguration;
  if (size == 1) count *= device.multiprocessors;
  answer.store(count, std::memory_order_relaxed);
  return cudaSuccess;
}

template <class S, class Out, class Tile>
cudaError_t launch_tile(cudaStream_t stream, const Device& device, const GemmProduct& product,
                        const Gemm16Tuning& tuning, KernelUse* use) {
  constexpr auto kernel = &gemm_16bit_kernel<S, Out, Tile>;
  const int cluster = tuning.multicast * tuning.split;
  cudaError_t error = allow_shared_memory<kernel>(device, Tile::shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) {
    use->cluster = cluster;
    use->resident_threads = Tile::threads;
    return cluster == 1 ? describe_kernel<kernel>(Tile::threads, Tile::shared_bytes, *use)
                        : describe_cluster_kernel<kernel>(Tile::threads, Tile::shared_bytes, cluster, *use);
  }
  Gemm16Problem problem{};
  error = make_maps<Tile, Out>(product, tuning, problem);
  if (error != cudaSuccess) return error;
  problem.c_values = product.c;
  problem.c_stride = product.c_stride;
  problem.c_batch = product.c_batch;
  problem.row_tiles = static_cast<std::uint32_t>(whole(product.m, Tile::rows * tuning.multicast));
  problem.column_tiles = static_cast<std::uint32_t>(whole(product.n, Tile::columns));
  const std::int64_t tiles = product.batch * problem.row_tiles * problem.column_tiles;
  if (tiles > most_tiles) return cudaErrorInvalidValue;
  problem.tiles = static_cast<std::uint32_t>(tiles);
  problem.group = static_cast<std::uint32_t>(tuning.group);
  problem.m = static_cast<int>(product.m);
  problem.n = static_cast<int>(product.n);
  problem.k_blocks = static_cast<int>(whole(product.k, Tile::depth));
  problem.multicast = tuning.multicast;
  problem.split = tuning.split;
  problem.a_batches = product.a_batch == 0 ? 0 : 1;
  problem.b_batches = product.b_batch == 0 ? 0 : 1;
  problem.a_k_fastest = product.a_k_fastest;
  problem.b_k_fastest = product.b_k_fastest;
  problem.whole_words = product.n * static_cast<std::int64_t>(sizeof(Out)) % 16 == 0;
  problem.alpha = static_cast<float>(product.alpha);
  problem.beta = static_cast<float>(product.beta);
  problem.plain = problem.alpha == 1.0F && problem.beta == 0.0F;
  int clusters = 0;
  error = resident_clusters<kernel>(device, Tile::threads, Tile::shared_bytes, cluster, clusters);
  if (error != cudaSuccess) return error;
  // A cluster that cuts k has one tile: the sums that it exchanges take the place of its stages.
  const std::int64_t blocks = (tuning.split > 1 ? tiles : std::min<std::int64_t>(tiles, clusters)) * cluster;
  LaunchConfig launch(stream, blocks, Tile::threads, Tile::shared_bytes, static_cast<unsigned>(cluster));
  // The kernel's start overlaps the end of the one before; it waits before it touches global memory.
  std::array<cudaLaunchAttribute, 2> attributes{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1] = launch.cluster;
  launch.config.attrs = attributes.data();
  launch.config.numAttrs = cluster == 1 ? 1 : 2;
  return cudaLaunchKernelEx(&launch.config, kernel, problem);
}

}  // namespace

template <class S, class Out>
cudaError_t launch_gemm_16bit(cudaStream_t stream, const Device& device, const GemmProduct& product,
                              KernelUse* use) {
  if (device.major != 9) return cudaErrorNotSupported;                  // wgmma
  constexpr std::int64_t most = std::numeric_limits<int>::max() - 256;  // coordinates of the copy engine
  if (std::max({product.m, product.n, product.k, product.batch}) > most) return cudaErrorInvalidValue;
  const Gemm16Tuning tuning =
      gemm_16bit_tuning(product.m, product.n, product.k, product.batch, device.multiprocessors);
  const auto is = [&](int rows, int columns) { return tuning.rows == rows && tuning.columns == columns; };
  if (is(Large::rows, Large::columns))
    return launch_tile<S, Out, Large>(stream, device, product, tuning, use);
  if (is(Medium::rows, Medium::columns))
    return launch_tile<S, Out, Medium>(stream, device, product, tuning, use);
  if (is(Wide::rows, Wide::columns)) return launch_tile<S, Out, Wide>(stream, device, product, tuning, use);
  return launch_tile<S, Out, Small>(stream, device, product, tuning, use);
}

template cudaError_t launch_gemm_16bit<half, half>(cudaStream_t, const Device&, const GemmProduct&,
                                                   KernelUse*);
template cudaError_t launch_gemm_16bit<half, float>(cudaStream_t, const Device&, const GemmProduct&,
                                                    KernelUse*);
template cudaError_t launch_gemm_16bit<bfloat16, bfloat16>(cudaStream_t, const Device&, const GemmProduct&,
                                                           KernelUse*);
template cudaError_t launch_gemm_16bit<bfloat16, float>(cudaStream_t, const Device&, const GemmProduct&,
                                                        KernelUse*);

}  // namespace papillon::cuda
