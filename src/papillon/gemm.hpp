// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>

#include "papillon/core/gemm_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/gemm_options.hpp"
#include "papillon/generic/gemm.hpp"
#include "papillon/kokkos_cuda.hpp"

namespace papillon {

/// C = alpha · op(A) op(B) + beta · C, classically or by levels of a fast bilinear algorithm (Strassen,
/// Winograd, any table).
///
/// op(A) has m × k, op(B) k × n and C m × n elements, m, n, k >= 0, of any layout: strides are positive and
/// may be anything that gives each element one index. Arrays of rank 3 are batches along the first axis; A or
/// B of rank 2, or with a batch stride of 0, serves all of a batch. Scalars are double, float, complex, half
/// and bfloat16, the last two summed in float, with C of theirs or float. C shares no element with A or B.
/// Where beta is 0, C is not read; where alpha or k is 0, A and B are not. Complex products run on host
/// spaces.
///
/// `options.algorithm`: a level of a table ⟨m',k',n'; r⟩ cuts the operands into blocks and takes r products
/// of blocks instead of m'k'n', each of sums of blocks, which are formed while blocks are packed; extents
/// that are not multiples are filled up with zeros in the packing. `automatic` takes Strassen for double and
/// float alone, where it was measured to pay.
///
/// Accuracy, with unit roundoff u of the sums' type, beta = 0: |C - exact| <= E u |alpha| max|A| max|B| for
/// every element, plus one rounding of C where it is 16-bit. E is k² for a classical product (k² + k where
/// alpha is no power of two), where element by element |C - exact| <= gamma (|A| |B|), gamma = (k + 2) u /
/// (1 - (k + 2) u), holds too (three times that for complex ones); each level of Strassen multiplies it by
/// up to 12/4, of Winograd by up to 18/4 (N. Higham, Accuracy and Stability of Numerical Algorithms, section
/// 23.2.2; `explain_gemm` gives E). With
/// levels the bound is of the whole matrix: small elements beside large ones lose their digits, and sums of
/// 16-bit blocks are rounded to 16 bits on GPUs (u is then theirs). A NaN or infinity reaches, besides the
/// elements that it belongs to, others of C, where infinities may become NaN; zero padding never meets them.
/// `classical` keeps them where they belong.
///
/// The results of a call are the same bits in every run, and for any number of threads.
///
/// Asynchronous on `space`; allocates only what `gemm_workspace_bytes` says, and only if `options.workspace`
/// is empty; host threads keep memory for packed tiles until their next call. Throws std::invalid_argument
/// naming the argument and its value; nothing has been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void gemm(const ExecutionSpace& space, std::complex<double> alpha, const ConstTensorDescriptor& a,
          const ConstTensorDescriptor& b, std::complex<double> beta, const TensorDescriptor& c,
          const GemmOptions& options = {}) {
  const detail::GemmProblem problem = detail::make_gemm_problem(alpha, a, b, beta, c, options);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_gemm(space, problem);
}

/// As above for Kokkos Views of rank 2 or 3, of any layout.
template <class ExecutionSpace, KokkosView AView, KokkosView BView, KokkosView CView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void gemm(const ExecutionSpace& space, std::complex<double> alpha, const AView& a, const BView& b,
          std::complex<double> beta, const CView& c, const GemmOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename AView::memory_space>::accessible,
                "papillon::gemm: the execution space cannot reach the memory of A");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename BView::memory_space>::accessible,
                "papillon::gemm: the execution space cannot reach the memory of B");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename CView::memory_space>::accessible,
                "papillon::gemm: the execution space cannot reach the memory of C");
  static_assert(!std::is_const_v<typename CView::value_type>, "papillon::gemm: C has const elements");
  gemm(space, alpha, ConstTensorDescriptor(describe_view(a)), ConstTensorDescriptor(describe_view(b)), beta,
       TensorDescriptor(describe_view(c)), options);
}

/// Bytes of workspace that a call needs: 0 on host spaces, and for most classical products. Throws as `gemm`
/// does.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
std::size_t gemm_workspace_bytes(const ExecutionSpace& space, std::complex<double> alpha,
                                 const ConstTensorDescriptor& a, const ConstTensorDescriptor& b,
                                 std::complex<double> beta, const TensorDescriptor& c,
                                 const GemmOptions& options = {}) {
  const detail::GemmProblem problem = detail::make_gemm_problem(alpha, a, b, beta, c, options);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  return generic::gemm_workspace_bytes<ExecutionSpace>(problem);
}

/// How a call is carried out on a host space, in lines: algorithm and levels, blocks, operations, bytes,
/// workspace, error bound, predicted time and the hardware that it is predicted for. Throws as `gemm` does.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
std::string explain_gemm(const ExecutionSpace& space, std::complex<double> alpha,
                         const ConstTensorDescriptor& a, const ConstTensorDescriptor& b,
                         std::complex<double> beta, const TensorDescriptor& c,
                         const GemmOptions& options = {}) {
  const detail::GemmProblem problem = detail::make_gemm_problem(alpha, a, b, beta, c, options);
  if (const auto text = detail::cuda_description(space, problem)) return *text;
  return generic::explain_gemm<ExecutionSpace>(problem);
}

}  // namespace papillon
