// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
#include <type_traits>

#include "papillon/core/kronecker_gradient_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/kronecker_gradient.hpp"
#include "papillon/kronecker.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon {

/// The gradient of a real function L of y = kronecker(factors, x) with respect to factor `number` (from 0),
/// given `dy`, the gradient of L with respect to y. Gradients are adjoint ones, dL = Re <G, dF> = Re sum over
/// a, b of conj(G[a, b]) dF[a, b], so that for y = F x it is G = dy xᴴ; of the real and imaginary part of an
/// entry L's derivatives are G's real and imaginary part. The gradient with respect to x is
/// `kronecker(space, factors, dy, dx, options)` with `options.adjoint` flipped.
///
/// `factors`, x and `options` are those of the call of `kronecker`, dy has the shape of its y. `gradient` has
/// the scalar of x and the factor's own shape (rows, columns), whatever `options` and `conjugate` say; where
/// the factor has a batch stride it has the shape (batch, rows, columns), and a gradient for each batch entry
/// is formed, otherwise one for all. It may have any strides but is no part of x, dy or a factor; of the
/// factor itself the extents are looked at, and no element is read. Where there is nothing to sum it becomes
/// 0.
///
/// Method: with W = A1 ⊗ … ⊗ 1 ⊗ … ⊗ Ak, the identity in place of the factor, w = W x is formed, or Wᴴ dy,
/// whichever takes fewer operations (`detail::plan_kronecker_gradient`), and G[a, b] = scale · sum of dy[o,
/// a, i] conj(w[o, b, i]) over all columns and indices o, i beside the factor's, or of (Wᴴ dy)[o, a, i]
/// conj(x[o, b, i]) (the product rule; Kolda and Bader, Tensor decompositions and applications, 2009, section
/// 2.6, has the Kronecker algebra). It runs through the columns in chunks of 16 MiB, or of one column.
///
/// 32 terms at a time are summed in order, 128 of those sums are added in order to the sum of a block, then
/// those of a chunk's blocks, then those of the chunks, in the type and with the fused multiply-adds of the
/// sums of `kronecker`; the scale multiplies once, at the end. Terms come in the order of the array's
/// indices, so that results depend neither on layout, nor threads, nor the execution space.
///
/// Accuracy: |G - exact| <= gamma · |scale| · S, S being the same sum over the absolute values of dy, x and
/// the other factors, with gamma = d·u / (1 - d·u), u as for `kronecker`, d = sum over the other factors of
/// (max(rows, columns) + 1) + min(N, 160 + N / 4096 + chunks) + 4 for sums of N terms. With 16-bit scalars w
/// is rounded to the scalar, once for the factors before and once for those after the one asked for, and so
/// is G: |G - exact| <= (gamma + 3 v (1 + gamma)) · |scale| · S up to terms of v², v being the scalar's unit
/// roundoff.
///
/// Asynchronous on `space`; allocates only what `kronecker_gradient_workspace_bytes` says, and only if
/// `options.workspace` is empty. Throws std::invalid_argument naming the argument and its value; nothing has
/// been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void kronecker_factor_gradient(const ExecutionSpace& space, std::span<const Factor> factors,
                               std::size_t number, const ConstTensorDescriptor& x,
                               const ConstTensorDescriptor& dy, const TensorDescriptor& gradient,
                               const KroneckerOptions& options = {}) {
  generic::run_kronecker_gradient(
      space, detail::make_kronecker_gradient_problem(factors, number, x, dy, gradient, options));
}

/// As above for Kokkos Views, x and dy of equal rank, of any layout.
template <class ExecutionSpace, KokkosView XView, KokkosView YView, KokkosView GradientView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void kronecker_factor_gradient(const ExecutionSpace& space, std::span<const Factor> factors,
                               std::size_t number, const XView& x, const YView& dy,
                               const GradientView& gradient, const KroneckerOptions& options = {}) {
  static_assert(
      Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, typename YView::memory_space>::accessible &&
          Kokkos::SpaceAccessibility<ExecutionSpace, typename GradientView::memory_space>::accessible,
      "papillon::kronecker_factor_gradient: the execution space cannot reach the memory of a View");
  static_assert(!std::is_const_v<typename GradientView::value_type>,
                "papillon::kronecker_factor_gradient: gradient has const elements");
  static_assert(XView::rank() == YView::rank(),
                "papillon::kronecker_factor_gradient: x and dy differ in rank");
  kronecker_factor_gradient(space, factors, number, ConstTensorDescriptor(describe_view(x)),
                            ConstTensorDescriptor(describe_view(dy)),
                            TensorDescriptor(describe_view(gradient)), options);
}

/// Bytes of workspace that a call needs: two buffers of 16 MiB at most, or of a column each, and sums of the
/// gradient's size. Throws as `kronecker_factor_gradient` does.
template <class ExecutionSpace>
std::size_t kronecker_gradient_workspace_bytes(const ExecutionSpace&, std::span<const Factor> factors,
                                               std::size_t number, const ConstTensorDescriptor& x,
                                               const ConstTensorDescriptor& dy,
                                               const TensorDescriptor& gradient,
                                               const KroneckerOptions& options = {}) {
  const auto problem = detail::make_kronecker_gradient_problem(factors, number, x, dy, gradient, options);
  if (problem.empty || problem.without_terms) return 0;
  return generic::kronecker_gradient_workspace<ExecutionSpace>(problem,
                                                               detail::plan_kronecker_gradient(problem))
      .bytes();
}

}  // namespace papillon
