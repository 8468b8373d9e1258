// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

#include "kernels/quantize/row_problem.hpp"
#include "launch.hpp"
#include "papillon/core/quantize_problem.hpp"

namespace papillon::cuda {

/// The plain form of the operators (core/quantize_steps.hpp) in kernels of an index; rotations go through the
/// workspace, in chunks that the L2 cache holds.
void run_plain_quantize(cudaStream_t stream, const detail::QuantizeProblem& problem, void* workspace);
void run_plain_dequantize(cudaStream_t stream, const detail::DequantizeProblem& problem, void* workspace);
std::size_t plain_workspace_bytes(const detail::QuantizeProblem& problem);
std::size_t plain_workspace_bytes(const detail::DequantizeProblem& problem);

struct RowStaging;
struct FloatScaleRows;

/// How a call is carried out.
enum class QuantizeRoute {
  rows,    ///< the row kernels read x
  staged,  ///< rows are brought together in the workspace, in chunks that the L2 cache holds, rotated there
           ///< where the row kernels do not rotate, and read by the row kernels
  plain,   ///< the plain form
};
QuantizeRoute route_of(const detail::QuantizeProblem& problem);

/// Launches quantize_rows (`find_amax` before it where `amax` is set); S is float, half or bfloat16. With
/// `use` it launches nothing and says what it would take.
template <class S>
cudaError_t launch_find_row_amax(cudaStream_t stream, const Device& device, const RowQuantization& problem);
template <class S>
cudaError_t launch_quantize_rows(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                                 KernelUse* use);

/// Launches rotate_rows: of the rotated rows of a call to `target`, densely.
template <class S>
cudaError_t launch_rotate_rows(cudaStream_t stream, const Device& device, const RowQuantization& problem,
                               float* target);

/// Launches stage_rows from `scalar`, to float32 if `widened`, else to the same bits.
cudaError_t launch_stage_rows(cudaStream_t stream, const RowStaging& staging, ScalarType scalar,
                              bool widened);

/// Launches quantize_float_scales.
cudaError_t launch_float_scales(cudaStream_t stream, const Device& device, const FloatScaleRows& problem,
                                ScalarType scalar);

/// Zeros the padding of swizzled scales.
cudaError_t launch_clear_scale_padding(cudaStream_t stream, const QuantizedLayout& layout,
                                       std::uint8_t* scales);

}  // namespace papillon::cuda
