// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
#include <type_traits>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/kronecker.hpp"
#include "papillon/generic/kronecker_workspace.hpp"
#include "papillon/kokkos_cuda.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon {

/// A matrix in a Kokkos View of rank 2, of any layout.
template <KokkosView View>
Factor describe_factor(const View& view) {
  static_assert(View::rank() == 2, "papillon::describe_factor: a factor is a View of rank 2");
  const ConstTensorDescriptor tensor = describe_view(view);
  return {tensor.data,       tensor.type,       tensor.extents[0],
          tensor.extents[1], tensor.strides[0], tensor.strides[1]};
}

/// The Kronecker product of k matrices times the vectors along one axis: y[…, :, …] = scale · (F1 ⊗ … ⊗ Fk)
/// x[…, :, …], the index of F1 varying slowest; with `options.vectors = VectorSide::left` x[…, :, …] (F1 ⊗ …
/// ⊗ Fk); with `options.adjoint` the adjoint of either.
///
/// x and y are arrays of one rank, from 1 to 8, of any strides and of one scalar (real or complex), which is
/// that of the 1 to 32 factors too. Factor i has p_i × q_i elements: the axis has length ∏ q_i in x and ∏ p_i
/// in y (the other way round where the matrix is transposed), and all other extents agree. With
/// `options.batch_axis` factors with a batch stride differ from one index of that axis to the next. y may be
/// x where their shapes agree (same pointer and strides); any other overlap, also of a factor with y, is
/// refused. A factor has at most 2^23 bytes of rows or of columns, in the type of its sums. x and the factors
/// are never written. Sizes of 0 are taken: a sum over nothing is 0.
///
/// Cost: the factors are applied one after the other, ∏ p over those applied times ∏ q over the others
/// multiply-adds each, in the order that takes fewest; consecutive small ones while a tile is in scratch
/// memory, so that memory moves once a pass (`detail::plan_kronecker`).
///
/// Sums run in the order of rising column index, from the first product on, each further one a fused
/// multiply-add rounded in the scalar (in float for 16-bit ones). A complex entry a adds its real part first,
/// then its imaginary one: re = fma(-a.im, x.im, fma(a.re, x.re, re)), im = fma(a.im, x.re, fma(a.re, x.im,
/// im)). The scale multiplies once, at the end, and the result is rounded once. The results do not depend on
/// batch, layout, threads or instruction set.
///
/// Accuracy, with unit roundoff u of the sums' type: |y - exact| <= gamma · |scale| · (|F1| ⊗ … ⊗ |Fk|) |x|,
/// with gamma = d·u / (1 - d·u), d = 1 + sum of the q_i, for complex scalars with 3 u for u (Higham,
/// Accuracy and Stability of Numerical Algorithms, sections 3.1, 3.5 and 3.6), plus one rounding for 16-bit
/// scalars.
///
/// Asynchronous on `space`; allocates only what `kronecker_workspace_bytes` says, and only if
/// `options.workspace` is empty; on host spaces each thread keeps memory for its tiles, and the caller's for
/// the factors in the order in which they are read, until its next call. Throws std::invalid_argument naming
/// the argument and its value; nothing has been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void kronecker(const ExecutionSpace& space, std::span<const Factor> factors, const ConstTensorDescriptor& x,
               const TensorDescriptor& y, const KroneckerOptions& options = {}) {
  const detail::KroneckerProblem problem = detail::make_kronecker_problem(factors, x, y, options);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_kronecker<generic::is_host_space<ExecutionSpace>>(space, problem);
}

/// As above for Kokkos Views of equal rank, of any layout.
template <class ExecutionSpace, KokkosView XView, KokkosView YView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void kronecker(const ExecutionSpace& space, std::span<const Factor> factors, const XView& x, const YView& y,
               const KroneckerOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::kronecker: the execution space cannot reach the memory of x");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename YView::memory_space>::accessible,
                "papillon::kronecker: the execution space cannot reach the memory of y");
  static_assert(!std::is_const_v<typename YView::value_type>, "papillon::kronecker: y has const elements");
  static_assert(XView::rank() == YView::rank(), "papillon::kronecker: x and y differ in rank");
  kronecker(space, factors, ConstTensorDescriptor(describe_view(x)), TensorDescriptor(describe_view(y)),
            options);
}

/// Bytes of workspace that a call needs: 0 where one pass does it. Throws as `kronecker` does.
template <class ExecutionSpace>
std::size_t kronecker_workspace_bytes(const ExecutionSpace& space, std::span<const Factor> factors,
                                      const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const KroneckerOptions& options = {}) {
  const auto problem = detail::make_kronecker_problem(factors, x, y, options);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  return generic::kronecker_workspace_bytes<ExecutionSpace>(problem);
}

}  // namespace papillon
