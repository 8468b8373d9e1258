// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_general.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/gemm/general.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {

template <class S, class Out>
cudaError_t launch_gemm_general(cudaStream_t stream, const Device&, const GeneralGemm& problem) {
  const std::int64_t row_tiles = (problem.m + general_tile - 1) / general_tile;
  const std::int64_t column_tiles = (problem.n + general_tile - 1) / general_tile;
  constexpr int bytes = 2 * general_depth * general_row * static_cast<int>(sizeof(compute_type<S>));
  // A grid has fewer than 2^31 blocks: a batch of more goes in parts.
  const std::int64_t most =
      std::max<std::int64_t>(std::numeric_limits<std::int32_t>::max() / (row_tiles * column_tiles), 1);
  for (std::int64_t first = 0; first < problem.batch; first += most) {
    GeneralGemm part = problem;
    part.batch = std::min(most, problem.batch - first);
    part.a = static_cast<const S*>(problem.a) + first * problem.a_batch;
    part.b = static_cast<const S*>(problem.b) + first * problem.b_batch;
    part.c = static_cast<Out*>(problem.c) + first * problem.c_batch;
    const cudaError_t error = launch<&gemm_general<S, Out>>(
        stream, part.batch * row_tiles * column_tiles, general_threads, bytes, part, row_tiles, column_tiles);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class Out>
cudaError_t launch_scale_matrix(cudaStream_t stream, const Device&, const GeneralGemm& problem) {
  const std::int64_t count = problem.batch * problem.m * problem.n;
  constexpr std::int64_t most = 1 << 20;
  return launch<&scale_matrix<Out>>(stream, std::min((count + general_threads - 1) / general_threads, most),
                                    general_threads, 0, problem);
}

#define PAPILLON_INSTANTIATE(S, Out) \
  template cudaError_t launch_gemm_general<S, Out>(cudaStream_t, const Device&, const GeneralGemm&);
PAPILLON_INSTANTIATE(float, float)
PAPILLON_INSTANTIATE(double, double)
PAPILLON_INSTANTIATE(half, half)
PAPILLON_INSTANTIATE(half, float)
PAPILLON_INSTANTIATE(bfloat16, bfloat16)
PAPILLON_INSTANTIATE(bfloat16, float)
#undef PAPILLON_INSTANTIATE
template cudaError_t launch_scale_matrix<float>(cudaStream_t, const Device&, const GeneralGemm&);
template cudaError_t launch_scale_matrix<double>(cudaStream_t, const Device&, const GeneralGemm&);
template cudaError_t launch_scale_matrix<half>(cudaStream_t, const Device&, const GeneralGemm&);
template cudaError_t launch_scale_matrix<bfloat16>(cudaStream_t, const Device&, const GeneralGemm&);

}  // namespace papillon::cuda
