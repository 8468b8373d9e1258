// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace papillon::perf {

/// Plain copies of `bytes` (a multiple of 16), in several forms: the limit of a transform of one pass is the
/// fastest of them.
inline constexpr int copy_forms = 6;
const char* name_of_copy(int form);
cudaError_t copy(int form, void* y, const void* x, std::size_t bytes, cudaStream_t stream);

/// Fills `count` 16-bit or 32-bit words with finite values of either type, different everywhere.
cudaError_t fill_normal(void* x, std::size_t elements, int dtype, cudaStream_t stream);

}  // namespace papillon::perf
