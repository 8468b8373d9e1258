// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/host_kronecker.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/generic/team_kronecker.hpp"
#include "papillon/generic/tile_passes.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

inline detail::KroneckerPlan make_kronecker_plan(const detail::KroneckerProblem& problem,
                                                 Architecture architecture) {
  const detail::TileLimits limits = detail::tile_limits(architecture);
  // The vector kernels find lanes within a line too.
  const int least_lines = architecture == Architecture::cpu ? 1 : limits.lines;
  return detail::plan_kronecker(problem, limits.points(problem.scalar, least_lines));
}

/// Runs a pass that reads In and writes Out on the vector kernels, or on the team kernel.
template <bool Vector, class S, class In, class Out, class ExecutionSpace>
void launch_kronecker(const ExecutionSpace& space, const KroneckerTilePass& tile) {
  if constexpr (Vector) {
    HostKronecker<S, In, Out>(tile, space.concurrency()).launch(space);
  } else {
    TeamKronecker<ExecutionSpace, S, In, Out>(tile).launch(space);
  }
}

/// Runs one pass for some columns.
template <bool Vector, class S, class ExecutionSpace>
void run_kronecker_pass(const ExecutionSpace& space, const detail::KroneckerProblem& problem,
                        const detail::KroneckerPlan& plan, const detail::TileBuffers& buffers,
                        const PassPlace& place, void* workspace) {
  KroneckerTilePass tile;
  tile.pass = plan[place.index];
  for (int f = 0; f < tile.pass.count; ++f)
    tile.factors[f] =
        problem.factors[static_cast<std::size_t>(tile.pass.first) + static_cast<std::size_t>(f)];
  connect<S>(tile, tile.pass, problem, place, buffers, workspace);
  visit_pass_elements<S>(place, [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
    launch_kronecker<Vector, S, In, Out>(space, tile);
  });
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) or the team kernel.
template <bool Vector, class ExecutionSpace>
void run_kronecker(const ExecutionSpace& space, const detail::KroneckerProblem& problem) {
  if (problem.empty) return;
  constexpr Architecture architecture = architecture_of<ExecutionSpace>;
  const detail::KroneckerPlan plan = make_kronecker_plan(problem, architecture);
  const detail::TileBuffers buffers = detail::buffers_of(problem, plan, architecture);
  const WorkspaceHolder<ExecutionSpace> workspace(space, "kronecker", problem.workspace,
                                                  buffers.bytes(detail::sum_bytes(problem.scalar)));
  visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    for_each_pass(problem, plan.size(), buffers, [&](const PassPlace& place) {
      run_kronecker_pass<Vector, S>(space, problem, plan, buffers, place, workspace.data());
    });
  });
}

}  // namespace papillon::generic
