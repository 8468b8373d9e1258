// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "launch.hpp"
#include "papillon/core/pass.hpp"
#include "tuning/row_tuning.hpp"

namespace papillon::cuda {

/// The constants of the row kernel for such rows of `scalar`s, on compute capability `major`.0.
RowTuning tuning_of(ScalarType scalar, const RowProblem& rows, int major = 9);

/// The pass as one that the fastest row kernels take, if it is one: contiguous rows of a power of two, or of
/// a power of two of columns, natural order, 16-byte aligned.
std::optional<RowProblem> as_rows(const detail::Pass& pass);

/// The pass as one for shared_rows, if a row of it fits the shared memory of a block.
std::optional<SharedRowProblem> as_shared_rows(const detail::Pass& pass);

/// The kernel for a pass that is no row problem: columns, tile_columns or packed_columns if it is plain, has
/// m = 1 and contiguous inner indices, else pass.
Family column_family(const detail::Pass& pass);

/// Launches the fastest kernel for a pass. Throws std::runtime_error when the launch fails.
void run_pass(cudaStream_t stream, const Device& device, const detail::Pass& pass);

/// The schedules of a step's axes: one pass where some kernel takes the whole axis, else those of
/// tuning/passes.hpp.
detail::Plan plan_of(const detail::HadamardProblem& step);

/// Launch the kernel of a family for a pass that it takes; `use` as in launch.hpp.
cudaError_t run_rows(cudaStream_t stream, const Device& device, ScalarType scalar, const RowProblem& rows,
                     KernelUse* use);
cudaError_t run_shared_rows(cudaStream_t stream, const Device& device, ScalarType scalar,
                            const SharedRowProblem& rows, KernelUse* use);
/// Of columns, tile_columns, packed_columns or pass; `base` as for launch_pass.
cudaError_t run_columns(cudaStream_t stream, const Device& device, Family family, const detail::Pass& pass,
                        const std::int8_t* base, KernelUse* use);

}  // namespace papillon::cuda
