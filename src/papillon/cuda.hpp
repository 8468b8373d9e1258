// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "papillon/butterfly_options.hpp"
#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/gemm_problem.hpp"
#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/quantize_problem.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/gemm_options.hpp"
#include "papillon/hadamard_options.hpp"
#include "papillon/kronecker_options.hpp"
#include "papillon/quantize_options.hpp"

// CUDA's own declaration, so that this header needs none of CUDA's.
typedef struct CUstream_st* cudaStream_t;

namespace papillon {

namespace cuda {
// The backend, Papillon::cuda.
void hadamard(cudaStream_t stream, const detail::HadamardProblem& problem);
std::size_t workspace_bytes(const detail::HadamardProblem& problem);
void kronecker(cudaStream_t stream, const detail::KroneckerProblem& problem);
std::size_t workspace_bytes(const detail::KroneckerProblem& problem);
void butterfly(cudaStream_t stream, const detail::ButterflyProblem& problem);
std::size_t workspace_bytes(const detail::ButterflyProblem& problem);
void quantize(cudaStream_t stream, const detail::QuantizeProblem& problem);
void quantize(cudaStream_t stream, const detail::QuantizePair& pair);
std::size_t workspace_bytes(const detail::QuantizeProblem& problem);
void dequantize(cudaStream_t stream, const detail::DequantizeProblem& problem);
std::size_t workspace_bytes(const detail::DequantizeProblem& problem);
void gemm(cudaStream_t stream, const detail::GemmProblem& problem);
std::size_t workspace_bytes(const detail::GemmProblem& problem);
std::string describe(const detail::GemmProblem& problem);
void gemm(cudaStream_t stream, const detail::GemmProblem& problem);
std::size_t workspace_bytes(const detail::GemmProblem& problem);
std::string describe(const detail::GemmProblem& problem);
std::string why_unavailable();
}  // namespace cuda

/// An array in device memory as std::mdspan (or anything like it) describes one: `data_handle()`, `rank()`,
/// `extent(d)` and `stride(d)` in elements.
template <class T>
concept DeviceTensor = requires(const T& tensor) {
  typename T::element_type;
  { tensor.data_handle() } -> std::convertible_to<const typename T::element_type*>;
  { tensor.rank() } -> std::convertible_to<std::size_t>;
  { tensor.extent(0) } -> std::convertible_to<std::int64_t>;
  { tensor.stride(0) } -> std::convertible_to<std::int64_t>;
} && Scalar<std::remove_const_t<typename T::element_type>>;

namespace detail {

template <DeviceTensor T>
auto describe_device_tensor(const T& tensor) {
  using Element = typename T::element_type;
  using Pointer = std::conditional_t<std::is_const_v<Element>, const void*, void*>;
  static_assert(T::rank() <= max_rank, "papillon: ranks up to 8 are taken");
  BasicTensorDescriptor<Pointer> result{tensor.data_handle(),
                                        scalar_type_of<std::remove_const_t<Element>>,
                                        static_cast<int>(tensor.rank()),
                                        {},
                                        {}};
  for (int d = 0; d < result.rank; ++d) {
    result.extents[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(tensor.extent(d));
    result.strides[static_cast<std::size_t>(d)] = static_cast<std::int64_t>(tensor.stride(d));
  }
  return result;
}

}  // namespace detail

/// The fast Hadamard transform of arrays in device memory, enqueued on `stream`, which belongs to the current
/// device. Contract, bits and errors are those of `papillon::hadamard` for Kokkos execution spaces (see
/// hadamard.hpp), which this call does not need; the results are the same bits.
///
/// Asynchronous; launches only, so that it may be captured in a graph. With `options.workspace` empty and
/// `hadamard_workspace_bytes` above 0 the workspace is allocated and freed on the stream.
///
/// Throws std::invalid_argument naming the argument and its value (host pointers and memory of another device
/// included), std::runtime_error when there is no usable GPU or a launch fails.
inline void hadamard(cudaStream_t stream, const ConstTensorDescriptor& x, const TensorDescriptor& y,
                     const HadamardOptions& options = {}) {
  cuda::hadamard(stream, detail::make_hadamard_problem(x, y, options, false));
}
template <DeviceTensor X, DeviceTensor Y>
void hadamard(cudaStream_t stream, const X& x, const Y& y, const HadamardOptions& options = {}) {
  static_assert(!std::is_const_v<typename Y::element_type>, "papillon::hadamard: y has const elements");
  hadamard(stream, ConstTensorDescriptor(detail::describe_device_tensor(x)),
           detail::describe_device_tensor(y), options);
}

/// Bytes of workspace that the call needs; 0 for every transform of one pass. Needs no GPU.
inline std::size_t hadamard_workspace_bytes(cudaStream_t, const ConstTensorDescriptor& x,
                                            const TensorDescriptor& y, const HadamardOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_hadamard_problem(x, y, options, false));
}

/// The Kronecker product of matrices times the vectors along one axis of arrays in device memory, enqueued on
/// `stream`, which belongs to the current device. The factors lie in device memory too. Contract and errors
/// are those of `papillon::kronecker` for Kokkos execution spaces (see kronecker.hpp), which this call does
/// not need; the order of the factors, and so the roundings, may differ from the CPU's.
///
/// Consecutive factors are applied to a tile in shared memory, so that memory moves once a pass; square
/// factors of one size, a power of two up to 128, over rows without gaps run in tuned kernels. In place it
/// takes factors of up to about 14000 rows and columns of float32.
///
/// float32 and complex sums are fused multiply-adds in the order of rising column index. From 16 × 16 on the
/// tuned kernels of double and of 16-bit scalars form theirs on the matrix units, where the order is the
/// hardware's. 16-bit results are rounded to the scalar after each factor there, and between the passes of
/// the tuned kernels for smaller factors: to the bound of kronecker.hpp that adds at most one unit roundoff
/// of the scalar times |scale| · (|F1| ⊗ … ⊗ |Fk|) |x| for each factor but the last.
///
/// Asynchronous; launches only, so that it may be captured in a graph. With `options.workspace` empty and
/// `kronecker_workspace_bytes` above 0 the workspace is allocated and freed on the stream.
inline void kronecker(cudaStream_t stream, std::span<const Factor> factors, const ConstTensorDescriptor& x,
                      const TensorDescriptor& y, const KroneckerOptions& options = {}) {
  cuda::kronecker(stream, detail::make_kronecker_problem(factors, x, y, options));
}
template <DeviceTensor X, DeviceTensor Y>
void kronecker(cudaStream_t stream, std::span<const Factor> factors, const X& x, const Y& y,
               const KroneckerOptions& options = {}) {
  static_assert(!std::is_const_v<typename Y::element_type>, "papillon::kronecker: y has const elements");
  kronecker(stream, factors, ConstTensorDescriptor(detail::describe_device_tensor(x)),
            detail::describe_device_tensor(y), options);
}

/// Bytes of workspace that the call needs; 0 for every product of one pass, and of square matrices of
/// scalars that sums are formed in. Needs no GPU.
inline std::size_t kronecker_workspace_bytes(cudaStream_t, std::span<const Factor> factors,
                                             const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                             const KroneckerOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_kronecker_problem(factors, x, y, options));
}

/// The product of Kronecker-sparse matrices times the vectors along one axis of arrays in device memory,
/// enqueued on `stream`, which belongs to the current device. The factors' values and the permutation lie in
/// device memory too. Contract and errors are those of `papillon::butterfly` for Kokkos execution spaces (see
/// butterfly.hpp), which this call does not need; results of real scalars are the same bits.
///
/// Factors of 2 × 2 blocks over contiguous rows of 2^8 to 2^12 points run in a kernel of their own, in one
/// pass.
///
/// Asynchronous; launches only, so that it may be captured in a graph. With `options.workspace` empty and
/// `butterfly_workspace_bytes` above 0 the workspace is allocated and freed on the stream.
inline void butterfly(cudaStream_t stream, std::span<const ButterflyFactor> factors,
                      const ConstTensorDescriptor& x, const TensorDescriptor& y,
                      const ButterflyOptions& options = {}) {
  cuda::butterfly(stream, detail::make_butterfly_problem(factors, x, y, options));
}
template <DeviceTensor X, DeviceTensor Y>
void butterfly(cudaStream_t stream, std::span<const ButterflyFactor> factors, const X& x, const Y& y,
               const ButterflyOptions& options = {}) {
  static_assert(!std::is_const_v<typename Y::element_type>, "papillon::butterfly: y has const elements");
  butterfly(stream, factors, ConstTensorDescriptor(detail::describe_device_tensor(x)),
            detail::describe_device_tensor(y), options);
}

/// Bytes of workspace that the call needs; 0 for every product of one pass. Needs no GPU.
inline std::size_t butterfly_workspace_bytes(cudaStream_t, std::span<const ButterflyFactor> factors,
                                             const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                             const ButterflyOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_butterfly_problem(factors, x, y, options));
}

/// Rotates and quantises an array in device memory, enqueued on `stream`, which belongs to the current
/// device. Codes, scales, amax, statistics and signs lie in device memory too. Contract, bits and errors are
/// those of `papillon::quantize` for Kokkos execution spaces (see quantize.hpp), which this call does not
/// need.
///
/// Contiguous rows of whole strips (32 elements; 64 from groups of 64 on, 128 for groups of 4096) at
/// multiples of 16 bytes, without a rotation or with groups of 16 to 4096, to be stored in vector blocks of
/// NVFP4 or MX, are read once by one kernel, after another one for a computed global scale; float scales read
/// it twice. Other axes and rotations, and float scales after a rotation, go through a workspace in the L2
/// cache; statistics, square blocks, float64 and ragged rows take the plain form, which is slow. A call for
/// two copies reads x twice.
///
/// Asynchronous; launches only, so that it may be captured in a graph. With `options.workspace` empty the
/// workspace of `quantize_workspace_bytes` is allocated and freed on the stream.
inline void quantize(cudaStream_t stream, const ConstTensorDescriptor& x, const BlockScaledView& q,
                     const QuantizeOptions& options = {}) {
  cuda::quantize(stream, detail::make_quantize_problem(x, q, options, false));
}
template <DeviceTensor X>
void quantize(cudaStream_t stream, const X& x, const BlockScaledView& q,
              const QuantizeOptions& options = {}) {
  quantize(stream, ConstTensorDescriptor(detail::describe_device_tensor(x)), q, options);
}

/// Two quantised copies of x, along `options.axis` and along `other_axis`.
inline void quantize(cudaStream_t stream, const ConstTensorDescriptor& x, const BlockScaledView& q,
                     const BlockScaledView& q_other, int other_axis, const QuantizeOptions& options = {}) {
  cuda::quantize(stream, detail::make_quantize_pair(x, q, q_other, other_axis, options, false));
}

/// Bytes of workspace that the call needs. Needs no GPU.
inline std::size_t quantize_workspace_bytes(cudaStream_t, const ConstTensorDescriptor& x,
                                            const BlockScaledView& q, const QuantizeOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_quantize_problem(x, q, options, false));
}

/// Decodes codes and scales in device memory, as `papillon::dequantize` for Kokkos execution spaces does.
inline void dequantize(cudaStream_t stream, const ConstBlockScaledView& q, const TensorDescriptor& y,
                       const QuantizeOptions& options = {}) {
  cuda::dequantize(stream, detail::make_dequantize_problem(q, y, options, false));
}
template <DeviceTensor Y>
void dequantize(cudaStream_t stream, const ConstBlockScaledView& q, const Y& y,
                const QuantizeOptions& options = {}) {
  static_assert(!std::is_const_v<typename Y::element_type>, "papillon::dequantize: y has const elements");
  dequantize(stream, q, detail::describe_device_tensor(y), options);
}

/// Bytes of workspace that the call needs; 0 without a rotation. Needs no GPU.
inline std::size_t dequantize_workspace_bytes(cudaStream_t, const ConstBlockScaledView& q,
                                              const TensorDescriptor& y,
                                              const QuantizeOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_dequantize_problem(q, y, options, false));
}

/// The product of two matrices in device memory, C = alpha · op(A) op(B) + beta · C, enqueued on `stream`,
/// which belongs to the current device. Contract and errors are those of `papillon::gemm` for Kokkos
/// execution spaces (see gemm.hpp), which this call does not need; sums run in another order than on the CPU.
/// Complex scalars are not taken.
///
/// Matrices whose rows or columns are contiguous and start at multiples of 16 bytes run in tuned kernels;
/// others in a general one, which is slower. `automatic` calls cuBLAS where that was measured faster and can
/// be loaded at run time; `options.base` says otherwise.
///
/// Asynchronous; launches only, so that it may be captured in a graph. With `options.workspace` empty and
/// `gemm_workspace_bytes` above 0 the workspace is allocated and freed on the stream.
inline void gemm(cudaStream_t stream, std::complex<double> alpha, const ConstTensorDescriptor& a,
                 const ConstTensorDescriptor& b, std::complex<double> beta, const TensorDescriptor& c,
                 const GemmOptions& options = {}) {
  cuda::gemm(stream, detail::make_gemm_problem(alpha, a, b, beta, c, options));
}
template <DeviceTensor A, DeviceTensor B, DeviceTensor C>
void gemm(cudaStream_t stream, std::complex<double> alpha, const A& a, const B& b, std::complex<double> beta,
          const C& c, const GemmOptions& options = {}) {
  static_assert(!std::is_const_v<typename C::element_type>, "papillon::gemm: C has const elements");
  gemm(stream, alpha, ConstTensorDescriptor(detail::describe_device_tensor(a)),
       ConstTensorDescriptor(detail::describe_device_tensor(b)), beta, detail::describe_device_tensor(c),
       options);
}

/// Bytes of workspace that the call needs: 0 for classical products. Needs no GPU.
inline std::size_t gemm_workspace_bytes(cudaStream_t, std::complex<double> alpha,
                                        const ConstTensorDescriptor& a, const ConstTensorDescriptor& b,
                                        std::complex<double> beta, const TensorDescriptor& c,
                                        const GemmOptions& options = {}) {
  return cuda::workspace_bytes(detail::make_gemm_problem(alpha, a, b, beta, c, options));
}

/// How the call is carried out, in lines. Needs no GPU.
inline std::string explain_gemm(cudaStream_t, std::complex<double> alpha, const ConstTensorDescriptor& a,
                                const ConstTensorDescriptor& b, std::complex<double> beta,
                                const TensorDescriptor& c, const GemmOptions& options = {}) {
  return cuda::describe(detail::make_gemm_problem(alpha, a, b, beta, c, options));
}

}  // namespace papillon
