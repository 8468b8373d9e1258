// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>

#include "launch.hpp"

/// instantiate(In, Out) for the storage types of a pass: see detail::visit_storage.
#define PAPILLON_FOR_EACH_STORAGE(instantiate)                                                  \
  instantiate(float, float) instantiate(double, double) instantiate(std::int32_t, std::int32_t) \
      instantiate(std::int64_t, std::int64_t) instantiate(half, half) instantiate(half, float)  \
          instantiate(float, half) instantiate(bfloat16, bfloat16) instantiate(bfloat16, float) \
              instantiate(float, bfloat16)

namespace papillon::cuda {

/// Raises a kernel's limit of shared memory, and with `LargeCluster` that of blocks in a cluster above what
/// every card must offer, once a device.
template <auto Kernel, bool LargeCluster = false>
cudaError_t allow_shared_memory(const Device& device, int bytes) {
  static std::atomic<std::uint64_t> done{0};
  const std::uint64_t mask = device.index < 64 ? std::uint64_t{1} << device.index : 0;
  if ((done.load(std::memory_order_relaxed) & mask) != 0) return cudaSuccess;
  cudaError_t error = cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(Kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  }
  if constexpr (LargeCluster) {
    if (error == cudaSuccess)
      error = cudaFuncSetAttribute(Kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  if (error == cudaSuccess) done.fetch_or(mask, std::memory_order_relaxed);
  return error;
}

template <auto Kernel>
cudaError_t describe_kernel(int threads, std::size_t shared_bytes, KernelUse& use) {
  cudaFuncAttributes attributes{};
  const cudaError_t error = cudaFuncGetAttributes(&attributes, Kernel);
  use.registers = attributes.numRegs;
  use.threads = threads;
  use.shared_bytes = shared_bytes;
  if (error != cudaSuccess) return error;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&use.blocks_per_multiprocessor, Kernel, threads,
                                                       shared_bytes);
}

/// The configuration of a launch, in clusters or not; it must not move, since it points into itself.
struct LaunchConfig {
  LaunchConfig(cudaStream_t stream, std::int64_t blocks, int threads, int shared_bytes, unsigned size) {
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
    config.stream = stream;
    if (size == 1) return;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {size, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  cudaLaunchConfig_t config{};
  cudaLaunchAttribute cluster{};
};

template <auto Kernel>
cudaError_t describe_cluster_kernel(int threads, int shared_bytes, int size, KernelUse& use) {
  const cudaError_t error = describe_kernel<Kernel>(threads, static_cast<std::size_t>(shared_bytes), use);
  if (error != cudaSuccess) return error;
  const LaunchConfig launch(nullptr, size, threads, shared_bytes, static_cast<unsigned>(size));
  return cudaOccupancyMaxActiveClusters(&use.clusters, Kernel, &launch.config);
}

template <auto Kernel, int Cluster = 1, class... Arguments>
cudaError_t launch(cudaStream_t stream, std::int64_t blocks, int threads, int shared_bytes,
                   Arguments... arguments) {
  const LaunchConfig launch(stream, blocks, threads, shared_bytes, Cluster);
  return cudaLaunchKernelEx(&launch.config, Kernel, arguments...);
}

}  // namespace papillon::cuda
