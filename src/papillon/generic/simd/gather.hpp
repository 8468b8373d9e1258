// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::simd {

// Rows whose elements are `stride` apart and that lie side by side, as the columns of a row-major matrix do,
// turned into contiguous float rows and back, on vectors. S is float, half or bfloat16. Rows of `values` have
// room for a multiple of 16 elements.

/// values[r · pitch + c] = x[c · stride + r] for r < rows, c < count; what follows within 16 is undefined.
template <class S>
void gather_rows(const S* x, std::int64_t stride, std::int64_t rows, std::int64_t count, float* values,
                 std::int64_t pitch);

/// y[c · stride + r] = values[r · pitch + c], rounded once.
template <class S>
void scatter_rows(const float* values, std::int64_t pitch, std::int64_t rows, std::int64_t count, S* y,
                  std::int64_t stride);

}  // namespace papillon::simd
