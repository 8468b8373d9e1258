// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "papillon/butterfly_options.hpp"
#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/gemm_problem.hpp"
#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/pass.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/gemm_options.hpp"
#include "papillon/hadamard_options.hpp"
#include "papillon/kronecker_options.hpp"

// What the command asks of the CUDA backend; all of it also answers in builds without one.
namespace papillon::cli {

/// Empty when the CUDA backend can run; else why not, in one sentence.
std::string why_no_gpu();

/// What --device (auto, cpu, cuda) means for an operator: whether to compute on the GPU. `auto` does where
/// the CUDA backend has the operator and can run; `cuda` throws std::invalid_argument saying why where it
/// cannot.
bool use_gpu(const std::string& device, std::string_view operator_name);

/// The GPUs that the driver finds, described in a few words each.
std::vector<std::string> gpu_names();

/// Transforms an array in host memory in place on the GPU. Throws when `why_no_gpu` has something to say.
void hadamard_on_gpu(const TensorDescriptor& array, const HadamardOptions& options);

/// A product from one array in host memory to another on the GPU; the factors lie in host memory too.
void kronecker_on_gpu(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                      const TensorDescriptor& y, const KroneckerOptions& options);

void butterfly_on_gpu(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                      const TensorDescriptor& y, const ButterflyOptions& options);

void gemm_on_gpu(std::complex<double> alpha, const ConstTensorDescriptor& a, const ConstTensorDescriptor& b,
                 std::complex<double> beta, const TensorDescriptor& c, const GemmOptions& options);

/// How the backend would carry out a transform.
struct GpuPlan {
  bool available = false;     ///< whether there is a backend
  detail::Traffic traffic;    ///< through memory
  std::size_t workspace = 0;  ///< bytes
  std::string text;           ///< the kernels, in lines that end in a line break
};

/// How the backend would carry out a product, in lines that end in a line break; empty in builds without one.
std::string explain_on_gpu(const detail::KroneckerProblem& problem);
std::string explain_on_gpu(const detail::ButterflyProblem& problem);
std::string explain_on_gpu(const detail::GemmProblem& problem);

/// The plan of a problem on compute capability `major`.0.
GpuPlan plan_on_gpu(const detail::HadamardProblem& problem, int major);

}  // namespace papillon::cli
