// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <string>

#include "papillon/core/gemm_problem.hpp"

namespace papillon::generic {

/// Runs a checked problem.
template <class ExecutionSpace>
void run_gemm(const ExecutionSpace& space, const detail::GemmProblem& problem);
template <class ExecutionSpace>
std::size_t gemm_workspace_bytes(const detail::GemmProblem& problem);
template <class ExecutionSpace>
std::string explain_gemm(const detail::GemmProblem& problem);

}  // namespace papillon::generic
