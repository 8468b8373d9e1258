// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/small.cuh"
#include "kernels/kronecker/units.cuh"
#include "kronecker_powers.hpp"
#include "launch_persistent.cuh"
#include "tuning/kronecker.hpp"

namespace papillon::cuda {

template <class S>
struct PowerFamilies {
  template <int P, int Count, int Lanes, int Groups, int Threads, int Blocks, int Stages, int Fused, int>
  static cudaError_t small(cudaStream_t stream, const Device& device, const PowerProblem& problem,
                           KernelUse* use) {
    using Tile = SmallTile<sum_type<S>, P, Count, Fused, Lanes, Groups>;
    return launch_persistent<
        &kronecker_small_kernel<S, S, S, P, Count, Fused, Lanes, Groups, Threads, Blocks, Stages>>(
        stream, device, problem, problem.tiles, Threads, Blocks, Tile::bytes(Stages), use);
  }
  template <int P, int Count, int Lanes, int Groups, int Threads, int Blocks, int Stages, int Rows,
            int Vectors>
  static cudaError_t powers(cudaStream_t stream, const Device& device, const PowerProblem& problem,
                            KernelUse* use) {
    using Tile = PowerTile<sum_type<S>, P, Count, Lanes, Groups>;
    return launch_persistent<
        &kronecker_powers_kernel<S, S, S, P, Count, Lanes, Groups, Threads, Blocks, Stages, Rows, Vectors>>(
        stream, device, problem, problem.tiles, Threads, Blocks, Tile::bytes(Stages), use);
  }
  template <int P, int Count, int Lanes, int Groups, int Threads, int Blocks, int Stages, int, int>
  static cudaError_t units(cudaStream_t stream, const Device& device, const PowerProblem& problem,
                           KernelUse* use) {
    using Tile = UnitTile<S, P, Count, Lanes, Groups>;
    return launch_persistent<&kronecker_units_kernel<S, P, Count, Lanes, Groups, Threads, Blocks, Stages>>(
        stream, device, problem, problem.tiles, Threads, Blocks, Tile::bytes(Stages), use);
  }
};

#define PAPILLON_LAUNCH_LINE(family, size, count, lanes, groups, threads, blocks, stages, a, b)          \
  if (line == number++)                                                                                  \
    return PowerFamilies<S>::template family<size, count, lanes, groups, threads, blocks, stages, a, b>( \
        stream, device, problem, use);

template <class S>
cudaError_t launch_powers(cudaStream_t stream, const Device& device, int line, const PowerProblem& problem,
                          KernelUse* use) {
  int number = 0;
  if constexpr (sizeof(S) == 2) {
    PAPILLON_KRONECKER_OF_2_BYTES(PAPILLON_LAUNCH_LINE)
  } else if constexpr (sizeof(S) == 4) {
    PAPILLON_KRONECKER_OF_4_BYTES(PAPILLON_LAUNCH_LINE)
  } else {
    PAPILLON_KRONECKER_OF_8_BYTES(PAPILLON_LAUNCH_LINE)
  }
  return cudaErrorInvalidValue;
}
#undef PAPILLON_LAUNCH_LINE

}  // namespace papillon::cuda
