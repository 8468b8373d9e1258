// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/quantize.hpp"

#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/quantize.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/quantize-inl.hpp"

#if HWY_ONCE

namespace papillon::simd {

HWY_EXPORT(vector_finite_amax);
HWY_EXPORT(vector_raise_block_amax);
HWY_EXPORT(vector_make_scales);
HWY_EXPORT(vector_make_codes);
HWY_EXPORT(vector_count_special);
HWY_EXPORT(vector_random_bytes);
HWY_EXPORT(vector_decode_codes);

float finite_amax(const float* values, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(vector_finite_amax)(values, count);
}

void raise_block_amax(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                      std::int64_t block, float* amax) {
  HWY_DYNAMIC_DISPATCH(vector_raise_block_amax)(scaling, values, count, block, amax);
}

std::uint64_t make_scales(const detail::BlockScaling& scaling, const detail::GlobalScale& global,
                          std::int64_t blocks, const PieceScales& scales) {
  return HWY_DYNAMIC_DISPATCH(vector_make_scales)(scaling, global, blocks, scales);
}

void make_codes(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                std::int64_t block, const float* factors, const std::uint8_t* random, std::uint8_t* codes) {
  HWY_DYNAMIC_DISPATCH(vector_make_codes)(scaling, values, count, block, factors, random, codes);
}

PieceCounts count_special(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                          std::int64_t block, const float* factors) {
  return HWY_DYNAMIC_DISPATCH(vector_count_special)(scaling, values, count, block, factors);
}

void random_bytes(const detail::RoundingBits& random, std::int64_t first_run, std::int64_t runs,
                  std::uint8_t* bytes) {
  HWY_DYNAMIC_DISPATCH(vector_random_bytes)(random, first_run, runs, bytes);
}

void decode_codes(detail::ElementFormat format, const std::uint8_t* codes, std::int64_t count,
                  std::int64_t block, const float* factors, float* values) {
  HWY_DYNAMIC_DISPATCH(vector_decode_codes)(format, codes, count, block, factors, values);
}

}  // namespace papillon::simd
#endif  // HWY_ONCE
