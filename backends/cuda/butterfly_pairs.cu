// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/butterfly/pairs.cuh"
#include "launch_persistent.cuh"

namespace papillon::cuda {
namespace {

/// Blocks a multiprocessor: two, so that one loads while the other works; of long rows one, whose tile has
/// twice as many of them for each time that the factors are read.
constexpr int pair_blocks(int k) { return k > 11 ? 1 : 2; }

template <class S, int K>
cudaError_t launch_pairs_of(cudaStream_t stream, const Device& device, PairProblem problem, KernelUse* use) {
  using C = sum_type<S>;
  constexpr int blocks = pair_blocks(K);
  constexpr int threads = sizeof(C) == 8 ? 256 : 512 / blocks;  // doubles take all registers of 256
  constexpr int rows = ((192 << 10) / blocks / static_cast<int>(sizeof(C))) >> K;
  problem.rows.tiles = (problem.rows.lines + rows - 1) / rows;
  return launch_persistent<&butterfly_pairs_kernel<S, K, rows, threads, sizeof(C) == 8 ? 1 : blocks>>(
      stream, device, problem, problem.rows.tiles, threads, blocks, PairTile<C, K, rows>::bytes(), use);
}

}  // namespace

template <class S>
cudaError_t launch_pairs(cudaStream_t stream, const Device& device, const PairProblem& problem,
                         KernelUse* use) {
  static_assert(least_pair_bits == 8 && most_pair_bits == 12);
  switch (problem.k) {
    case 8:
      return launch_pairs_of<S, 8>(stream, device, problem, use);
    case 9:
      return launch_pairs_of<S, 9>(stream, device, problem, use);
    case 10:
      return launch_pairs_of<S, 10>(stream, device, problem, use);
    case 11:
      return launch_pairs_of<S, 11>(stream, device, problem, use);
    case 12:
      return launch_pairs_of<S, 12>(stream, device, problem, use);
    default:
      return cudaErrorInvalidValue;
  }
}

template cudaError_t launch_pairs<float>(cudaStream_t, const Device&, const PairProblem&, KernelUse*);
template cudaError_t launch_pairs<double>(cudaStream_t, const Device&, const PairProblem&, KernelUse*);
template cudaError_t launch_pairs<half>(cudaStream_t, const Device&, const PairProblem&, KernelUse*);
template cudaError_t launch_pairs<bfloat16>(cudaStream_t, const Device&, const PairProblem&, KernelUse*);

}  // namespace papillon::cuda
