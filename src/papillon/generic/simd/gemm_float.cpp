// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/gemm_float.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/gemm-inl.hpp"

#if HWY_ONCE
#include "papillon/generic/simd/gemm_dispatch.hpp"

namespace papillon::simd {
template struct GemmKernels<float>;
template struct PanelKernels<float>;
template struct PanelKernels<half>;
template struct PanelKernels<bfloat16>;
}  // namespace papillon::simd
#endif  // HWY_ONCE
