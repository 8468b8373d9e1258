// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <string>

#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/gemm_problem.hpp"
#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/pass.hpp"
#include "papillon/core/quantize_problem.hpp"

// CUDA's own declaration, so that callers need none of its headers.
typedef struct CUstream_st* cudaStream_t;

namespace papillon::cuda {

/// GPUs that the driver finds; 0 without a driver.
int device_count() noexcept;

/// "NVIDIA H200, compute capability 9.0, 132 multiprocessors, 139 GiB" of device `index` < device_count().
std::string device_name(int index);

/// Empty when the current device can run the kernels; else why not, in one sentence.
std::string why_unavailable();

/// Runs a checked problem on `stream`, on the current device, whose memory x and y are. Asynchronous;
/// allocates nothing unless workspace_bytes(problem) > 0 and none is given (then on the stream). May be
/// captured.
///
/// Throws std::invalid_argument naming x, y or signs when the GPU cannot reach them, and std::runtime_error
/// when there is no usable GPU or a launch fails; nothing is launched in the first two cases.
void hadamard(cudaStream_t stream, const detail::HadamardProblem& problem);

/// Bytes of workspace that `hadamard` needs for the problem. Needs no GPU.
std::size_t workspace_bytes(const detail::HadamardProblem& problem);

/// As above for a product of matrices.
void kronecker(cudaStream_t stream, const detail::KroneckerProblem& problem);
std::size_t workspace_bytes(const detail::KroneckerProblem& problem);

/// As above for a product of Kronecker-sparse matrices.
void butterfly(cudaStream_t stream, const detail::ButterflyProblem& problem);
std::size_t workspace_bytes(const detail::ButterflyProblem& problem);

/// As above for the quantiser; for two copies of one array; and back.
void quantize(cudaStream_t stream, const detail::QuantizeProblem& problem);
void quantize(cudaStream_t stream, const detail::QuantizePair& pair);
std::size_t workspace_bytes(const detail::QuantizeProblem& problem);
void dequantize(cudaStream_t stream, const detail::DequantizeProblem& problem);
std::size_t workspace_bytes(const detail::DequantizeProblem& problem);

/// As above for the product of two matrices; and how it is carried out, in lines. The latter needs no GPU.
void gemm(cudaStream_t stream, const detail::GemmProblem& problem);
std::size_t workspace_bytes(const detail::GemmProblem& problem);
std::string describe(const detail::GemmProblem& problem);

/// What `hadamard` moves through memory for the problem. Needs no GPU.
detail::Traffic traffic(const detail::HadamardProblem& problem);

/// The kernels that would run on compute capability `major`.0, in lines: kernel, block, rows a block,
/// registers, shared memory, bytes in flight, bound. Registers and blocks a multiprocessor are those of the
/// compiled kernel where the current device is of that architecture; elsewhere the bound that the kernel is
/// compiled to keep. Needs no GPU.
std::string describe(const detail::HadamardProblem& problem, int major);

/// How products are carried out, in lines that end in a line break: passes, bytes, workspace, and the kernel
/// of each pass with its source. Need no GPU.
std::string describe(const detail::KroneckerProblem& problem);
std::string describe(const detail::ButterflyProblem& problem);

/// `hadamard` on arrays in host memory: copies x to the GPU, transforms, copies back to y and waits. Strides
/// are kept; x and y may be one array.
void hadamard_on_host_arrays(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                             const HadamardOptions& options);

/// `kronecker` and `butterfly` on arrays, factors and permutations in host memory, as above.
void kronecker_on_host_arrays(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const KroneckerOptions& options);
void butterfly_on_host_arrays(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const ButterflyOptions& options);

/// `gemm` on matrices in host memory, as above.
void gemm_on_host_arrays(std::complex<double> alpha, const ConstTensorDescriptor& a,
                         const ConstTensorDescriptor& b, std::complex<double> beta, const TensorDescriptor& c,
                         const GemmOptions& options);

}  // namespace papillon::cuda
