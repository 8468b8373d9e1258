// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/pass.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/generic/host_sweep.hpp"
#include "papillon/generic/team_pass.hpp"
#include "papillon/generic/workspace_holder.hpp"
#include "papillon/orders.hpp"

namespace papillon::generic {

/// The order-m matrix in the memory of a device, copied there at its first use and kept until Kokkos ends.
template <class MemorySpace>
const std::int8_t* device_base_matrix(std::int64_t m) {
  using Table = Kokkos::View<std::int8_t*, MemorySpace>;
  static std::mutex mutex;
  static std::map<std::int64_t, Table> tables;
  const std::lock_guard lock(mutex);
  if (tables.empty()) Kokkos::push_finalize_hook([] { tables.clear(); });
  auto [place, fresh] = tables.try_emplace(m);
  if (fresh) {
    const auto& entries = detail::base_matrix(m);
    Table table(Kokkos::view_alloc(Kokkos::WithoutInitializing, "papillon::base_matrix"), entries.size());
    Kokkos::deep_copy(table,
                      Kokkos::View<const std::int8_t*, Kokkos::HostSpace>(entries.data(), entries.size()));
    place->second = table;
  }
  return place->second.data();
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) or the team kernel.
template <bool Vector, class ExecutionSpace>
void run_hadamard(const ExecutionSpace& space, const detail::HadamardProblem& problem) {
  constexpr Architecture architecture = Vector ? Architecture::cpu : Architecture::device;
  const WorkspaceHolder<ExecutionSpace> workspace(space, "hadamard", problem.workspace,
                                                  workspace_bytes(problem, architecture));
  for_each_step(problem, [&](const detail::HadamardProblem& step) {
    const detail::Plan plan = make_plan(step, architecture);
    if constexpr (Vector) {
      for_each_sweep(step, plan, workspace.data(),
                     [&](std::span<const Pass> passes) { run_host_sweep(space, passes); });
    } else {
      for_each_pass(step, plan, workspace.data(), [&](const Pass& pass) {
        const std::int8_t* base =
            pass.m > 1 ? device_base_matrix<typename ExecutionSpace::memory_space>(pass.m) : nullptr;
        run_team_pass(space, pass, base);
      });
    }
  });
}

}  // namespace papillon::generic
