// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/simd/kernels.hpp"

#include "papillon/generic/simd/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "papillon/generic/simd/kernels.cpp"
#include "hwy/foreach_target.h"  // compiles this file once for every target
#include "papillon/generic/simd/storage-inl.hpp"
#include "papillon/generic/simd/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {

template <class T>
void convert(const typename T::In* from, typename T::Out* to, std::int64_t count) {
  constexpr std::int64_t l = lanes<float>;
  std::int64_t i = 0;
  for (; i + l <= count; i += l) store(load(from + i), to + i);
  if (i < count) {
    const auto rest = static_cast<std::size_t>(count - i);
    store(load(from + i, rest), to + i, rest);
  }
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace papillon::simd {

template <class In, class Out>
void convert(const In* from, Out* to, std::int64_t count) {
  using T = Types<In, Out>;
  HWY_EXPORT_T(convert_table, convert<T>);
  HWY_DYNAMIC_DISPATCH_T(convert_table)(from, to, count);
}
template void convert(const half*, float*, std::int64_t);
template void convert(const bfloat16*, float*, std::int64_t);
template void convert(const float*, half*, std::int64_t);
template void convert(const float*, bfloat16*, std::int64_t);

HWY_EXPORT(target_name);
const char* active_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

std::int64_t preferred_tile_columns(int log2_n, std::size_t compute_size) {
  return compute_size == sizeof(float) ? chunk_columns<Types<float, float>>(log2_n)
                                       : chunk_columns<Types<double, double>>(log2_n);
}

}  // namespace papillon::simd
#endif  // HWY_ONCE
