// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/gpu.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#ifdef PAPILLON_HAS_CUDA
#include "cuda/api.hpp"
#endif

namespace papillon::cli {

namespace {

/// Operators that the CUDA backend has kernels for.
constexpr std::array<std::string_view, 4> gpu_operators = {"hadamard", "kronecker", "butterfly", "gemm"};

}  // namespace

bool use_gpu(const std::string& device, std::string_view operator_name) {
  if (device == "cpu") return false;
  std::string why_not = why_no_gpu();
  if (why_not.empty() && std::ranges::find(gpu_operators, operator_name) == gpu_operators.end())
    why_not = "the CUDA backend has no kernels for " + std::string(operator_name) + " yet";
  if (device == "cuda" && !why_not.empty()) throw std::invalid_argument("--device cuda: " + why_not);
  return why_not.empty();
}

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

void kronecker_on_gpu(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                      const TensorDescriptor& y, const KroneckerOptions& options) {
  cuda::kronecker_on_host_arrays(factors, x, y, options);
}
void butterfly_on_gpu(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                      const TensorDescriptor& y, const ButterflyOptions& options) {
  cuda::butterfly_on_host_arrays(factors, x, y, options);
}

void gemm_on_gpu(std::complex<double> alpha, const ConstTensorDescriptor& a, const ConstTensorDescriptor& b,
                 std::complex<double> beta, const TensorDescriptor& c, const GemmOptions& options) {
  cuda::gemm_on_host_arrays(alpha, a, b, beta, c, options);
}

GpuPlan plan_on_gpu(const detail::HadamardProblem& problem, int major) {
  return {true, cuda::traffic(problem), cuda::workspace_bytes(problem), cuda::describe(problem, major)};
}

std::string explain_on_gpu(const detail::KroneckerProblem& problem) { return cuda::describe(problem); }
std::string explain_on_gpu(const detail::ButterflyProblem& problem) { return cuda::describe(problem); }
std::string explain_on_gpu(const detail::GemmProblem& problem) { return cuda::describe(problem); }

#else

std::string why_no_gpu() { return "this build has no CUDA backend"; }
std::vector<std::string> gpu_names() { return {}; }
void hadamard_on_gpu(const TensorDescriptor&, const HadamardOptions&) {
  throw std::runtime_error(why_no_gpu());
}
void kronecker_on_gpu(std::span<const Factor>, const ConstTensorDescriptor&, const TensorDescriptor&,
                      const KroneckerOptions&) {
  throw std::runtime_error(why_no_gpu());
}
void butterfly_on_gpu(std::span<const ButterflyFactor>, const ConstTensorDescriptor&, const TensorDescriptor&,
                      const ButterflyOptions&) {
  throw std::runtime_error(why_no_gpu());
}
void gemm_on_gpu(std::complex<double>, const ConstTensorDescriptor&, const ConstTensorDescriptor&,
                 std::complex<double>, const TensorDescriptor&, const GemmOptions&) {
  throw std::runtime_error(why_no_gpu());
}
GpuPlan plan_on_gpu(const detail::HadamardProblem&, int) {
  return {false, {}, 0, "backend: the generic Kokkos kernel; this build has no CUDA backend\n"};
}
std::string explain_on_gpu(const detail::KroneckerProblem&) { return {}; }
std::string explain_on_gpu(const detail::ButterflyProblem&) { return {}; }
std::string explain_on_gpu(const detail::GemmProblem&) { return {}; }

#endif

}  // namespace papillon::cli
