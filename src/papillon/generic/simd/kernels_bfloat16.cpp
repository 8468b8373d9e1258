// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define PAPILLON_SIMD_WITH_BFLOAT16
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/kernels_bfloat16.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/rows-inl.hpp"
#include "papillon/generic/simd/signed_matrix-inl.hpp"

#if HWY_ONCE
#include "papillon/generic/simd/dispatch.hpp"

namespace papillon::simd {
template struct Kernels<bfloat16, bfloat16>;
template struct Kernels<bfloat16, float>;
template struct Kernels<float, bfloat16>;
}  // namespace papillon::simd
#endif  // HWY_ONCE
