// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/butterfly_float.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/butterfly-inl.hpp"

#if HWY_ONCE
#include "papillon/generic/simd/butterfly_dispatch.hpp"

namespace papillon::simd {
template struct ButterflyKernels<float>;
template struct ButterflyKernels<half>;
template struct ButterflyKernels<bfloat16>;
}  // namespace papillon::simd
#endif  // HWY_ONCE
