// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "kernels/cluster_rows.cuh"
#include "kernels/few_rows.cuh"
#include "kernels/lane_rows.cuh"
#include "kernels/tile_rows.cuh"
#include "launch_kernel.cuh"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {

inline RowSigns row_signs(const RowProblem& problem) {
  return problem.in.any() ? RowSigns{problem.in, false} : RowSigns{problem.out, true};
}

template <class S, int LogN, int LaneBits, int Units, int Threads, bool Signed, bool Inner>
cudaError_t launch_lane_rows(cudaStream_t stream, const RowProblem& problem, KernelUse* use) {
  constexpr auto kernel = &lane_rows<S, LogN, LaneBits, Units, Threads, Signed, Inner>;
  if (use != nullptr) {
    use->resident_threads = Threads;
    return describe_kernel<kernel>(Threads, 0, *use);
  }
  constexpr int word_bits = sizeof(S) == 2 ? 3 : sizeof(S) == 4 ? 2 : 1;
  constexpr int unit_rows = LogN < word_bits ? 1 << (word_bits - LogN) : 1;
  constexpr std::int64_t block_units = Units * (Threads >> LaneBits);
  const std::int64_t units = problem.rows / unit_rows;
  const int tail = static_cast<int>(problem.rows % unit_rows) << LogN;
  const std::int64_t all = units + (tail > 0 ? 1 : 0);
  const std::int64_t x_stride = problem.x_stride * unit_rows;
  const std::int64_t y_stride = problem.y_stride * unit_rows;
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t first = 0; first < all; first += most * block_units) {
    const std::int64_t left = all - first;
    const std::int64_t count = left < most * block_units ? left : most * block_units;
    const cudaError_t error = launch<kernel>(
        stream, (count + block_units - 1) / block_units, Threads, 0,
        static_cast<const S*>(problem.x) + first * x_stride, static_cast<S*>(problem.y) + first * y_stride,
        count == left ? units - first : count, count == left ? tail : 0, x_stride, y_stride,
        static_cast<compute_type<S>>(problem.factor), row_signs(problem), problem.first_bit);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

template <class S, int LogN, int CellBits, int Teams, int MinBlocks, bool Signed, bool Inner, class Out = S>
cudaError_t launch_tile_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                             KernelUse* use) {
  using Shape = TileShape<S, CellBits>;
  constexpr auto kernel = &tile_rows<S, LogN, CellBits, Teams, MinBlocks, Signed, Inner, Out>;
  constexpr int threads = 32 * Shape::warps * Teams;
  constexpr int bytes = Teams * Shape::bytes;
  if (use != nullptr) *use = {0, threads, bytes, 0, 0, 1, 0, threads * MinBlocks};
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, bytes, *use);
  constexpr int tile_row_count = Shape::elements >> LogN;
  const std::int64_t tiles = (problem.rows + tile_row_count - 1) / tile_row_count;
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 29;
  for (std::int64_t first = 0; first < tiles; first += most * Teams) {
    const std::int64_t count = std::min(tiles - first, most * Teams);
    const std::int64_t x_stride = problem.x_stride * tile_row_count;
    const std::int64_t y_stride = problem.y_stride * tile_row_count;
    const cudaError_t launched = launch<kernel>(
        stream, (count + Teams - 1) / Teams, threads, bytes,
        static_cast<const S*>(problem.x) + first * x_stride, static_cast<Out*>(problem.y) + first * y_stride,
        count, (problem.rows << LogN) - first * Shape::elements, x_stride, y_stride,
        static_cast<compute_type<S>>(problem.factor), row_signs(problem), problem.first_bit);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

template <class S, int LogN, int CellBits, int BlockRows, bool Signed, bool Inner>
cudaError_t launch_persistent_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                                   KernelUse* use) {
  using Shape = TileShape<S, CellBits>;
  constexpr auto kernel = &persistent_rows<S, LogN, CellBits, Signed, Inner>;
  constexpr int threads = 32 * Shape::warps;
  constexpr int bytes = Shape::bytes + 32 * Shape::row_bytes * Shape::warps;
  if (use != nullptr) *use = {0, threads, bytes, 0, 0, 1, 0, threads};
  const cudaError_t error = allow_shared_memory<kernel>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, bytes, *use);
  const auto block_rows = static_cast<int>(std::clamp<std::int64_t>(
      (problem.rows + device.multiprocessors - 1) / device.multiprocessors, 1, BlockRows));
  return launch<kernel>(stream, (problem.rows + block_rows - 1) / block_rows, threads, bytes,
                        static_cast<const S*>(problem.x), static_cast<S*>(problem.y), problem.rows,
                        block_rows, problem.x_stride, problem.y_stride,
                        static_cast<compute_type<S>>(problem.factor), row_signs(problem), problem.first_bit);
}

template <class S, int LogN, int CellBits, int Split, int MinBlocks, bool Signed, bool Inner>
cudaError_t launch_cluster_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                                KernelUse* use) {
  using Shape = TileShape<S, CellBits>;
  constexpr auto kernel = &cluster_rows<S, LogN, CellBits, Split, MinBlocks, Signed, Inner>;
  constexpr int threads = 32 * Shape::warps;
  constexpr int bytes = Shape::bytes + ClusterExchange<Split, threads>::mailbox_bytes;
  if (use != nullptr) *use = {0, threads, bytes, 0, 0, 1 << Split, 0, threads * MinBlocks};
  const cudaError_t error = allow_shared_memory<kernel, (Split > 3)>(device, bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_cluster_kernel<kernel>(threads, bytes, 1 << Split, *use);
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 26;
  for (std::int64_t first = 0; first < problem.rows; first += most) {
    const cudaError_t launched = launch<kernel, 1 << Split>(
        stream, std::min(problem.rows - first, most) << Split, threads, bytes,
        static_cast<const S*>(problem.x) + first * problem.x_stride,
        static_cast<S*>(problem.y) + first * problem.y_stride, problem.x_stride, problem.y_stride,
        static_cast<compute_type<S>>(problem.factor), row_signs(problem), problem.first_bit);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

template <class S, int LogN>
cudaError_t launch_few_rows(cudaStream_t stream, const RowProblem& problem, KernelUse* use) {
  constexpr auto kernel = &few_rows<S, LogN>;
  constexpr int threads = 1 << (LogN - 3);
  constexpr int bytes = static_cast<int>(sizeof(compute_type<S>)) << LogN;
  static_assert(bytes <= 48 << 10);  // what a block may have without asking
  if (use != nullptr) {
    use->resident_threads = threads;
    return describe_kernel<kernel>(threads, bytes, *use);
  }
  return launch<kernel>(stream, problem.rows, threads, bytes, static_cast<const S*>(problem.x),
                        static_cast<S*>(problem.y), problem.x_stride, problem.y_stride,
                        static_cast<compute_type<S>>(problem.factor));
}

template <class S, int K, bool Signed, bool Inner>
cudaError_t launch_tuned_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                              KernelUse* use) {
  if constexpr (!Signed && !Inner && sm_90::takes_few_rows(sizeof(S), sizeof(compute_type<S>), K, 1)) {
    if (sm_90::takes_few_rows(sizeof(S), sizeof(compute_type<S>), K, problem.rows))
      return launch_few_rows<S, K>(stream, problem, use);
  }
  constexpr RowTuning t = Inner ? sm_90::inner_row_tuning(sizeof(S), sizeof(compute_type<S>), K)
                                : sm_90::row_tuning(sizeof(S), sizeof(compute_type<S>), K);
  if constexpr (t.family == Family::lane) {
    return launch_lane_rows<S, K, t.lane_bits, t.units, t.threads, Signed, Inner>(stream, problem, use);
  } else if constexpr (t.family == Family::persistent) {
    return launch_persistent_rows<S, K, t.cell_bits, t.block_rows, Signed, Inner>(stream, device, problem,
                                                                                  use);
  } else if constexpr (t.family == Family::cluster) {
    // Signs take registers, for which three blocks a multiprocessor leave no room.
    constexpr int min_blocks = Signed ? std::min(t.min_blocks, 2) : t.min_blocks;
    return launch_cluster_rows<S, K, t.cell_bits, t.split, min_blocks, Signed, Inner>(stream, device, problem,
                                                                                      use);
  } else if constexpr (t.family == Family::tile) {
    return launch_tile_rows<S, K, t.cell_bits, t.teams, t.min_blocks, Signed, Inner>(stream, device, problem,
                                                                                     use);
  } else {
    return cudaErrorInvalidValue;  // the caller asks the tuning first
  }
}

template <class S>
cudaError_t launch_widened_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                                KernelUse* use) {
  constexpr int k = widened_row_bits;
  constexpr RowTuning t = sm_90::row_tuning(sizeof(S), sizeof(compute_type<S>), k);
  static_assert(t.family == Family::tile);
  const auto launch = [&]<bool Signed>(std::bool_constant<Signed>) {
    return launch_tile_rows<S, k, t.cell_bits, t.teams, t.min_blocks, Signed, false, float>(stream, device,
                                                                                            problem, use);
  };
  return problem.in.any() || problem.out.any() ? launch(std::true_type{}) : launch(std::false_type{});
}

template <class S, int K>
cudaError_t launch_rows_of_length(cudaStream_t stream, const Device& device, const RowProblem& problem,
                                  KernelUse* use) {
  if constexpr (K > 1 && sm_90::takes_inner_rows(sizeof(S), sizeof(compute_type<S>), K - 1, 1)) {
    if (problem.first_bit > 0) return launch_tuned_rows<S, K, false, true>(stream, device, problem, use);
  }
  if (problem.in.any() || problem.out.any())
    return launch_tuned_rows<S, K, true, false>(stream, device, problem, use);
  return launch_tuned_rows<S, K, false, false>(stream, device, problem, use);
}

template <class S, int... K>
cudaError_t launch_by_length(cudaStream_t stream, const Device& device, const RowProblem& problem,
                             KernelUse* use, std::integer_sequence<int, K...>) {
  cudaError_t error = cudaErrorInvalidValue;
  (void)((problem.k == K + 1 &&
          (error = launch_rows_of_length<S, K + 1>(stream, device, problem, use), true)) ||
         ...);
  return error;
}

template <class S>
cudaError_t launch_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                        KernelUse* use) {
  return launch_by_length<S>(stream, device, problem, use,
                             std::make_integer_sequence<int, longest_cluster_rows>{});
}

}  // namespace papillon::cuda
