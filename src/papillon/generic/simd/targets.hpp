// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Which instruction sets the kernels are compiled for; include before hwy/foreach_target.h.
// Of the later AVX-512 sets the kernels use only AVX512_BF16; the file with bfloat16 defines
// PAPILLON_SIMD_WITH_BFLOAT16 to be compiled for the two sets that have it. Vectors of unknown length are not
// supported.

// Nothing here is encrypted: without this a -march=x86-64-v3 baseline, which lacks AES, would count as SSSE3.
#ifndef HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_PCLMUL_AES
#endif
#include "hwy/detect_targets.h"

#undef HWY_DISABLED_TARGETS
#ifdef PAPILLON_SIMD_WITH_BFLOAT16
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_ALL_SVE | HWY_RVV)
#else
#define HWY_DISABLED_TARGETS (HWY_AVX3_SPR | HWY_AVX3_ZEN4 | HWY_AVX3_DL | HWY_ALL_SVE | HWY_RVV)
#endif
