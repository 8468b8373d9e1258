// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "hwy/highway.h"
#include "papillon/generic/simd/butterfly.hpp"

// The public functions in terms of the kernels of the instruction set chosen at run time. Included by the
// kernel files, once each, after the kernels; each file then instantiates its types.
namespace papillon::simd {

template <class E>
int ButterflyKernels<E>::vector_lines() {
  HWY_EXPORT_T(lines_table, vector_lines<E>);
  return HWY_DYNAMIC_DISPATCH_T(lines_table)();
}

template <class E>
void ButterflyKernels<E>::load(const E* from, const std::int64_t* offsets, int lines, std::int64_t stride,
                               std::int64_t points, R* tile) {
  HWY_EXPORT_T(load_table, load_lines<E>);
  HWY_DYNAMIC_DISPATCH_T(load_table)(from, offsets, lines, stride, points, tile);
}

template <class E>
void ButterflyKernels<E>::store(const R* tile, R scale, E* to, const std::int64_t* offsets, int count,
                                int lines, std::int64_t stride, std::int64_t points) {
  HWY_EXPORT_T(store_table, store_lines<E>);
  HWY_DYNAMIC_DISPATCH_T(store_table)(tile, scale, to, offsets, count, lines, stride, points);
}

template <class E>
bool ButterflyKernels<E>::apply(const detail::TileFactor& factor, Entries entries,
                                const std::int64_t* offsets, int lines, R* tile, R* other) {
  HWY_EXPORT_T(apply_table, apply_factor<E>);
  return HWY_DYNAMIC_DISPATCH_T(apply_table)(factor, entries, offsets, lines, tile, other);
}

}  // namespace papillon::simd
