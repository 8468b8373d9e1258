// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "device_copy.hpp"
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

void kronecker_on_host_arrays(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const KroneckerOptions& options) {
  const KroneckerProblem problem = detail::make_kronecker_problem(factors, x, y, options);
  current_device();
  if (problem.empty) return;
  const bool in_place = x.data == static_cast<const void*>(y.data);
  const DeviceCopy device_x("kronecker", "x", x);
  std::optional<DeviceCopy> device_y;
  if (!in_place) device_y.emplace("kronecker", "y", ConstTensorDescriptor(y));
  const DeviceCopy& result = device_y ? *device_y : device_x;
  const std::int64_t batches =
      options.batch_axis ? x.extents[static_cast<std::size_t>(
                               *options.batch_axis < 0 ? *options.batch_axis + x.rank : *options.batch_axis)]
                         : 1;
  std::deque<DeviceCopy> copies;
  std::vector<Factor> device_factors;
  for (const Factor& factor : factors) {
    const ConstTensorDescriptor tensor{factor.data,
                                       factor.type,
                                       3,
                                       {factor.batch_stride == 0 ? 1 : batches, factor.rows, factor.columns},
                                       {factor.batch_stride, factor.row_stride, factor.column_stride}};
    copies.emplace_back("kronecker", "a factor", tensor);
    device_factors.push_back(factor);
    device_factors.back().data = copies.back().descriptor(tensor).data;
  }
  KroneckerOptions device_options = options;
  device_options.workspace = {};
  kronecker(nullptr, detail::make_kronecker_problem(device_factors, device_x.descriptor(x),
                                                    result.descriptor(y), device_options));
  result.copy_back("kronecker", "y", y);
}

}  // namespace papillon::cuda
