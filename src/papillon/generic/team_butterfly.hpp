// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "papillon/core/butterfly_problem.hpp"
#include "papillon/generic/multiply_add.hpp"
#include "papillon/generic/team_tile.hpp"

namespace papillon::generic {

/// One pass over some columns, ready to run.
struct ButterflyTilePass : TilePass {
  int count = 0;
  detail::TileFactor factors[detail::max_pass_factors];  ///< of the pass, the one applied first coming first
};

/// The generic kernel: factor after factor is applied to a tile. It runs on every execution space and is the
/// plain statement of what a pass computes.
template <class ExecutionSpace, class S, class In, class Out>
class TeamButterfly : TeamTile<ExecutionSpace, S, In, Out, ButterflyTilePass> {
  using Base = TeamTile<ExecutionSpace, S, In, Out, ButterflyTilePass>;
  friend Base;
  using Base::pass_;
  using typename Base::C;
  using typename Base::Member;
  using typename Base::Tile;

 public:
  explicit TeamButterfly(const ButterflyTilePass& pass) : Base(pass) {}

  void launch(const ExecutionSpace& space) const { this->launch_kernel(space, "papillon::butterfly", *this); }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Tile tile = this->load(team);
    for (int f = 0; f < pass_.count; ++f) {
      team.team_barrier();
      multiply(team, pass_.factors[f], tile);
      C* const finished = tile.to;
      tile.to = tile.from;
      tile.from = finished;
    }
    team.team_barrier();
    this->store(team, tile);
  }

 private:
  /// to[i, p, j] = sum over q, rising, of W[i, p, q, j] · from[i, q, j] for every line.
  KOKKOS_FUNCTION void multiply(const Member& team, const detail::TileFactor& factor,
                                const Tile& tile) const {
    const auto* const values = static_cast<const S*>(factor.data);
    const std::int64_t step = factor.repeats * tile.width;  // from one q to the next
    Base::each(team, factor.blocks * factor.rows * factor.repeats, tile.width,
               [&](std::int64_t point, std::int64_t l) {
                 const std::int64_t j = point % factor.repeats;
                 const std::int64_t p = point / factor.repeats % factor.rows;
                 const std::int64_t i = point / factor.repeats / factor.rows;
                 const auto& line = tile.lines[l];
                 const S* entry = values + line.outer * factor.outer_stride +
                                  line.inner * factor.inner_stride + line.batch * factor.batch_stride +
                                  i * factor.block_stride + p * factor.row_stride + j * factor.repeat_stride;
                 const C* x = tile.from + (i * factor.columns * factor.repeats + j) * tile.width + l;
                 C sum{};
                 for (std::int64_t q = 0; q < factor.columns; ++q, x += step, entry += factor.column_stride) {
                   const C value = entry_at<C>(entry, factor.conjugate);
                   sum = q == 0 ? product(value, *x) : add_product(value, *x, sum);
                 }
                 tile.to[point * tile.width + l] = sum;
               });
  }
};

}  // namespace papillon::generic
