// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "papillon/core/scalar.hpp"
#include "papillon/core/schedule.hpp"

namespace papillon::detail {

/// Bytes of scratch memory at most for a tile: what one factor reads and writes, in the type that sums are
/// formed in. (Kokkos gives a team of a host space 20 MiB.)
inline constexpr std::int64_t most_tile_bytes = std::int64_t{16} << 20;

/// Bytes of a value that sums of `scalar` are formed in.
constexpr std::size_t sum_bytes(ScalarType scalar) {
  return is_complex(scalar) ? size_of(scalar) : compute_bytes_of(scalar);
}

/// A tile near the processor: the bytes of both of its halves, and the lines that it should have at most.
struct TileLimits {
  std::int64_t bytes;
  int lines;

  /// Points of a tile that leave room for `least_lines` lines.
  constexpr std::int64_t points(ScalarType scalar, int least_lines) const {
    return bytes / 2 / least_lines / static_cast<std::int64_t>(sum_bytes(scalar));
  }
};
/// Half of a core's second-level cache of 1 MiB; of a device half of the 48 KiB that a block may use without
/// asking.
constexpr TileLimits tile_limits(Architecture architecture) {
  return architecture == Architecture::cpu ? TileLimits{std::int64_t{512} << 10, 16}
                                           : TileLimits{std::int64_t{24} << 10, 8};
}

/// One axis as a pass over tiles sees it: `source` points before and `target` after, with `outer` slower and
/// `inner` faster indices around, which the pass leaves alone.
struct TileShape {
  std::int64_t source = 1;
  std::int64_t target = 1;
  std::int64_t largest = 1;  ///< the most points on the way
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

/// What lies between passes: for `columns` columns at a time, which go through all passes, buffers of
/// `points` points a column, in the type that sums are formed in.
struct TileBuffers {
  std::int64_t columns = 1;
  std::int64_t points = 0;
  int count = 0;  ///< of buffers: one for two passes, two for more

  std::size_t bytes(std::size_t value) const {
    return static_cast<std::size_t>(columns * points * count) * value;
  }
};

/// The buffers of `passes` passes, between which no more than `points` points a column lie, for `columns`
/// columns.
constexpr TileBuffers make_tile_buffers(std::size_t passes, std::int64_t points, ScalarType scalar,
                                        std::int64_t columns, Architecture architecture) {
  TileBuffers buffers;
  if (passes < 2) return buffers;
  buffers.points = std::max(points, std::int64_t{1});
  buffers.count = passes == 2 ? 1 : 2;
  const auto bytes = static_cast<std::int64_t>(sum_bytes(scalar));
  buffers.columns = std::clamp(sweep_bytes(architecture) / buffers.count / bytes / buffers.points,
                               std::int64_t{1}, columns);
  return buffers;
}

}  // namespace papillon::detail
