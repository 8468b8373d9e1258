// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/generic/host_butterfly.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/generic/team_butterfly.hpp"
#include "papillon/generic/tile_passes.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

/// Refuses a permutation in host memory that leaves the array.
inline void check_permutation_range(const detail::ButterflyProblem& problem) {
  const std::int64_t length = problem.permutes_result ? problem.y_length : problem.x_length;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t index = problem.permutation[i];
    if (index < 0 || index >= length) {
      throw_invalid_argument("butterfly", "x_permutation[", i, "] = ", index, " is outside 0 … ", length - 1);
    }
  }
}

/// Runs a pass that reads In and writes Out on the vector kernels, where its tiles fit, or on the team
/// kernel.
template <bool Vector, class S, class In, class Out, class ExecutionSpace>
void launch_butterfly(const ExecutionSpace& space, const ButterflyTilePass& pass) {
  if constexpr (Vector) {
    const HostButterfly<S, In, Out> kernel(pass);
    if (kernel.fits()) return kernel.launch(space);
  }
  TeamButterfly<ExecutionSpace, S, In, Out>(pass).launch(space);
}

/// Runs one pass for some columns.
template <bool Vector, class S, class ExecutionSpace>
void run_butterfly_pass(const ExecutionSpace& space, const detail::ButterflyProblem& problem,
                        const detail::ButterflyPlan& plan, const detail::TileBuffers& buffers,
                        const PassPlace& place, void* workspace) {
  const detail::ButterflyPass& pass = plan[place.index];
  ButterflyTilePass tile;
  tile.count = pass.count;
  for (int f = 0; f < pass.count; ++f) {
    const std::size_t number = static_cast<std::size_t>(pass.first) + static_cast<std::size_t>(f);
    tile.factors[f] = detail::tile_factor(problem.factors[number], pass);
  }
  connect<S>(tile, pass, problem, place, buffers, workspace);
  tile.columns_first = takes_columns_first(problem, pass);
  if (!problem.permutes_result && place.reads_array()) tile.source.permutation = problem.permutation;
  if (problem.permutes_result && place.writes_array()) tile.target.permutation = problem.permutation;
  visit_pass_elements<S>(place, [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
    launch_butterfly<Vector, S, In, Out>(space, tile);
  });
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) or the team kernel.
template <bool Vector, class ExecutionSpace>
void run_butterfly(const ExecutionSpace& space, const detail::ButterflyProblem& problem) {
  if (problem.empty) return;
  constexpr Architecture architecture = architecture_of<ExecutionSpace>;
  if constexpr (is_host_space<ExecutionSpace>) {
    if (problem.permutation != nullptr) check_permutation_range(problem);
  }
  const detail::ButterflyPlan plan = plan_butterfly(problem, architecture);
  const detail::TileBuffers buffers = detail::buffers_of(problem, plan, architecture);
  const WorkspaceHolder<ExecutionSpace> workspace(space, "butterfly", problem.workspace,
                                                  buffers.bytes(detail::sum_bytes(problem.scalar)));
  visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    for_each_pass(problem, plan.size(), buffers, [&](const PassPlace& place) {
      run_butterfly_pass<Vector, S>(space, problem, plan, buffers, place, workspace.data());
    });
  });
}

}  // namespace papillon::generic
