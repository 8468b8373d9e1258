// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>

#include "api.hpp"
#include "launch_kernel.cuh"
#include "papillon/core/quantize_steps.hpp"
#include "quantize.hpp"

namespace papillon::cuda {
namespace {

constexpr int threads = 256;
/// Rotated values that stay in the L2 cache.
constexpr std::int64_t plain_chunk_bytes = std::int64_t{24} << 20;

template <class Kernel>
__global__ void __launch_bounds__(threads) plain_kernel(const Kernel kernel, std::int64_t count) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < count; i += step)
    kernel(i);
}

template <class Kernel>
cudaError_t launch_plain(cudaStream_t stream, const Kernel& kernel) {
  const std::int64_t count = kernel.count();
  if (count == 0) return cudaSuccess;
  constexpr std::int64_t most = 1 << 20;
  return launch<&plain_kernel<Kernel>>(stream, std::min((count + threads - 1) / threads, most), threads, 0,
                                       kernel, count);
}

/// See detail::plain_quantize.
struct CudaEngine {
  struct Atomics {
    __device__ static void max(std::uint32_t* place, std::uint32_t value) { atomicMax(place, value); }
    __device__ static void add(std::uint64_t* place, std::uint64_t value) {
      atomicAdd(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(value));
    }
  };
  cudaStream_t stream;

  static constexpr std::int64_t chunk_bytes() { return plain_chunk_bytes; }
  template <class Kernel>
  void for_each(const Kernel& kernel) const {
    check(launch_plain(stream, kernel), "quantize: launching a kernel");
  }
  void rotate(const TensorDescriptor& matrix, const HadamardOptions& options) const {
    hadamard(stream, detail::make_hadamard_problem(matrix, matrix, options, false));
  }
};

}  // namespace

void run_plain_quantize(cudaStream_t stream, const detail::QuantizeProblem& problem, void* workspace) {
  detail::plain_quantize(CudaEngine{stream}, problem, workspace);
}
void run_plain_dequantize(cudaStream_t stream, const detail::DequantizeProblem& problem, void* workspace) {
  detail::plain_dequantize(CudaEngine{stream}, problem, workspace);
}
std::size_t plain_workspace_bytes(const detail::QuantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, plain_chunk_bytes);
}
std::size_t plain_workspace_bytes(const detail::DequantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, plain_chunk_bytes);
}

cudaError_t launch_clear_scale_padding(cudaStream_t stream, const QuantizedLayout& layout,
                                       std::uint8_t* scales) {
  return launch_plain(stream, detail::ClearScalePadding{layout, scales});
}

}  // namespace papillon::cuda
