// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker.hpp"

#include <string>

#include "api.hpp"
#include "kronecker_powers.hpp"
#include "kronecker_tiles.hpp"
#include "stream_workspace.hpp"
#include "visit_product.hpp"

namespace papillon::cuda {

using detail::KroneckerProblem;

namespace {

void launch(cudaStream_t stream, const Device& device, const KroneckerStage& stage) {
  visit_storage(stage.scalar, stage.source_type != stage.scalar, stage.target_type != stage.scalar,
                [&]<class In, class Out, class S>(std::type_identity<In>, std::type_identity<Out>,
                                                  std::type_identity<S>) {
                  check(launch_kronecker<In, Out, S>(stream, device, stage.tile, stage.direct, nullptr),
                        "kronecker: launching a kernel");
                });
}

}  // namespace

void kronecker(cudaStream_t stream, const KroneckerProblem& problem) {
  const Device& device = current_device();
  if (problem.empty) return;
  if (problem.x_length > 0) check_pointer("kronecker", problem.x, "x", device);
  check_pointer("kronecker", problem.y, "y", device);
  for (std::size_t f = 0; f < problem.factors.size(); ++f) {
    if (problem.factors[f].rows > 0 && problem.factors[f].columns > 0)
      check_pointer("kronecker", problem.factors[f].data, "factors[" + std::to_string(f) + "]", device);
  }
  const PowerPlan powers = plan_powers(problem);
  for (std::size_t p = 0; p < powers.size(); ++p)
    visit_real(problem.scalar, [&]<class S>(std::type_identity<S>) {
      check(launch_powers<S>(stream, device, powers[p].line, power_problem(problem, powers, p), nullptr),
            "kronecker: launching a kernel");
    });
  if (powers.size() > 0) return;
  const KroneckerStages stages = make_stages(problem);
  const StreamWorkspace workspace(stream, "kronecker", problem.workspace, stages.workspace_bytes);
  stages.for_each(problem, workspace.data(),
                  [&](const KroneckerStage& stage) { launch(stream, device, stage); });
}

std::size_t workspace_bytes(const KroneckerProblem& problem) {
  return problem.empty || plan_powers(problem).size() > 0 ? 0 : make_stages(problem).workspace_bytes;
}

}  // namespace papillon::cuda
