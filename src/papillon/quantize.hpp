// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <type_traits>

#include "papillon/core/quantize_problem.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/quantize.hpp"
#include "papillon/kokkos_cuda.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon {

/// Rotates along one axis, if asked, and quantises: codes and scales of y = x · (I ⊗ H_g / √g), signs first.
///
/// x is an array of rank 1 to 4 and any strides of float16, bfloat16, float32 or float64, which `space` can
/// reach; it is never written. `q` is dense, the quantised axis last, the other axes in their order before
/// it: its sizes are those of `quantized_layout(extents of x, options)`. Every byte of q.payload and q.scales
/// is written, padding with zero. No buffer may overlap another.
///
/// Bits: y is what `hadamard` gives with `Normalization::ortho`, group and signs on float32 (double for
/// float64, then rounded to float32 once); it is not rounded to the type of x. All further steps are single
/// operations in float32, as named at `ScaleRule`; elements are rounded to nearest, ties to even, and
/// saturate. NaN becomes +6 (E2M1), 0x7f (E4M3, E5M2), 0 (integers); infinities the largest element. NaN is
/// left out of the amax of a block, infinities too where scales are floats, and both of the amax of the
/// tensor; a block whose scale is 0 has codes 0. Results do not depend on layout, threads or backend.
///
/// `Rounding::stochastic`: element i of row r (rows padded to multiples of 16 for counting) takes byte i mod
/// 16 of Philox4x32-10 with key `random_seed` and counter (its number / 16, `random_offset`), so that results
/// can be had again, and is rounded up where that byte and the first 8 bits of the fraction add up to 256.
///
/// Accuracy: an element between the least and the largest that its scale allows is off by at most half a step
/// of its format, times the scale (a whole step if stochastic); see `quantization_error` for what data do.
///
/// Sources: OCP Microscaling Formats Specification 1.0 (MX); NVIDIA, Transformer Engine and the documentation
/// of cuBLAS (NVFP4, scale layout).
///
/// Asynchronous on `space`; no scale passes through the host. Allocates only what
/// `quantize_workspace_bytes` says, and only if `options.workspace` is empty.
///
/// Throws std::invalid_argument naming the argument and its value; nothing has been written then.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void quantize(const ExecutionSpace& space, const ConstTensorDescriptor& x, const BlockScaledView& q,
              const QuantizeOptions& options = {}) {
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  const detail::QuantizeProblem problem = detail::make_quantize_problem(x, q, options, host);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_quantize<host>(space, problem);
}

/// As above for a Kokkos View.
template <class ExecutionSpace, KokkosView XView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void quantize(const ExecutionSpace& space, const XView& x, const BlockScaledView& q,
              const QuantizeOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::quantize: the execution space cannot reach the memory of x");
  quantize(space, ConstTensorDescriptor(describe_view(x)), q, options);
}

/// Two quantised copies of x: `q` along `options.axis`, and `q_other` along `other_axis`, as the two products
/// of training read one operand. Each is what a call of its own would give, rotated along its own axis; with
/// `GlobalScaleSource::given` both have the given scale. `amax` and `statistics` are those of `q`. A
/// workspace must be as large as the larger of what the two calls need.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void quantize(const ExecutionSpace& space, const ConstTensorDescriptor& x, const BlockScaledView& q,
              const BlockScaledView& q_other, int other_axis, const QuantizeOptions& options = {}) {
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  const detail::QuantizePair pair = detail::make_quantize_pair(x, q, q_other, other_axis, options, host);
  if (detail::run_on_cuda(space, pair)) return;
  for (const detail::QuantizeProblem* problem : {&pair.first, &pair.second})  // before anything is written
    detail::given_workspace("quantize", problem->workspace,
                            generic::quantize_workspace_bytes<ExecutionSpace>(*problem));
  generic::run_quantize<host>(space, pair.first);
  generic::run_quantize<host>(space, pair.second);
}
template <class ExecutionSpace, KokkosView XView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void quantize(const ExecutionSpace& space, const XView& x, const BlockScaledView& q,
              const BlockScaledView& q_other, int other_axis, const QuantizeOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::quantize: the execution space cannot reach the memory of x");
  quantize(space, ConstTensorDescriptor(describe_view(x)), q, q_other, other_axis, options);
}

/// Bytes of workspace that a call needs: at most 64, and where rotated values go through memory a few MiB
/// more (a row, where that is more). Throws as `quantize` does.
template <class ExecutionSpace>
std::size_t quantize_workspace_bytes(const ExecutionSpace& space, const ConstTensorDescriptor& x,
                                     const BlockScaledView& q, const QuantizeOptions& options = {}) {
  const auto problem = detail::make_quantize_problem(x, q, options, false);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  return generic::quantize_workspace_bytes<ExecutionSpace>(problem);
}

/// What codes and scales stand for: y = code · scale (· global scale), and with `options.rotation` the
/// rotation undone, signs last. `options` are those of `quantize`, of which format, axis, block, block_shape,
/// scale_layout, rotation and signs count here.
///
/// y has the shape that x had, any strides and any floating-point scalar; every element is written. A product
/// is formed in float32, the rotation in float32 too, and the result is rounded to y's type once. Other bits
/// and errors as for `quantize`.
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void dequantize(const ExecutionSpace& space, const ConstBlockScaledView& q, const TensorDescriptor& y,
                const QuantizeOptions& options = {}) {
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  const detail::DequantizeProblem problem = detail::make_dequantize_problem(q, y, options, host);
  if (detail::run_on_cuda(space, problem)) return;
  generic::run_dequantize<host>(space, problem);
}

/// As above for a Kokkos View.
template <class ExecutionSpace, KokkosView YView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
void dequantize(const ExecutionSpace& space, const ConstBlockScaledView& q, const YView& y,
                const QuantizeOptions& options = {}) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename YView::memory_space>::accessible,
                "papillon::dequantize: the execution space cannot reach the memory of y");
  static_assert(!std::is_const_v<typename YView::value_type>, "papillon::dequantize: y has const elements");
  dequantize(space, q, describe_view(y), options);
}

/// Bytes of workspace that a call needs; 0 without a rotation. Throws as `dequantize` does.
template <class ExecutionSpace>
std::size_t dequantize_workspace_bytes(const ExecutionSpace& space, const ConstBlockScaledView& q,
                                       const TensorDescriptor& y, const QuantizeOptions& options = {}) {
  const auto problem = detail::make_dequantize_problem(q, y, options, false);
  if (const auto bytes = detail::cuda_workspace_bytes(space, problem)) return *bytes;
  return generic::dequantize_workspace_bytes<ExecutionSpace>(problem);
}

}  // namespace papillon
