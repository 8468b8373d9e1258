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

/// Reads `read` bytes and writes `written` ones (multiples of 16, fewer than are read), in several forms: the
/// limit of a kernel that moves these bytes.
inline constexpr int reduction_forms = 4;
cudaError_t reduce_bytes(int form, void* y, const void* x, std::size_t read, std::size_t written,
                         cudaStream_t stream);

/// Fills `count` 16-bit or 32-bit words with finite values of either type, different everywhere.
cudaError_t fill_normal(void* x, std::size_t elements, int dtype, cudaStream_t stream);

}  // namespace papillon::perf
