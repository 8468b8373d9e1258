// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "launch_kernel.cuh"

namespace papillon::cuda {

/// Launches as many blocks as fit the card, which share the tiles.
template <auto Kernel, class Problem>
cudaError_t launch_persistent(cudaStream_t stream, const Device& device, const Problem& problem,
                              std::int64_t tiles, int threads, int blocks, int bytes, KernelUse* use) {
  const cudaError_t error = allow_shared_memory<Kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) {
    const cudaError_t described = describe_kernel<Kernel>(threads, static_cast<std::size_t>(bytes), *use);
    use->resident_threads = threads * blocks;
    return described;
  }
  static std::atomic<int> known{0};  // one architecture at a time has these kernels
  int resident = known.load(std::memory_order_relaxed);
  if (resident == 0) {
    const cudaError_t asked = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, Kernel, threads,
                                                                            static_cast<std::size_t>(bytes));
    if (asked != cudaSuccess) return asked;
    known.store(resident, std::memory_order_relaxed);
  }
  const std::int64_t most = std::int64_t{device.multiprocessors} * std::max(resident, 1);
  return launch<Kernel>(stream, std::min(tiles, most), threads, bytes, problem);
}

}  // namespace papillon::cuda
