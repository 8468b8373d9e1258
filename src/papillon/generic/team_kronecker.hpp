// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/multiply_add.hpp"
#include "papillon/generic/team_tile.hpp"

namespace papillon::generic {

/// One pass over some columns, ready to run.
struct KroneckerTilePass : TilePass {
  detail::KroneckerPass pass;
  detail::AppliedFactor factors[detail::max_factors];  ///< of the pass
};

/// The generic kernel: factor after factor is applied to a tile. Sums run in the order of rising column
/// index, each a fused multiply-add of the next term (`add_product`). It runs on every execution space and is
/// the plain statement of what a pass computes; the vector kernels of the CPU give the same bits.
template <class ExecutionSpace, class S, class In, class Out>
class TeamKronecker : TeamTile<ExecutionSpace, S, In, Out, KroneckerTilePass> {
  using Base = TeamTile<ExecutionSpace, S, In, Out, KroneckerTilePass>;
  friend Base;
  using Base::locate;
  using Base::pass_;
  using typename Base::C;
  using typename Base::Member;

 public:
  explicit TeamKronecker(const KroneckerTilePass& tile) : Base(tile) {}

  void launch(const ExecutionSpace& space) const { this->launch_kernel(space, "papillon::kronecker", *this); }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const detail::KroneckerPass& pass = pass_.pass;
    auto tile = this->load(team);
    const std::int64_t width = tile.width;
    std::int64_t extents[detail::max_factors];
    for (int f = 0; f < pass.count; ++f) extents[f] = pass_.factors[f].columns;
    for (int step = 0; step < pass.count; ++step) {
      team.team_barrier();
      const int f = pass.order[step];
      std::int64_t run = width;
      std::int64_t outer = 1;
      for (int other = 0; other < pass.count; ++other)
        (other < f ? outer : run) *= other == f ? 1 : extents[other];
      multiply(team, pass_.factors[f], outer, run, width, tile.first_line, tile.from, tile.to);
      extents[f] = pass_.factors[f].rows;
      C* const finished = tile.to;
      tile.to = tile.from;
      tile.from = finished;
    }
    team.team_barrier();
    this->store(team, tile);
  }

 private:
  /// to[(o * rows + a) * run + r] = sum over b of F[a, b] · from[(o * columns + b) * run + r]. The r are side
  /// by side in memory: they are a vector's lanes.
  KOKKOS_FUNCTION void multiply(const Member& team, const detail::AppliedFactor& factor, std::int64_t outer,
                                std::int64_t run, std::int64_t width, std::int64_t first_line, const C* from,
                                C* to) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, outer * factor.rows), [&](std::int64_t i) {
      const std::int64_t row = i % factor.rows;
      const C* values = from + i / factor.rows * factor.columns * run;
      C* sums = to + i * run;
      const S* entries = static_cast<const S*>(factor.data) + row * factor.row_stride;
      const auto lanes = Kokkos::ThreadVectorRange(team, run);
      if (factor.columns == 0) Kokkos::parallel_for(lanes, [&](std::int64_t r) { sums[r] = C{}; });
      for (std::int64_t b = 0; b < factor.columns; ++b, values += run) {
        const S* place = entries + b * factor.column_stride;
        if (factor.batch_stride != 0) {
          Kokkos::parallel_for(lanes, [&](std::int64_t r) {
            const std::int64_t batch = locate(first_line + r % width).batch;
            const C entry = entry_at<C>(place + batch * factor.batch_stride, factor.conjugate);
            sums[r] = b == 0 ? product(entry, values[r]) : add_product(entry, values[r], sums[r]);
          });
          continue;
        }
        const C entry = entry_at<C>(place, factor.conjugate);
        if (b == 0) {
          Kokkos::parallel_for(lanes, [&](std::int64_t r) { sums[r] = product(entry, values[r]); });
        } else {
          Kokkos::parallel_for(lanes,
                               [&](std::int64_t r) { sums[r] = add_product(entry, values[r], sums[r]); });
        }
      }
    });
  }
};

}  // namespace papillon::generic
