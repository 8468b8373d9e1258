// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>

#include "kronecker.hpp"
#include "papillon/core/fixed_vector.hpp"

namespace papillon::cuda {

/// A pass with a tuned kernel: `line` is its number in the table of the scalar (tuning/kronecker.hpp).
struct PowerPass {
  int line = 0;
  int first = 0;  ///< factor
  int count = 0;
};
using PowerPlan = detail::FixedVector<PowerPass, detail::max_factors>;

/// The passes of a product of square factors of one size, a power of two, over rows without gaps, if the
/// table has them all; else none. Pure; needs no GPU.
PowerPlan plan_powers(const detail::KroneckerProblem& problem);

/// Such a plan in the terms of the generic layer; and the kernel of pass number `index`, in one line.
detail::KroneckerPlan passes_of(const detail::KroneckerProblem& problem, const PowerPlan& plan);
std::string describe_pass(const detail::KroneckerProblem& problem, const PowerPlan& plan, std::size_t index);

/// Pass number `index`, ready to run: the first goes from x to y, all others work in y.
PowerProblem power_problem(const detail::KroneckerProblem& problem, const PowerPlan& plan, std::size_t index);

/// Launches line number `line` of the table of S. With `use` it launches nothing and says what it would take.
template <class S>
cudaError_t launch_powers(cudaStream_t stream, const Device& device, int line, const PowerProblem& problem,
                          KernelUse* use);

}  // namespace papillon::cuda
