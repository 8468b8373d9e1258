// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <span>
#include <type_traits>

#include "papillon/butterfly_options.hpp"
#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/butterfly.hpp"
#include "papillon/generic/host_space.hpp"
#include "papillon/kokkos_cuda.hpp"

namespace papillon {

/// The product of k Kronecker-sparse factors times the vectors along one axis: y[…, :, …] = scale ·
/// F1 · F2 · … · Fk · P x[…, :, …]; with `options.adjoint` the adjoint, scale · Pᵀ Fkᴴ · … · F1ᴴ x[…, :, …].
/// P is the identity, or the permutation `options.x_permutation`.
///
/// This one form holds learned butterflies (T. Dao, A. Gu, M. Eichhorn, A. Rudra, C. Ré, Learning fast
/// algorithms for linear transforms using butterfly factorizations, 2019), Monarch matrices (T. Dao and
/// others, Monarch: expressive structured matrices for efficient and accurate training, 2022), block-diagonal
/// matrices, and the fast Fourier and Hadamard transforms; `<papillon/butterfly_factors.hpp>` makes their
/// factors. What a factor of pattern (a, b, c, d) is, `ButterflyFactor` says.
///
/// x and y are arrays of one rank, from 1 to 8, of any strides and of one scalar (real or complex), which is
/// that of the 1 to 64 factors too. The columns a·c·d of each factor are the rows a·b·d of the next; the axis
/// has length a·c·d of Fk in x and a·b·d of F1 in y (the other way round for the adjoint), and all other
/// extents agree. With `options.batch_axis` factors with a batch stride differ from one index of that axis to
/// the next. y may be x where their shapes agree (same pointer and strides); any other overlap, also of a
/// factor or of the permutation with y, is refused. A block of a factor has at most 2^23 bytes of rows or of
/// columns, in the type of its sums. x and the factors are never written. Sizes of 0 are taken: a sum over
/// nothing is 0.
///
/// Cost: a·b·c·d multiply-adds for each factor and vector. Consecutive factors are applied while a tile is in
/// scratch memory, so that memory moves once a pass (`detail::plan_butterfly`, and `explain_butterfly` in
/// words).
///
/// Sums run in the order of rising q: the first product is rounded, each further product is added to the sum
/// with one rounding (`fma`), in the scalar, in float for 16-bit ones. The parts of a complex product w x are
/// added one after the other, that with the real part of w first: re = fma(-im w, im x, fma(re w, re x, re)),
/// im = fma(im w, re x, fma(re w, im x, im)). The scale multiplies once, at the end, and the result is
/// rounded once. The results do not depend on batch, layout, threads, or on which factors share a pass.
///
/// Accuracy, with unit roundoff u of the sums' type: |y - exact| <= gamma · |scale| · |F1| · … · |Fk| |x|,
/// with gamma = t·u / (1 - t·u), t = sum of c_i + 2 (of b_i for the adjoint); for complex scalars |·| are
/// moduli and t = 2 sqrt(2) (sum of c_i) + 2 (Higham, Accuracy and Stability of Numerical Algorithms,
/// sections 3.1, 3.5 and 3.6); plus one rounding for 16-bit scalars.
///
/// Asynchronous on `space`; allocates only what `butterfly_workspace_bytes` says, and only if
/// `options.workspace` is empty. Throws std::invalid_argument naming the argument and its value, for
/// neighbours that do not fit both factors and their sizes; nothing has been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void butterfly(const ExecutionSpace& space, std::span<const ButterflyFactor> factors,
               const ConstTensorDescriptor& x, const TensorDescriptor& y,
               const ButterflyOptions& options = {}) {
  const detail::ButterflyProblem problem = detail::make_butterfly_problem(factors, x, y, options);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_butterfly<generic::is_host_space<ExecutionSpace>>(space, problem);
}

/// As above for Kokkos Views of equal rank, of any layout.
template <class ExecutionSpace, KokkosView XView, KokkosView YView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void butterfly(const ExecutionSpace& space, std::span<const ButterflyFactor> factors, const XView& x,
               const YView& y, const ButterflyOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::butterfly: the execution space cannot reach the memory of x");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename YView::memory_space>::accessible,
                "papillon::butterfly: the execution space cannot reach the memory of y");
  static_assert(!std::is_const_v<typename YView::value_type>, "papillon::butterfly: y has const elements");
  static_assert(XView::rank() == YView::rank(), "papillon::butterfly: x and y differ in rank");
  butterfly(space, factors, ConstTensorDescriptor(describe_view(x)), TensorDescriptor(describe_view(y)),
            options);
}

/// A factor whose values W are a Kokkos View of rank 4, of shape (a, b, c, d) and any layout.
template <KokkosView View>
ButterflyFactor describe_butterfly(const View& view) {
  static_assert(View::rank() == 4, "papillon::describe_butterfly: a factor is a View of rank 4");
  const ConstTensorDescriptor tensor = describe_view(view);
  const auto& n = tensor.extents;
  const auto& s = tensor.strides;
  return {tensor.data, tensor.type, n[0], n[1], n[2], n[3], s[0], s[1], s[2], s[3]};
}

/// Bytes of workspace that a call needs: 0 where one pass does it. Throws as `butterfly` does.
template <class ExecutionSpace>
std::size_t butterfly_workspace_bytes(const ExecutionSpace& space, std::span<const ButterflyFactor> factors,
                                      const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const ButterflyOptions& options = {}) {
  const auto problem = detail::make_butterfly_problem(factors, x, y, options);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  if (problem.empty) return 0;
  constexpr Architecture architecture = generic::architecture_of<ExecutionSpace>;
  return detail::buffers_of(problem, detail::plan_butterfly(problem, architecture), architecture)
      .bytes(detail::sum_bytes(problem.scalar));
}

}  // namespace papillon
