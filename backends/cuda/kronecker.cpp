// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker.hpp"

#include <algorithm>
#include <string>

#include "api.hpp"
#include "kronecker_powers.hpp"
#include "kronecker_tiles.hpp"
#include "papillon/core/errors.hpp"
#include "stream_workspace.hpp"

namespace papillon::cuda {

using detail::KroneckerProblem;

namespace {

void launch(cudaStream_t stream, const Device& device, const KroneckerStage& stage) {
  const auto run = [&](const auto& kernel) {
    check(kernel(stream, device, stage.tile, stage.direct, nullptr), "kronecker: launching a kernel");
  };
  const bool narrow_in = stage.source_type == stage.scalar;
  const bool narrow_out = stage.target_type == stage.scalar;
  const auto of_16_bits = [&]<class S>() {
    if (narrow_in && narrow_out) run(launch_kronecker<S, S, S>);
    if (narrow_in && !narrow_out) run(launch_kronecker<S, float, S>);
    if (!narrow_in && narrow_out) run(launch_kronecker<float, S, S>);
    if (!narrow_in && !narrow_out) run(launch_kronecker<float, float, S>);
  };
  switch (stage.scalar) {
    case ScalarType::float32:
      return run(launch_kronecker<float, float, float>);
    case ScalarType::float64:
      return run(launch_kronecker<double, double, double>);
    case ScalarType::complex64:
      return run(launch_kronecker<ComplexValue<float>, ComplexValue<float>, ComplexValue<float>>);
    case ScalarType::complex128:
      return run(launch_kronecker<ComplexValue<double>, ComplexValue<double>, ComplexValue<double>>);
    case ScalarType::float16:
      return of_16_bits.template operator()<half>();
    case ScalarType::bfloat16:
      return of_16_bits.template operator()<bfloat16>();
    case ScalarType::int32:
    case ScalarType::int64:
      break;  // refused
  }
}

void launch(cudaStream_t stream, const Device& device, ScalarType scalar, int line,
            const PowerProblem& power) {
  const auto run = [&](const auto& kernel) {
    check(kernel(stream, device, line, power, nullptr), "kronecker: launching a kernel");
  };
  if (scalar == ScalarType::float32) run(launch_powers<float>);
  if (scalar == ScalarType::float64) run(launch_powers<double>);
  if (scalar == ScalarType::float16) run(launch_powers<half>);
  if (scalar == ScalarType::bfloat16) run(launch_powers<bfloat16>);
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
    launch(stream, device, problem.scalar, powers[p].line, power_problem(problem, powers, p));
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
