// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "hwy/highway.h"
#include "papillon/generic/simd/kronecker.hpp"

// The public functions in terms of the kernels of the instruction set chosen at run time. Included by the
// kernel files, once each, after the kernels; each file then instantiates its type.
namespace papillon::simd {

template <class R>
void TileKernels<R>::plan(const TileProduct<R>& product, TilePlan& plan) {
  HWY_EXPORT_T(plan_table, plan_tile<R>);
  HWY_DYNAMIC_DISPATCH_T(plan_table)(product, plan);
}

template <class R>
std::size_t TileKernels<R>::scratch(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines) {
  HWY_EXPORT_T(scratch_table, tile_scratch_elements<R>);
  return HWY_DYNAMIC_DISPATCH_T(scratch_table)(product, plan, lines);
}

template <class R>
void TileKernels<R>::run(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines,
                         const R* from, std::int64_t from_plane, R* to, std::int64_t to_plane, R* scratch) {
  HWY_EXPORT_T(run_table, run_tile<R>);
  HWY_DYNAMIC_DISPATCH_T(run_table)(product, plan, lines, from, from_plane, to, to_plane, scratch);
}

}  // namespace papillon::simd
