// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/team_kronecker.hpp"
#include "papillon/generic/tile_passes.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

inline detail::KroneckerPlan make_kronecker_plan(const detail::KroneckerProblem& problem,
                                                 Architecture architecture) {
  return detail::plan_kronecker(problem, detail::tile_limits(architecture).points(problem.scalar));
}

/// Runs one pass for some columns.
template <class S, class ExecutionSpace>
void run_kronecker_pass(const ExecutionSpace& space, const detail::KroneckerProblem& problem,
                        const detail::KroneckerPlan& plan, const detail::TileBuffers& buffers,
                        const PassPlace& place, void* workspace) {
  KroneckerTilePass tile;
  tile.pass = plan[place.index];
  for (int f = 0; f < tile.pass.count; ++f)
    tile.factors[f] =
        problem.factors[static_cast<std::size_t>(tile.pass.first) + static_cast<std::size_t>(f)];
  connect<S>(tile, tile.pass, problem, place, buffers, workspace);
  launch_pass<TeamKronecker, S>(space, tile, place);
}

/// Runs a checked problem.
template <class ExecutionSpace>
void run_kronecker(const ExecutionSpace& space, const detail::KroneckerProblem& problem) {
  if (problem.empty) return;
  constexpr Architecture architecture = architecture_of<ExecutionSpace>;
  const detail::KroneckerPlan plan = make_kronecker_plan(problem, architecture);
  const detail::TileBuffers buffers = detail::buffers_of(problem, plan, architecture);
  const WorkspaceHolder<ExecutionSpace> workspace(space, "kronecker", problem.workspace,
                                                  buffers.bytes(detail::sum_bytes(problem.scalar)));
  visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    for_each_pass(problem, plan.size(), buffers, [&](const PassPlace& place) {
      run_kronecker_pass<S>(space, problem, plan, buffers, place, workspace.data());
    });
  });
}

}  // namespace papillon::generic
