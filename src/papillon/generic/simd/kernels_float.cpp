// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/kernels_float.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/rows-inl.hpp"
#include "papillon/generic/simd/signed_matrix-inl.hpp"

#if HWY_ONCE
#include "papillon/generic/simd/dispatch.hpp"

namespace papillon::simd {
template struct Kernels<float, float>;
}  // namespace papillon::simd
#endif  // HWY_ONCE
