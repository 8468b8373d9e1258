// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "hwy/highway.h"
#include "papillon/generic/simd/gemm.hpp"

// The public functions in terms of the kernels of the instruction set chosen at run time. Included by the
// kernel files, once each, after the kernels; each file then instantiates its types.
namespace papillon::simd {

template <class S>
void PanelKernels<S>::pack(const PanelTerm<S>* terms, int count, const PanelShape& shape,
                           typename RealSum<S>::type* to) {
  HWY_EXPORT_T(pack_table, pack_panels<S>);
  HWY_DYNAMIC_DISPATCH_T(pack_table)(terms, count, shape, to);
}

template <class T>
GemmTile GemmKernels<T>::tile() {
  HWY_EXPORT_T(tile_table, gemm_tile<T>);
  return HWY_DYNAMIC_DISPATCH_T(tile_table)();
}

template <class T>
void GemmKernels<T>::multiply(const GemmPart<T>& part) {
  HWY_EXPORT_T(multiply_table, multiply_part<T>);
  HWY_DYNAMIC_DISPATCH_T(multiply_table)(part);
}

}  // namespace papillon::simd
