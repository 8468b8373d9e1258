// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/gather.hpp"

#define PAPILLON_SIMD_WITH_BFLOAT16
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/gather.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/gather-inl.hpp"

#if HWY_ONCE

namespace papillon::simd {

template <class S>
void gather_rows(const S* x, std::int64_t stride, std::int64_t rows, std::int64_t count, float* values,
                 std::int64_t pitch) {
  HWY_EXPORT_T(gather_table, vector_gather_rows<S>);
  HWY_DYNAMIC_DISPATCH_T(gather_table)(x, stride, rows, count, values, pitch);
}
template void gather_rows(const float*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t);
template void gather_rows(const half*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t);
template void gather_rows(const bfloat16*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t);

template <class S>
void scatter_rows(const float* values, std::int64_t pitch, std::int64_t rows, std::int64_t count, S* y,
                  std::int64_t stride) {
  HWY_EXPORT_T(scatter_table, vector_scatter_rows<S>);
  HWY_DYNAMIC_DISPATCH_T(scatter_table)(values, pitch, rows, count, y, stride);
}
template void scatter_rows(const float*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t);
template void scatter_rows(const float*, std::int64_t, std::int64_t, std::int64_t, half*, std::int64_t);
template void scatter_rows(const float*, std::int64_t, std::int64_t, std::int64_t, bfloat16*, std::int64_t);

}  // namespace papillon::simd
#endif  // HWY_ONCE
