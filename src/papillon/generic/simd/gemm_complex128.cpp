// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/gemm_complex128.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/gemm-inl.hpp"

#if HWY_ONCE
#include "papillon/generic/simd/gemm_dispatch.hpp"

namespace papillon::simd {
template struct GemmKernels<std::complex<double>>;
template struct PanelKernels<std::complex<double>>;
}  // namespace papillon::simd
#endif  // HWY_ONCE
