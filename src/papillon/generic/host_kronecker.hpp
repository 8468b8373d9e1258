// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "papillon/generic/simd/kronecker.hpp"
#include "papillon/generic/team_kronecker.hpp"

namespace papillon::generic {

/// The kernel of host spaces: tiles of lines that the vector kernels take through all factors of a pass. It
/// gives the bits of TeamKronecker.
///
/// A tile holds some groups of lines. A group is one line or, where lines lie side by side in memory, several
/// of them, whose number is then the fastest index of the tile's values.
template <class S, class In, class Out>
class HostKronecker {
  using C = sum_type<S>;
  using R = typename RealOf<C>::type;

 public:
  /// For `threads` threads to share. The factors are copied to memory of the calling thread, which must not
  /// make another one before this has run.
  HostKronecker(const KroneckerTilePass& tile, int threads);

  template <class ExecutionSpace>
  void launch(const ExecutionSpace& space) const {
    if (tiles() == 1 || !worth_sharing_) {
      for (std::int64_t tile = 0; tile < tiles(); ++tile) run(tile);
      return;
    }
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>,
                                       Kokkos::Schedule<Kokkos::Dynamic>>;
    Policy policy(space, 0, tiles());
    policy.set_chunk_size(1);
    Kokkos::parallel_for("papillon::kronecker", policy, [this](std::int64_t tile) { run(tile); });
  }

 private:
  static constexpr bool complex = is_complex_sum<C>;
  static constexpr int planes = complex ? 2 : 1;

  /// Which lines form a group.
  struct Across {
    enum class Index : std::uint8_t { none, inner, column };
    Index index = Index::none;  ///< of the pass' inner index, or of the fastest index beside the axis
    std::int64_t extent = 1;
    std::int64_t from_stride = 0, to_stride = 0;
  };
  /// The first lines of groups that follow one another in even steps.
  struct Stretch {
    std::int64_t from, to, batch;
    std::int64_t from_step, to_step;
    std::int64_t count;
  };
  /// The elements of a tile at one of its ends: lines of points of neighbours.
  struct Shape {
    std::int64_t points, point_stride;
    std::int64_t width, across_stride;
  };

  std::int64_t tiles() const { return across_tiles_ * group_tiles_; }
  void run(std::int64_t tile) const;
  void run_product(std::int64_t tile, const simd::TileProduct<R>& product) const;

  void choose_across();
  void choose_tiles(int threads);
  simd::TileProduct<R> make_product(std::int64_t batch, std::int64_t width) const;
  Stretch stretch_at(std::int64_t group, std::int64_t first_across) const;
  Shape shape(const TileEnd& end, std::int64_t points, std::int64_t across_stride, std::int64_t width) const;

  KroneckerTilePass tile_;
  Across across_;
  bool batched_ = false;  ///< factors differ from line to line
  bool worth_sharing_ = false;
  std::int64_t groups_ = 1;
  std::int64_t group_step_ = 1;  ///< groups of a tile
  std::int64_t group_tiles_ = 1;
  std::int64_t across_step_ = 1;  ///< lines of a tile's groups
  std::int64_t across_tiles_ = 1;
  simd::TileProduct<R> product_;
  simd::TilePlan plan_;
  simd::TilePlan last_plan_;  ///< of the tiles with what is left of a group
};

}  // namespace papillon::generic
