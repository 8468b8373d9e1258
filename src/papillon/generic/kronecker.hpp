// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/host_kronecker.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/generic/team_kronecker.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

inline detail::KroneckerPlan make_kronecker_plan(const detail::KroneckerProblem& problem,
                                                 Architecture architecture) {
  return detail::plan_kronecker(problem, kronecker_tile(architecture).points(problem.scalar));
}

/// visit(std::type_identity<S>{}) for the scalar of a product, complex ones as Kokkos has them.
template <class Visit>
void visit_product_scalar(ScalarType scalar, const Visit& visit) {
  switch (scalar) {
    case ScalarType::float32:
      return visit(std::type_identity<float>{});
    case ScalarType::float64:
      return visit(std::type_identity<double>{});
    case ScalarType::float16:
      return visit(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return visit(std::type_identity<bfloat16>{});
    case ScalarType::complex64:
      return visit(std::type_identity<Kokkos::complex<float>>{});
    case ScalarType::complex128:
      return visit(std::type_identity<Kokkos::complex<double>>{});
    case ScalarType::int32:
    case ScalarType::int64:
      break;  // refused
  }
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

/// Runs pass number `index` for the columns from `first` on.
template <bool Vector, class S, class ExecutionSpace>
void run_kronecker_pass(const ExecutionSpace& space, const detail::KroneckerProblem& problem,
                        const detail::KroneckerPlan& plan, const detail::KroneckerBuffers& buffers,
                        std::size_t index, std::int64_t first, std::int64_t count, void* workspace) {
  using C = sum_type<S>;
  const bool reads_array = index == 0;
  const bool writes_array = index + 1 == plan.size();
  const auto buffer = [&](std::size_t number) {
    const std::int64_t offset = number % 2 == 0 || buffers.count < 2 ? 0 : buffers.columns * buffers.points;
    return KroneckerEnd{static_cast<C*>(workspace) + offset, 1, buffers.points};
  };
  KroneckerTilePass tile;
  tile.pass = plan[index];
  for (int f = 0; f < tile.pass.count; ++f)
    tile.factors[f] =
        problem.factors[static_cast<std::size_t>(tile.pass.first) + static_cast<std::size_t>(f)];
  tile.fold = problem.fold;
  tile.first_column = first;
  tile.column_count = count;
  tile.source = reads_array ? KroneckerEnd{const_cast<void*>(problem.x), problem.fold.axis.x_stride, 0}
                            : buffer(index - 1);
  tile.target = writes_array ? KroneckerEnd{problem.y, problem.fold.axis.y_stride, 0} : buffer(index);
  tile.scale = writes_array ? problem.scale : 1.0;
  if (reads_array && writes_array) launch_kronecker<Vector, S, S, S>(space, tile);
  if (reads_array && !writes_array) launch_kronecker<Vector, S, S, C>(space, tile);
  if (!reads_array && writes_array) launch_kronecker<Vector, S, C, S>(space, tile);
  if (!reads_array && !writes_array) launch_kronecker<Vector, S, C, C>(space, tile);
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) or the team kernel.
template <bool Vector, class ExecutionSpace>
void run_kronecker(const ExecutionSpace& space, const detail::KroneckerProblem& problem) {
  if (problem.empty) return;
  constexpr Architecture architecture = architecture_of<ExecutionSpace>;
  const detail::KroneckerPlan plan = make_kronecker_plan(problem, architecture);
  const detail::KroneckerBuffers buffers = detail::buffers_of(problem, plan, architecture);
  const WorkspaceHolder<ExecutionSpace> workspace(space, "kronecker", problem.workspace,
                                                  buffers.bytes(detail::sum_bytes(problem.scalar)));
  visit_product_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
    const std::int64_t columns = problem.fold.outer_count();
    const std::int64_t step = plan.size() > 1 ? buffers.columns : columns;
    for (std::int64_t first = 0; first < columns; first += step)
      for (std::size_t p = 0; p < plan.size(); ++p)
        run_kronecker_pass<Vector, S>(space, problem, plan, buffers, p, first,
                                      std::min(step, columns - first), workspace.data());
  });
}

}  // namespace papillon::generic
