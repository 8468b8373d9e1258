// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

#include "papillon/core/fold.hpp"
#include "papillon/core/tile.hpp"
#include "papillon/generic/host_space.hpp"

namespace papillon::generic {

/// Where a pass reads or writes: the array itself, or a buffer with `buffer_points` points for each of its
/// columns.
struct TileEnd {
  void* data = nullptr;
  std::int64_t axis_stride = 1;
  std::int64_t buffer_points = 0;             ///< 0: the array, whose columns lie where the fold says
  const std::int64_t* permutation = nullptr;  ///< point i of the axis lies at permutation[i], if given
};

/// One pass over some columns, as far as its arrays go.
struct TilePass {
  detail::TileShape shape;
  Fold fold;  ///< of the problem
  std::int64_t first_column = 0;
  std::int64_t column_count = 0;
  bool columns_first = false;  ///< neighbouring lines are neighbouring columns, not neighbouring points
  TileEnd source;
  TileEnd target;
  double scale = 1.0;
};

/// A line of a pass: the offsets of its column, and its indices beside the pass'.
struct TileLine {
  std::int64_t x, y, batch;  ///< of the array's column
  std::int64_t column;       ///< number of the column within this call
  std::int64_t outer, inner;
};

/// Line number `index` of a pass.
KOKKOS_INLINE_FUNCTION TileLine locate_line(const TilePass& pass, std::int64_t index) {
  const std::int64_t outer = pass.shape.outer, inner = pass.shape.inner;
  TileLine line;
  if (pass.columns_first) {
    line.column = index % pass.column_count;
    index /= pass.column_count;
    line.inner = index % inner;
    line.outer = index / inner;
  } else {
    line.inner = index % inner;
    index /= inner;
    line.outer = index % outer;
    line.column = index / outer;
  }
  const Offset offset = pass.fold.outer_offset(pass.first_column + line.column);
  line.x = offset.x;
  line.y = offset.y;
  line.batch = offset.position;
  return line;
}

/// Where the column of a line starts at one end of a pass, `array_offset` being x or y of the line.
KOKKOS_INLINE_FUNCTION std::int64_t column_start(const TileLine& line, const TileEnd& end,
                                                 std::int64_t array_offset) {
  return end.buffer_points > 0 ? line.column * end.buffer_points : array_offset;
}

/// The index along the axis of point `point` of a line, the pass having `points`.
KOKKOS_INLINE_FUNCTION std::int64_t axis_index(const TileLine& line, const detail::TileShape& shape,
                                               std::int64_t points, std::int64_t point) {
  return (line.outer * points + point) * shape.inner + line.inner;
}

/// What sums of S are formed in: complex numbers in themselves, all others as in `compute_type`.
template <class S>
using sum_type = compute_type<S>;
template <class C>
inline constexpr bool is_complex_sum = false;
template <class R>
inline constexpr bool is_complex_sum<Kokkos::complex<R>> = true;

/// The real numbers beside C.
template <class C>
struct RealOf {
  using type = C;
};
template <class R>
struct RealOf<Kokkos::complex<R>> {
  using type = R;
};

/// An element of a factor, as sums take it.
template <class C, class S>
KOKKOS_FUNCTION C entry_at(const S* place, bool conjugate) {
  const auto entry = static_cast<C>(*place);
  if constexpr (is_complex_sum<C>) {
    if (conjugate) return Kokkos::conj(entry);
  }
  return entry;
}

/// What the generic kernels share that work on tiles: a team copies a tile, the points of the pass for
/// `width` lines, into scratch, works on it there (the kernel that is derived from this), and writes it back.
/// A line is a column of the array, an index slower and one faster than the pass'. In scratch point p of line
/// number l of the tile lies at p * width + l. `Pass` is a TilePass with what the kernel applies.
template <class ExecutionSpace, class S, class In, class Out, class Pass>
class TeamTile {
 protected:
  using C = sum_type<S>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Member = typename Policy::member_type;
  static constexpr int alignment = 128;
  static constexpr detail::TileLimits limits = detail::tile_limits(architecture_of<ExecutionSpace>);

  /// A team's tile: two halves, between which the kernel goes back and forth, and its lines.
  struct Tile {
    std::int64_t first_line, width;
    C* from;
    C* to;
    TileLine* lines;
  };

  explicit TeamTile(const Pass& pass)
      : pass_(pass), line_count_(pass.column_count * pass.shape.outer * pass.shape.inner) {
    const std::int64_t points = std::max<std::int64_t>(pass.shape.largest, 1);
    width_ = static_cast<int>(std::clamp<std::int64_t>(
        std::min(limits.bytes / (2 * points * static_cast<std::int64_t>(sizeof(C))), line_count_), 1,
        limits.lines));
  }

  /// Runs `kernel`, which is derived from this, for all tiles.
  template <class Kernel>
  void launch_kernel(const ExecutionSpace& space, const char* name, const Kernel& kernel) const {
    const std::int64_t tiles = (line_count_ + width_ - 1) / width_;
    const std::int64_t bytes = scratch_bytes() + alignment;
    const int level = bytes <= Policy::scratch_size_max(0) ? 0 : 1;
    // A device takes only so many teams a launch.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t first = 0; first < tiles; first += most) {
      Kernel part = kernel;
      auto& base = static_cast<TeamTile&>(part);
      base.first_tile_ = first;
      base.scratch_level_ = level;
      Policy policy(space, static_cast<int>(std::min(tiles - first, most)), Kokkos::AUTO);
      policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
      Kokkos::parallel_for(name, policy, part);
    }
  }

  /// The team's tile, read into its `from`. A barrier is due before that is used.
  KOKKOS_FUNCTION Tile load(const Member& team) const {
    Tile tile;
    tile.first_line = (first_tile_ + team.league_rank()) * width_;
    tile.width = line_count_ - tile.first_line < width_ ? line_count_ - tile.first_line : width_;
    auto* scratch =
        static_cast<char*>(team.team_scratch(scratch_level_)
                               .get_shmem_aligned(static_cast<std::size_t>(scratch_bytes()), alignment));
    tile.from = reinterpret_cast<C*>(scratch);
    tile.to = reinterpret_cast<C*>(scratch + half_bytes());
    tile.lines = reinterpret_cast<TileLine*>(scratch + 2 * half_bytes());
    each(team, 1, tile.width,
         [&](std::int64_t, std::int64_t l) { tile.lines[l] = locate(tile.first_line + l); });
    team.team_barrier();
    const auto* source = static_cast<const In*>(pass_.source.data);
    each(team, pass_.shape.source, tile.width, [&](std::int64_t point, std::int64_t l) {
      const TileLine& line = tile.lines[l];
      const std::int64_t from = place(line, pass_.source, line.x, pass_.shape.source, point);
      tile.from[point * tile.width + l] = static_cast<C>(source[from]);
    });
    return tile;
  }

  /// Writes the tile's `from`, times the scale.
  KOKKOS_FUNCTION void store(const Member& team, const Tile& tile) const {
    const auto scale = static_cast<typename RealOf<C>::type>(pass_.scale);
    auto* target = static_cast<Out*>(pass_.target.data);
    each(team, pass_.shape.target, tile.width, [&](std::int64_t point, std::int64_t l) {
      const TileLine& line = tile.lines[l];
      target[place(line, pass_.target, line.y, pass_.shape.target, point)] =
          static_cast<Out>(tile.from[point * tile.width + l] * scale);
    });
  }

  /// body(i, l) for all i < count and l < width, spread over the team.
  template <class Body>
  KOKKOS_FUNCTION static void each(const Member& team, std::int64_t count, std::int64_t width,
                                   const Body& body) {
    if constexpr (is_host_space<ExecutionSpace>) {  // divisions cost more than the rest here
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::int64_t i) {
        for (std::int64_t l = 0; l < width; ++l) body(i, l);
      });
    } else {
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count * width),
                           [&](std::int64_t i) { body(i / width, i % width); });
    }
  }

  KOKKOS_FUNCTION TileLine locate(std::int64_t index) const { return locate_line(pass_, index); }

  Pass pass_;

 private:
  KOKKOS_FUNCTION std::int64_t half_bytes() const {
    const std::int64_t points = pass_.shape.largest > 0 ? pass_.shape.largest : 1;
    const std::int64_t bytes = points * width_ * static_cast<std::int64_t>(sizeof(C));
    return (bytes + alignment - 1) / alignment * alignment;
  }
  KOKKOS_FUNCTION std::int64_t scratch_bytes() const {
    return 2 * half_bytes() + width_ * static_cast<std::int64_t>(sizeof(TileLine));
  }

  /// The element of point `point` of a line, the pass having `points`.
  KOKKOS_FUNCTION std::int64_t place(const TileLine& line, const TileEnd& end, std::int64_t array_offset,
                                     std::int64_t points, std::int64_t point) const {
    std::int64_t index = axis_index(line, pass_.shape, points, point);
    if (end.permutation != nullptr) index = end.permutation[index];
    return column_start(line, end, array_offset) + index * end.axis_stride;
  }

  std::int64_t line_count_;
  std::int64_t first_tile_ = 0;
  int width_ = 1;
  int scratch_level_ = 0;
};

}  // namespace papillon::generic
