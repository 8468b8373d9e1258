// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/gpu.hpp"

#include <stdexcept>

#ifdef PAPILLON_HAS_CUDA
#include "cuda/api.hpp"
#endif

namespace papillon::cli {

#ifdef PAPILLON_HAS_CUDA

std::string why_no_gpu() {
  constexpr std::string_view prefix = "papillon: ";
  std::string text = cuda::why_unavailable();
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  const int count = cuda::device_count();
  for (int index = 0; index < count; ++index) names.push_back(cuda::device_name(index));
  return names;
}

void hadamard_on_gpu(const TensorDescriptor& array, const HadamardOptions& options) {
  cuda::hadamard_on_host_arrays(array, array, options);
}

GpuPlan plan_on_gpu(const detail::HadamardProblem& problem, int major) {
  return {true, cuda::traffic(problem), cuda::workspace_bytes(problem), cuda::describe(problem, major)};
}

#else

std::string why_no_gpu() { return "this build has no CUDA backend"; }
std::vector<std::string> gpu_names() { return {}; }
void hadamard_on_gpu(const TensorDescriptor&, const HadamardOptions&) {
  throw std::runtime_error(why_no_gpu());
}
GpuPlan plan_on_gpu(const detail::HadamardProblem&, int) {
  return {false, {}, 0, "backend: the generic Kokkos kernel; this build has no CUDA backend\n"};
}

#endif

}  // namespace papillon::cli
