// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>

#include "papillon/core/errors.hpp"
#include "papillon/core/gemm_plan.hpp"
#include "papillon/core/gemm_problem.hpp"
#include "papillon/core/tensor_checks.hpp"
#include "papillon/generic/host_gemm.hpp"
#include "papillon/generic/host_loop.hpp"
#include "papillon/generic/host_space.hpp"

namespace papillon::generic {

/// The plan of a problem on a host space. Throws std::invalid_argument for other spaces.
template <class ExecutionSpace>
detail::GemmPlan make_gemm_plan(const detail::GemmProblem& problem) {
  if constexpr (!is_host_space<ExecutionSpace>) {
    throw_invalid_argument("gemm", "the execution space ", ExecutionSpace::name(),
                           " is offered only where the CUDA backend runs; host spaces are");
  }
  return detail::plan_gemm(problem, host_gemm_tuning(problem.in));
}

/// Runs a checked problem.
template <class ExecutionSpace>
void run_gemm(const ExecutionSpace& space, const detail::GemmProblem& problem) {
  const detail::GemmPlan plan = make_gemm_plan<ExecutionSpace>(problem);
  detail::given_workspace("gemm", problem.workspace, plan.workspace_bytes);
  if constexpr (is_host_space<ExecutionSpace>) {
    if (worth_sharing(problem)) {
      run_host_gemm(KokkosLoop(space), problem, plan);
    } else {
      run_host_gemm(SerialLoop(), problem, plan);
    }
  }
}

/// Bytes of workspace: none, since nothing but panels is written, which threads keep.
template <class ExecutionSpace>
std::size_t gemm_workspace_bytes(const detail::GemmProblem& problem) {
  return make_gemm_plan<ExecutionSpace>(problem).workspace_bytes;
}

template <class ExecutionSpace>
std::string explain_gemm(const detail::GemmProblem& problem) {
  return detail::describe(problem, make_gemm_plan<ExecutionSpace>(problem), host_gemm_tuning(problem.in));
}

}  // namespace papillon::generic
