// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <string_view>

#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/hadamard.hpp"
#include "papillon/hadamard_options.hpp"
#include "papillon/kokkos_cuda.hpp"
#include "papillon/orders.hpp"

namespace papillon {

/// Which implementation runs a call.
enum class Backend {
  host_vector,  ///< the vector kernels, on a Kokkos host space
  team,         ///< the generic Kokkos team kernel
  cuda,         ///< the CUDA kernels, on Kokkos::Cuda
};

constexpr std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::host_vector:
      return "generic, vector kernels on the host";
    case Backend::team:
      return "generic, Kokkos team kernel";
    case Backend::cuda:
      return "CUDA kernels";
  }
  return "unknown";
}

/// The fast Hadamard transform along one axis: y[o, :, i] = factor · H_n · x[o, :, i] (H_nᵀ with
/// `options.transpose`); with `options.axes` along several, the last one first.
///
/// x and y are arrays of one shape, of rank 1 to 8 and any strides, that `space` can reach. n is the length
/// of the axis (or `options.group`); it must be m · 2^k for an offered base order m, see `hadamard_orders`,
/// and H_n = H_m ⊗ H_{2^k}, the power-of-two part varying fastest. y may be x (same pointer, extents and
/// strides); any other overlap is refused. x is never written.
///
/// Cost: n·log2(2^k) + n·m operations a transform; the data passes through memory once where a transform fits
/// a core's cache, else once a pass of the schedule.
///
/// Bits: stages run from the lowest index bit to the highest (F. Yates' algorithm, 1937; in matrix form
/// I. J. Good, J. R. Stat. Soc. B 20, 1958), the order-m sums in increasing index order; sums are formed in
/// float for 16-bit scalars and in the scalar itself otherwise; the factor multiplies once, at the end, and
/// the result is rounded once. So results are identical on every backend and for any batch, thread count,
/// layout and schedule (NaN payloads excepted). Integers wrap. With `Intermediate::storage`, 16-bit results
/// are rounded after each axis, and after the lowest `detail::storage_rounding_bit` bits of an axis of more
/// than 2^19 points.
///
/// Accuracy, for floats with unit roundoff u of the compute type: |y - exact| <= gamma · |factor| · sum |x_j|
/// with gamma = d·u / (1 - d·u), d = k + (m > 1 ? m - 1 : 0) + 2 (Higham, Accuracy and Stability of Numerical
/// Algorithms, section 4.2 and 24.1), plus one rounding to the storage type for 16-bit scalars; d is the sum
/// of those of several axes. With `Intermediate::storage` each rounding on the way adds at most its unit
/// roundoff times |factor| · sum |x_j|.
///
/// Asynchronous on `space`; allocates only what `hadamard_workspace_bytes` says, and only if
/// `options.workspace` is empty.
///
/// Throws std::invalid_argument naming the argument and its value; nothing has been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void hadamard(const ExecutionSpace& space, const ConstTensorDescriptor& x, const TensorDescriptor& y,
              const HadamardOptions& options = {}) {
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  const detail::HadamardProblem problem = detail::make_hadamard_problem(x, y, options, host);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_hadamard<host>(space, problem);
}

/// As above for Kokkos Views of equal rank: LayoutRight, LayoutLeft or LayoutStride, subviews, const x.
template <class ExecutionSpace, KokkosView XView, KokkosView YView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void hadamard(const ExecutionSpace& space, const XView& x, const YView& y,
              const HadamardOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::hadamard: the execution space cannot reach the memory of x");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename YView::memory_space>::accessible,
                "papillon::hadamard: the execution space cannot reach the memory of y");
  static_assert(!std::is_const_v<typename YView::value_type>, "papillon::hadamard: y has const elements");
  static_assert(XView::rank() == YView::rank(), "papillon::hadamard: x and y differ in rank");
  hadamard(space, ConstTensorDescriptor(describe_view(x)), describe_view(y), options);
}

/// Bytes of workspace that a call needs: 0 unless it takes several passes (`papillon explain` says) and has a
/// 16-bit scalar, or an ordering other than natural on an axis of several passes. Then one transform (of up
/// to 64 neighbouring columns) in the compute type, or as many of them as 4 MiB (on a GPU 32 MiB) hold; twice
/// that where an ordered axis of several passes is not the slowest of several axes. Throws as `hadamard`
/// does.
template <class ExecutionSpace>
std::size_t hadamard_workspace_bytes(const ExecutionSpace& space, const ConstTensorDescriptor& x,
                                     const TensorDescriptor& y, const HadamardOptions& options = {}) {
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  const auto problem = detail::make_hadamard_problem(x, y, options, false);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  return detail::workspace_bytes(problem, host ? Architecture::cpu : Architecture::device);
}
template <class ExecutionSpace, KokkosView XView, KokkosView YView>
std::size_t hadamard_workspace_bytes(const ExecutionSpace& space, const XView& x, const YView& y,
                                     const HadamardOptions& options = {}) {
  return hadamard_workspace_bytes(space, ConstTensorDescriptor(describe_view(x)), describe_view(y), options);
}

/// Which implementation would run the call. Throws as `hadamard` does.
template <class ExecutionSpace>
Backend selected_backend([[maybe_unused]] const ExecutionSpace& space, const ConstTensorDescriptor& x,
                         const TensorDescriptor& y, const HadamardOptions& options = {}) {
  detail::make_hadamard_problem(x, y, options, false);
#ifdef PAPILLON_ROUTES_KOKKOS_CUDA
  if constexpr (detail::may_use_cuda<ExecutionSpace>) {
    if (detail::uses_cuda(space)) return Backend::cuda;
  }
#endif
  return generic::is_host_space<ExecutionSpace> ? Backend::host_vector : Backend::team;
}
template <class ExecutionSpace, KokkosView XView, KokkosView YView>
Backend selected_backend(const ExecutionSpace& space, const XView& x, const YView& y,
                         const HadamardOptions& options = {}) {
  return selected_backend(space, ConstTensorDescriptor(describe_view(x)), describe_view(y), options);
}

}  // namespace papillon
