// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/gpu.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

#ifdef PAPILLON_HAS_CUDA
#include "cuda/api.hpp"
#include "papillon/core/hadamard_problem.hpp"
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

GpuPlan plan_on_gpu(ScalarType type, std::int64_t n, std::int64_t rows, int major) {
  // Only the address is looked at, and that of any allocation is aligned.
  alignas(256) static std::byte placeholder[256];
  const TensorDescriptor array = detail::make_row_major<void*>(placeholder, type, std::array{rows, n});
  const auto problem = detail::make_hadamard_problem(array, array, {}, false);
  return {cuda::pass_count(problem), cuda::describe(problem, major)};
}

#else

std::string why_no_gpu() { return "this build has no CUDA backend"; }
std::vector<std::string> gpu_names() { return {}; }
void hadamard_on_gpu(const TensorDescriptor&, const HadamardOptions&) {
  throw std::runtime_error(why_no_gpu());
}
GpuPlan plan_on_gpu(ScalarType, std::int64_t, std::int64_t, int) {
  return {0, "backend: the generic Kokkos kernel; this build has no CUDA backend\n"};
}

#endif

}  // namespace papillon::cli
