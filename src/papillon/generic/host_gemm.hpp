// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "papillon/core/gemm_plan.hpp"
#include "papillon/generic/host_loop.hpp"

namespace papillon::generic {

/// What is known of the products of a scalar on the CPU.
const detail::GemmTuning& host_gemm_tuning(ScalarType scalar);

/// Whether a problem is worth the start of a team of threads.
bool worth_sharing(const detail::GemmProblem& problem);

/// Runs a checked problem. Sums of blocks are formed while panels are packed, and every tile of a product is
/// added to its blocks of C from registers (J. Huang, T. Smith, G. Henry and R. van de Geijn, Strassen's
/// algorithm reloaded, SC16), so that nothing but C and the panels is written to memory. 16-bit C is rounded
/// once: its sums are kept as float, a part of C at a time.
void run_host_gemm(const HostLoop& loop, const detail::GemmProblem& problem, const detail::GemmPlan& plan);

}  // namespace papillon::generic
