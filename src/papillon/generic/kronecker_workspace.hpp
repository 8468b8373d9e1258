// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/generic/kronecker.hpp"

namespace papillon::generic {

/// Bytes that run_kronecker needs for a checked problem.
template <class ExecutionSpace>
std::size_t kronecker_workspace_bytes(const detail::KroneckerProblem& problem) {
  if (problem.empty) return 0;
  constexpr Architecture architecture = architecture_of<ExecutionSpace>;
  return detail::buffers_of(problem, make_kronecker_plan(problem, architecture), architecture)
      .bytes(detail::sum_bytes(problem.scalar));
}

}  // namespace papillon::generic
