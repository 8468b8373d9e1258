// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device.hpp"
#include "launch.hpp"
#include "papillon/core/kronecker_problem.hpp"

namespace papillon::cuda {

/// A complex number as device code handles one.
template <class R>
struct alignas(2 * sizeof(R)) ComplexValue {
  R re, im;
};

/// Division of numbers below 2^31 by one that is known before the launch (Granlund and Montgomery, Division
/// by invariant integers using multiplication, 1994).
struct Divisor {
  std::uint32_t value = 1;
  std::uint32_t multiplier = 1;
  std::uint32_t shift = 0;

  Divisor() = default;
  explicit Divisor(std::int64_t divisor) : value(static_cast<std::uint32_t>(divisor)) {
    while ((std::uint64_t{1} << shift) < value) ++shift;
    multiplier = static_cast<std::uint32_t>((((std::uint64_t{1} << shift) - value) << 32) / value + 1);
  }
};

/// How a thread takes its vectors from the tile in shared memory.
enum class TileAccess {
  lanes,   ///< words of neighbouring lanes
  points,  ///< words of neighbouring points: there is one lane, and the fastest index is the factor's
};

/// A factor as a block applies it to its tile.
struct TileStep {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  int rows = 1;
  int columns = 1;
  bool conjugate = false;
  TileAccess access = TileAccess::lanes;
  int run = 1;           ///< points of the tile's faster indices, times lanes
  Divisor run_divisor;   ///< by run
  int vectors = 0;       ///< that the factor multiplies: points of the tile's other indices, times lanes
  int factor_place = 0;  ///< in the shared memory of factors, in values
};

/// Where a pass reads or writes: the caller's array, or a buffer with `buffer_points` points a column.
struct TileEnd {
  void* data = nullptr;
  std::int64_t axis_stride = 1;
  std::int64_t buffer_points = 0;  ///< 0: the array, whose columns lie where the fold says
  int points = 1;                  ///< of a line
  bool words = false;              ///< read and written in words of 16 bytes
  bool points_first = false;       ///< value by value, neighbouring threads taking neighbouring points
  Divisor chunk_divisor;  ///< by the chunks that neighbouring threads take before the slower index steps
};

/// A pass of a product, ready to run. A line is the pass' points of one column of the array at one slower and
/// one faster index of its axis. A block takes `groups` x `lanes` of them, one of which is 1: in shared
/// memory a tile is [group][point][lane].
struct KroneckerTile {
  Fold fold;
  std::int64_t first_column = 0;
  std::int64_t column_count = 0;
  std::int64_t outer = 1;        ///< slower indices of the axis beside the pass'
  std::int64_t inner = 1;        ///< faster ones
  bool columns_fastest = false;  ///< neighbouring lines are neighbouring columns, else inner indices
  TileEnd source;
  TileEnd target;
  std::int64_t lines = 0;
  std::int64_t first_tile = 0;
  int groups = 1;
  int lanes = 1;
  int pad_every = 0;  ///< values after which the tile leaves 16 bytes free, so that banks differ; 0: never
  Divisor pad_divisor;
  int tile_values = 0;        ///< of the tile in shared memory, at its largest
  bool two_tiles = false;     ///< some factor does not write where it reads
  int factor_values = 0;      ///< of factors in shared memory
  bool factors_stay = false;  ///< all of them are there at once
  bool batched = false;       ///< some factor differs from one batch entry to the next
  double scale = 1.0;
  int step_count = 0;
  TileStep steps[detail::max_factors];
};

/// A pass of square factors of one size, a power of two, over arrays without gaps.
struct PowerFactor {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
};
inline constexpr int most_powers = 10;
struct PowerProblem {
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t x_stride = 0;  ///< elements between the pass' points of one slower index and of the next
  std::int64_t y_stride = 0;
  std::int64_t lines = 0;  ///< slower indices, those of the columns included
  std::int64_t inner = 1;  ///< faster ones
  std::int64_t tiles = 0;
  double scale = 1.0;
  PowerFactor factors[most_powers];
};

/// Rows of a factor that a thread takes at a time, and vectors, for sums of `bytes` each.
constexpr int product_rows(int bytes, int rows) {
  if (rows <= 2) return 2;
  if (rows <= 4 || bytes > 4) return 4;
  return 8;
}
constexpr int product_vectors(int bytes) { return bytes == 16 ? 4 : 8; }
/// Rows of a factor as it stands in shared memory.
constexpr int padded_rows(int bytes, int rows) {
  const int taken = product_rows(bytes, rows);
  return (rows + taken - 1) / taken * taken;
}

/// Threads that take the rows of a factor at a time.
constexpr int row_groups(int bytes, int rows) { return padded_rows(bytes, rows) / product_rows(bytes, rows); }

/// Threads of a block at most.
inline constexpr int most_tile_threads = 512;
/// Lines of a tile at most.
inline constexpr int most_tile_lines = 512;
/// Shared memory of a block for `tile`, sums having `bytes` each: offsets of lines, factors, values.
constexpr std::int64_t kronecker_shared_bytes(const KroneckerTile& tile, int bytes) {
  const std::int64_t offsets = std::int64_t{tile.groups} * tile.lanes * 8 * (tile.batched ? 3 : 2);
  const std::int64_t values = std::int64_t{tile.tile_values} * (tile.two_tiles ? 2 : 1) + tile.factor_values;
  return (offsets + 15) / 16 * 16 + values * bytes;
}

/// Launches the pass, of storage types In and Out and factors of S; `direct` where no tile takes its one
/// factor. With `use` it launches nothing and says what it would take.
template <class In, class Out, class S>
cudaError_t launch_kronecker(cudaStream_t stream, const Device& device, const KroneckerTile& tile,
                             bool direct, KernelUse* use);

}  // namespace papillon::cuda
