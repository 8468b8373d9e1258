// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/schedule.hpp"

namespace papillon::detail {

/// How a product is carried out, in lines that end in a line break: the order of the factors, the passes with
/// their tiles, the multiply-adds, the bytes that the passes move, and the workspace. Between passes a point
/// takes `between` bytes. Pure.
std::string explain_kronecker(const KroneckerProblem& problem, const KroneckerPlan& plan, std::size_t between,
                              std::size_t workspace);

/// The same for the generic layer.
std::string explain_kronecker(const KroneckerProblem& problem, const KroneckerPlan& plan,
                              Architecture architecture);

}  // namespace papillon::detail
