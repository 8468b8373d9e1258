// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/quantize/amax.cuh"
#include "kernels/quantize/rotate.cuh"
#include "kernels/quantize/rows.cuh"
#include "launch_persistent.cuh"
#include "quantize.hpp"

namespace papillon::cuda {

template <auto Kernel, class S, int Bits>
cudaError_t launch_strips(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                          KernelUse* use) {
  constexpr int bytes = quantize_threads / 32 * quantize_stages * StripTile<S, Bits>::bytes +
                        128 * static_cast<int>(sizeof(Reciprocal));
  const std::int64_t blocks =
      (problem.strips - problem.first_strip + quantize_threads - 1) / quantize_threads;
  return launch_persistent<Kernel>(stream, device, problem, blocks, quantize_threads, quantize_blocks(Bits),
                                   bytes, use);
}

/// launch(std::integral_constant<int, Bits>{}) for the group of the problem: none, or 2^Bits points.
template <class Launch>
cudaError_t visit_group(const RowQuantization& problem, const Launch& launch) {
  cudaError_t error = cudaErrorInvalidValue;
  const auto visit = [&]<int... Bits>(std::integer_sequence<int, Bits...>) {
    (void)((problem.group_bits == Bits && (error = launch(std::integral_constant<int, Bits>{}), true)) ||
           ...);
  };
  visit(std::integer_sequence<int, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12>{});
  return error;
}

template <class S>
cudaError_t launch_find_row_amax(cudaStream_t stream, const Device& device, const RowQuantization& problem) {
  return visit_group(problem, [&]<int Bits>(std::integral_constant<int, Bits>) {
    return launch_strips<&find_row_amax<S, Bits>, S, Bits>(stream, device, problem, nullptr);
  });
}

template <class S>
cudaError_t launch_rotate_rows(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                               float* target) {
  return visit_group(problem, [&]<int Bits>(std::integral_constant<int, Bits>) {
    if constexpr (Bits == 0) {
      return cudaErrorInvalidValue;  // nothing to rotate
    } else {
      constexpr int bytes = quantize_threads / 32 * quantize_stages * StripTile<S, Bits>::bytes;
      const cudaError_t error = allow_shared_memory<&rotate_rows<S, Bits>>(device, bytes);
      if (error != cudaSuccess) return error;
      const std::int64_t strips = problem.strips - problem.first_strip;
      const std::int64_t most = std::int64_t{device.multiprocessors} * quantize_blocks(Bits);
      return launch<&rotate_rows<S, Bits>>(stream,
                                           std::min((strips + quantize_threads - 1) / quantize_threads, most),
                                           quantize_threads, bytes, problem, target);
    }
  });
}

template <class S, bool Stochastic>
cudaError_t launch_quantize_rounded(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                                    KernelUse* use) {
  return visit_group(problem, [&]<int Bits>(std::integral_constant<int, Bits>) {
    switch (problem.scaling.format) {
      case BlockFormat::nvfp4:
        return launch_strips<&quantize_rows<S, RowFormat::nvfp4, Bits, Stochastic>, S, Bits>(stream, device,
                                                                                             problem, use);
      case BlockFormat::mxfp4:
        return launch_strips<&quantize_rows<S, RowFormat::mxfp4, Bits, Stochastic>, S, Bits>(stream, device,
                                                                                             problem, use);
      default:
        if constexpr (Stochastic) return cudaErrorInvalidValue;  // has_row_kernel refuses it
        return launch_strips<&quantize_rows<S, RowFormat::mxfp8, Bits, false>, S, Bits>(stream, device,
                                                                                        problem, use);
    }
  });
}

template <class S>
cudaError_t launch_quantize_rows(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                                 KernelUse* use) {
  return problem.stochastic ? launch_quantize_rounded<S, true>(stream, device, problem, use)
                            : launch_quantize_rounded<S, false>(stream, device, problem, use);
}

}  // namespace papillon::cuda
