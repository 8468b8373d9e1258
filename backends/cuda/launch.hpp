// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device.hpp"
#include "papillon/core/pass.hpp"
#include "tuning/passes.hpp"
#include "tuning/row_tuning.hpp"

namespace papillon::cuda {

/// Contiguous rows of 2^k elements, ready to run: signs on one side at most. Of the positions in a row the
/// lowest `first_bit` bits tell columns apart that are not transformed, and then there are no signs.
struct RowProblem {
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t x_stride = 0;  ///< elements from row to row
  std::int64_t y_stride = 0;
  int k = 0;
  int first_bit = 0;
  double factor = 1.0;
  detail::SignVector in;
  detail::SignVector out;
  bool widened = false;  ///< 16-bit x, float y: the first pass of a longer transform
};

/// Contiguous rows of m * 2^k points (`has_shared_rows(m)`) with signs and in any order.
struct SharedRowProblem {
  RowProblem rows;
  std::int64_t m = 1;
  bool transpose = false;  ///< of the order-m matrix
  Ordering ordering = Ordering::natural;
};

/// Whether shared_rows has a kernel for this m: 1, or four times an odd number, up to 60.
constexpr bool has_shared_rows(std::int64_t m) { return m == 1 || (m >= 12 && m <= 60 && m % 8 == 4); }

/// What a launch takes: printed by `explain`, and read by tests.
struct KernelUse {
  int registers = 0;
  int threads = 0;
  std::size_t shared_bytes = 0;
  int blocks_per_multiprocessor = 0;
  int clusters = 0;             ///< on the card at a time, for kernels that run in clusters
  int cluster = 1;              ///< blocks of a cluster
  int columns = 0;              ///< of a tile, where tiles are of neighbouring columns
  int resident_threads = 1024;  ///< that the compiler was told a multiprocessor has at a time
};

/// Launches the tuned row kernel of `tuning(k)`; with `use` it launches nothing and says what it would take:
/// without a driver, which is then the error returned, only the threads and the shared memory.
template <class S>
cudaError_t launch_rows(cudaStream_t stream, const Device& device, const RowProblem& problem, KernelUse* use);

/// Launches tile_rows for widened rows of 2^widened_row_bits points of S, a 16-bit type.
inline constexpr int widened_row_bits = 13;
template <class S>
cudaError_t launch_widened_rows(cudaStream_t stream, const Device& device, const RowProblem& problem,
                                KernelUse* use);

/// Launches shared_rows; `use` as above. The device must give a block shared_rows_bytes for one row.
template <class S>
cudaError_t launch_shared_rows(cudaStream_t stream, const Device& device, const SharedRowProblem& problem,
                               KernelUse* use);

/// Bytes of shared memory that a block of shared_rows takes for `tile_rows` rows of m * 2^k points, stored in
/// `bytes` and summed in `compute_bytes`: the values, the entries of the order-m matrix, a bit a sign.
constexpr std::int64_t shared_rows_bytes(int bytes, int compute_bytes, std::int64_t m, int k,
                                         std::int64_t tile_rows) {
  const std::int64_t n = m << k;
  const std::int64_t word = 16 / bytes;
  return ((tile_rows * n + word - 1) / word * word + (m > 1 ? m * m : 0)) * compute_bytes + (n + 31) / 32 * 4;
}

/// Columns of a chunk of aligned columns: a 16-byte word of the compute type, or of storage while registers
/// allow it.
constexpr int column_chunk(std::size_t in, std::size_t out, std::size_t compute, int k) {
  return in == 2 && out == 2 && k <= 3 ? 8 : 16 / static_cast<int>(compute);
}

/// Launches columns for a plain pass of at most 2^most_column_bits points with m = 1 whose inner index is
/// contiguous.
template <class In, class Out>
cudaError_t launch_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                           KernelUse* use);

/// Launches tile_columns for such a pass of at least 2^least_tile_column_bits points whose columns are
/// aligned in 16-byte words of the source. The device must have room for the cluster.
inline constexpr int least_tile_column_bits = 6;
template <class In, class Out>
cudaError_t launch_tile_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                KernelUse* use);

/// Whether every group of `count` columns of the pass is side by side at a multiple of its size, in source
/// and target, so that it is read and written as one word.
bool has_aligned_columns(const detail::Pass& pass, int count);

/// Launches packed_columns for a plain pass with m = 1 over an array without gaps, 16-byte aligned, whose
/// outer indices have at most `most_packed_elements(compute bytes)` elements each.
template <class In, class Out>
cudaError_t launch_packed_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                  KernelUse* use);
constexpr std::int64_t most_packed_elements(std::size_t compute_bytes) {
  return (std::int64_t{192} << 10) / static_cast<std::int64_t>(compute_bytes);
}
/// Elements of its tile, for `outer` indices of `block` elements: 32 KiB of the compute type, if one index is
/// not more, and a multiple of eight outer indices, whole 16-byte words of any type, if they are several.
constexpr std::int64_t packed_tile_elements(std::int64_t block, std::int64_t outer,
                                            std::size_t compute_bytes) {
  const std::int64_t wanted = (std::int64_t{32} << 10) / static_cast<std::int64_t>(compute_bytes) / block;
  const std::int64_t several = block % 8 == 0 ? wanted : wanted / 8 * 8;
  const std::int64_t least = block % 8 == 0 ? 1 : 8;
  const std::int64_t count = several < least ? least : several;
  return (count < outer ? count : outer) * block;
}

/// Launches the kernel of one pass. `base` is the order-m matrix on the device for m > 64.
template <class In, class Out>
cudaError_t launch_pass(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                        const std::int8_t* base, KernelUse* use);

}  // namespace papillon::cuda
