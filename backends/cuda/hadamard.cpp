// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "api.hpp"
#include "base_matrix.hpp"
#include "device.hpp"
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
  HadamardProblem problem = detail::make_hadamard_problem(x, y, options, true);
  current_device();
  if (problem.empty) return;

  struct Buffer {
    void* data = nullptr;
    ~Buffer() { cudaFree(data); }
  };
  // An array with its strides lies between its lowest and its highest address.
  const auto span_of = [](const auto& tensor) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int d = 0; d < tensor.rank; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const std::int64_t reach = tensor.strides[i] * (tensor.extents[i] - 1);
      (reach < 0 ? low : high) += reach;
    }
    const auto size = static_cast<std::int64_t>(size_of(tensor.type));
    return std::pair{low * size, static_cast<std::size_t>((high - low + 1) * size)};
  };
  const auto [x_low, x_bytes] = span_of(x);
  const auto [y_low, y_bytes] = span_of(y);
  Buffer device_x;
  Buffer device_y;
  Buffer device_signs;
  check(cudaMalloc(&device_x.data, x_bytes), "hadamard: allocating memory on the GPU");
  check(cudaMemcpy(device_x.data, static_cast<const char*>(x.data) + x_low, x_bytes, cudaMemcpyHostToDevice),
        "hadamard: copying x to the GPU");
  if (!problem.in_place) {
    check(cudaMalloc(&device_y.data, y_bytes), "hadamard: allocating memory on the GPU");
    // What lies between the elements of y is copied back too, so it must be what it was.
    check(cudaMemcpy(device_y.data, static_cast<char*>(y.data) + y_low, y_bytes, cudaMemcpyHostToDevice),
          "hadamard: copying y to the GPU");
  }
  ConstTensorDescriptor x_there = x;
  TensorDescriptor y_there = y;
  x_there.data = static_cast<const char*>(device_x.data) - x_low;
  y_there.data = static_cast<char*>(problem.in_place ? device_x.data : device_y.data) - y_low;
  if (!options.signs.values.empty()) {
    const std::size_t count = options.signs.values.size();
    check(cudaMalloc(&device_signs.data, count), "hadamard: allocating memory on the GPU");
    check(cudaMemcpy(device_signs.data, options.signs.values.data(), count, cudaMemcpyHostToDevice),
          "hadamard: copying the signs to the GPU");
    device_options.signs.values = {static_cast<const std::int8_t*>(device_signs.data), count};
  }
  device_options.workspace = {};
  hadamard(nullptr, detail::make_hadamard_problem(x_there, y_there, device_options, false));
  check(cudaMemcpy(static_cast<char*>(y.data) + y_low, problem.in_place ? device_x.data : device_y.data,
                   y_bytes, cudaMemcpyDeviceToHost),
        "hadamard: copying y from the GPU");
}

}  // namespace papillon::cuda
