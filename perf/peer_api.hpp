// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace papillon::perf {

/// The function that a peer's shared library exports as NAME_fht: y = scale * H_n x for `rows` contiguous
/// rows of n. dtype: 0 float32, 1 float16, 2 bfloat16, 3 float64. `stream` is a cudaStream_t, null on the
/// CPU. Returns 0 when done, -1 when it does not offer the case.
using PeerFunction = int (*)(const void* x, void* y, long rows, int n, int dtype, float scale, void* stream);

}  // namespace papillon::perf
