// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <algorithm>
#include <optional>

#include "api.hpp"
#include "base_matrix.hpp"
#include "device.hpp"
#include "device_copy.hpp"
#include "route.hpp"
#include "stream_workspace.hpp"

namespace papillon::cuda {

using detail::HadamardProblem;
using detail::Pass;

void run_pass(cudaStream_t stream, const Device& device, const Pass& pass) {
  if (const auto rows = as_rows(pass)) {
    check(run_rows(stream, device, pass.source_type, *rows, nullptr), "hadamard: launching a row kernel");
    return;
  }
  if (const auto rows = as_shared_rows(pass)) {
    check(run_shared_rows(stream, device, pass.source_type, *rows, nullptr),
          "hadamard: launching the shared_rows kernel");
    return;
  }
  const std::int8_t* base = pass.m > 64 ? device_base_matrix(device, pass.m) : nullptr;
  check(run_columns(stream, device, column_family(pass), pass, base, nullptr),
        "hadamard: launching a kernel for columns");
}

void hadamard(cudaStream_t stream, const HadamardProblem& problem) {
  const Device& device = current_device();
  if (problem.empty) return;
  check_pointer("hadamard", problem.x, "x", device);
  check_pointer("hadamard", problem.y, "y", device);
  if (!problem.signs.values.empty()) check_pointer("hadamard", problem.signs.values.data(), "signs", device);
  const StreamWorkspace workspace(stream, "hadamard", problem.workspace, workspace_bytes(problem));
  for_each_step(problem, [&](const HadamardProblem& step) {
    for_each_pass(step, plan_of(step), workspace.data(),
                  [&](const Pass& pass) { run_pass(stream, device, pass); });
  });
}

std::size_t workspace_bytes(const HadamardProblem& problem) {
  std::size_t bytes = 0;
  if (!may_need_workspace(problem)) return 0;
  for_each_step(problem, [&](const HadamardProblem& step) {
    bytes = std::max(bytes, detail::workspace_bytes(step, plan_of(step)));
  });
  return bytes;
}

void hadamard_on_host_arrays(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                             const HadamardOptions& options) {
  HadamardOptions device_options = options;
  const HadamardProblem problem = detail::make_hadamard_problem(x, y, options, true);
  current_device();
  if (problem.empty) return;
  const DeviceCopy device_x("hadamard", "x", x);
  std::optional<DeviceCopy> device_y;
  if (!problem.in_place) device_y.emplace("hadamard", "y", ConstTensorDescriptor(y));
  const DeviceCopy& result = device_y ? *device_y : device_x;
  std::optional<DeviceCopy> device_signs;
  if (!options.signs.values.empty()) {
    const std::size_t count = options.signs.values.size();
    device_signs.emplace("hadamard", "the signs", options.signs.values.data(), count);
    device_options.signs.values = {static_cast<const std::int8_t*>(device_signs->data()), count};
  }
  device_options.workspace = {};
  hadamard(nullptr, detail::make_hadamard_problem(device_x.descriptor(x), result.descriptor(y),
                                                  device_options, false));
  result.copy_back("hadamard", "y", y);
}

}  // namespace papillon::cuda
