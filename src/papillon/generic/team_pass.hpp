// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "papillon/core/arithmetic.hpp"
#include "papillon/core/pass.hpp"

namespace papillon::generic {

using detail::Pass;

/// The generic kernel: a team copies a tile of `length` x `width` values into scratch, transforms it there
/// stage by stage, and writes it back. It runs on every execution space and is the plain statement of what a
/// pass computes; the vector kernels of the CPU must give the same bits.
template <class ExecutionSpace, class In, class Out>
class TeamPass {
  using C = compute_type<In>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Member = typename Policy::member_type;

 public:
  /// `base` is the order-m matrix, readable by the execution space (null for m = 1).
  TeamPass(const Pass& pass, const std::int8_t* base)
      : pass_(pass),
        base_(base),
        length_(pass.length()),
        inner_(pass.fold.inner.extent),
        width_(tile_width(pass)),
        inner_tiles_((inner_ + width_ - 1) / width_),
        scale_(static_cast<C>(pass.factor)) {}

  void launch(const ExecutionSpace& space) const {
    const std::int64_t tiles = pass_.fold.outer_count() * inner_tiles_;
    const auto bytes = static_cast<int>(length_ * width_ * static_cast<std::int64_t>(sizeof(C)));
    const int level = bytes + alignment <= Policy::scratch_size_max(0) ? 0 : 1;
    // A device takes only so many teams a launch.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t first = 0; first < tiles; first += most) {
      TeamPass part = *this;
      part.first_tile_ = first;
      part.scratch_level_ = level;
      const auto count = static_cast<int>(tiles - first < most ? tiles - first : most);
      Policy policy(space, count, Kokkos::AUTO);
      policy.set_scratch_size(level, Kokkos::PerTeam(bytes + alignment));
      Kokkos::parallel_for("papillon::hadamard", policy, part);
    }
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t tile = first_tile_ + team.league_rank();
    const Offset origin = pass_.fold.outer_offset(tile / inner_tiles_);
    const std::int64_t first_column = tile % inner_tiles_ * width_;
    const std::int64_t columns = inner_ - first_column < width_ ? inner_ - first_column : width_;
    C* values = static_cast<C*>(
        team.team_scratch(scratch_level_)
            .get_shmem_aligned(static_cast<std::size_t>(length_ * width_) * sizeof(C), alignment));
    const auto each = [&](std::int64_t count, const auto& body) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, static_cast<int>(count)), body);
      team.team_barrier();
    };
    const Dimension& axis = pass_.fold.axis;
    const Dimension& inner = pass_.fold.inner;
    const In* source = static_cast<const In*>(pass_.source) + origin.x;

    each(length_ * columns, [&](int index) {
      const std::int64_t j = index / columns;
      const std::int64_t i = first_column + index % columns;
      const C value = static_cast<C>(source[j * axis.x_stride + i * inner.x_stride]);
      const bool flip = pass_.in.any() && pass_.in.negative(position(origin, j, i));
      values[index] = flip ? detail::negated(value) : value;
    });

    // The power-of-two part, lowest bit first: pairs at distance `half` within blocks of 2 * half.
    for (int bit = 0; bit < pass_.bits; ++bit) {
      const std::int64_t half = (std::int64_t{1} << bit) * columns;
      each(length_ / 2 * columns, [&](int index) {
        const std::int64_t low = index / half * 2 * half + index % half;
        const C a = values[low];
        const C b = values[low + half];
        values[low] = detail::sum(a, b);
        values[low + half] = detail::difference(a, b);
      });
    }

    // The order-m part on the way out, its terms in increasing index order; then the scale, and one rounding.
    const std::int64_t block = std::int64_t{1} << pass_.bits;
    Out* target = static_cast<Out*>(pass_.target) + origin.y;
    each(length_ * columns, [&](int index) {
      const std::int64_t j = index / columns;
      const std::int64_t i = first_column + index % columns;
      C value = values[index];
      if (pass_.m > 1) {
        const std::int8_t* row = base_ + j / block * (pass_.transpose ? 1 : pass_.m);
        const std::int64_t step = pass_.transpose ? pass_.m : 1;
        const C* column = values + (j % block) * columns + index % columns;
        value = row[0] < 0 ? detail::negated(column[0]) : column[0];
        for (std::int64_t q = 1; q < pass_.m; ++q) {
          const C term = column[q * block * columns];
          value = row[q * step] < 0 ? detail::difference(value, term) : detail::sum(value, term);
        }
      }
      value = detail::product(value, scale_);
      const std::int64_t p = position(origin, j, i);
      if (pass_.out.any() && pass_.out.negative(pass_.output_position(p))) value = detail::negated(value);
      target[pass_.target_offset(j * axis.y_stride + i * inner.y_stride, p)] = static_cast<Out>(value);
    });
  }

 private:
  static constexpr int alignment = 64;

  /// Columns of a tile: what the schedule says, within the inner extent.
  static std::int64_t tile_width(const Pass& pass) {
    const std::int64_t width = pass.columns < pass.fold.inner.extent ? pass.columns : pass.fold.inner.extent;
    return width < 1 ? 1 : width;
  }

  KOKKOS_FUNCTION std::int64_t position(const Offset& origin, std::int64_t j, std::int64_t i) const {
    return pass_.first_position + origin.position + j * pass_.fold.axis.position_step +
           i * pass_.fold.inner.position_step;
  }

  Pass pass_;
  const std::int8_t* base_;
  std::int64_t length_;
  std::int64_t inner_;
  std::int64_t width_;
  std::int64_t inner_tiles_;
  C scale_;
  std::int64_t first_tile_ = 0;
  int scratch_level_ = 0;
};

/// Runs one pass with the team kernel, whatever its storage types.
template <class ExecutionSpace>
void run_team_pass(const ExecutionSpace& space, const Pass& pass, const std::int8_t* base) {
  detail::visit_storage(
      pass, [&]<class In, class Out>() { TeamPass<ExecutionSpace, In, Out>(pass, base).launch(space); });
}

}  // namespace papillon::generic
