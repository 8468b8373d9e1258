// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sstream>
#include <string>

#include "api.hpp"
#include "butterfly.hpp"
#include "kronecker_powers.hpp"
#include "kronecker_tiles.hpp"
#include "papillon/core/kronecker_description.hpp"

namespace papillon::cuda {

std::string describe(const detail::KroneckerProblem& problem) {
  if (problem.empty) return detail::explain_kronecker(problem, {}, 0, 0);
  const PowerPlan powers = plan_powers(problem);
  if (powers.size() > 0) {
    std::string text =
        detail::explain_kronecker(problem, passes_of(problem, powers), size_of(problem.scalar), 0);
    for (std::size_t p = 0; p < powers.size(); ++p) text += describe_pass(problem, powers, p);
    return text;
  }
  const KroneckerStages stages = make_stages(problem);
  std::ostringstream text;
  text << detail::explain_kronecker(problem, stages.plan, detail::sum_bytes(problem.scalar),
                                    stages.workspace_bytes);
  for (std::size_t p = 0; p < stages.plan.size(); ++p) {
    const KroneckerStage stage = stages.stage(problem, p, 0, problem.fold.outer_count(), nullptr);
    text << "kernel of pass " << p + 1 << ": " << (stage.direct ? "direct" : "general")
         << " (backends/cuda/kernels/kronecker/kernel.cuh), any sizes and strides";
    if (!stage.direct) {
      text << "; a tile of " << stage.tile.groups * stage.tile.lanes << " lines, "
           << kronecker_shared_bytes(stage.tile, static_cast<int>(detail::sum_bytes(problem.scalar)))
           << " bytes of shared memory";
    }
    text << "\n";
  }
  return text.str();
}

std::string describe(const detail::ButterflyProblem& problem) {
  if (problem.empty) return "nothing to compute\n";
  std::ostringstream text;
  if (const auto pairs = as_pairs(problem)) {
    text << "one pass\nkernel: butterfly_pairs (backends/cuda/kernels/butterfly/pairs.cuh); factors applied "
            "at a time:";
    for (int r = 0; r < pairs->round_count; ++r) text << " " << pairs->rounds[r].count;
    text << "\n";
    return text.str();
  }
  const detail::ButterflyPlan plan = plan_of(problem);
  for (std::size_t p = 0; p < plan.size(); ++p) {
    text << "pass " << p + 1 << ": " << plan[p].count << " factors, " << plan[p].source << " points to "
         << plan[p].target << ", between " << plan[p].outer << " slower and " << plan[p].inner
         << " faster ones\n";
  }
  text << "workspace: " << workspace_bytes(problem)
       << " bytes\nkernel: butterfly (backends/cuda/kernels/butterfly/general.cuh), any patterns and "
          "strides\n";
  return text.str();
}

}  // namespace papillon::cuda
