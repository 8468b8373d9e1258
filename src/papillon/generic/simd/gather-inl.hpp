// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows that lie side by side, turned into contiguous ones and back.

#if defined(PAPILLON_SIMD_GATHER_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_GATHER_INL
#undef PAPILLON_SIMD_GATHER_INL
#else
#define PAPILLON_SIMD_GATHER_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/lines-inl.hpp"
#include "papillon/generic/simd/storage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Squares of lanes that are fetched ahead: no hardware follows strides of a page.
inline constexpr std::int64_t squares_ahead = 4;

template <class S>
HWY_NOINLINE void vector_gather_rows(const S* x, std::int64_t stride, std::int64_t rows, std::int64_t count,
                                     float* values, std::int64_t pitch) {
  constexpr std::int64_t l = lanes<float>;
  for (std::int64_t c = 0; c < count; c += l) {
    const std::int64_t columns = std::min(l, count - c);
    for (std::int64_t i = 0; i < columns; ++i) __builtin_prefetch(x + (c + squares_ahead * l + i) * stride);
    for (std::int64_t r = 0; r < rows; r += l) {
      const std::int64_t some = std::min(l, rows - r);
      const S* from = x + c * stride + r;
      Vector<float> v[lanes<float>];
      if (some == l && columns == l) {
        PAPILLON_UNROLL
        for (int i = 0; i < lanes<float>; ++i) v[i] = load(from + i * stride);
      } else {
        for (std::int64_t i = 0; i < l; ++i)
          v[i] =
              i < columns ? load(from + i * stride, static_cast<std::size_t>(some)) : hn::Zero(Tag<float>());
      }
      transpose<float>(v);
      float* to = values + r * pitch + c;
      if (some == l) {
        PAPILLON_UNROLL
        for (int i = 0; i < lanes<float>; ++i) store(v[i], to + i * pitch);
      } else {
        for (std::int64_t i = 0; i < some; ++i) store(v[i], to + i * pitch);
      }
    }
  }
}

template <class S>
HWY_NOINLINE void vector_scatter_rows(const float* values, std::int64_t pitch, std::int64_t rows,
                                      std::int64_t count, S* y, std::int64_t stride) {
  constexpr std::int64_t l = lanes<float>;
  for (std::int64_t c = 0; c < count; c += l) {
    const std::int64_t columns = std::min(l, count - c);
    for (std::int64_t r = 0; r < rows; r += l) {
      const std::int64_t some = std::min(l, rows - r);
      const float* from = values + r * pitch + c;
      Vector<float> v[lanes<float>];
      for (std::int64_t i = 0; i < l; ++i) v[i] = i < some ? load(from + i * pitch) : hn::Zero(Tag<float>());
      transpose<float>(v);
      S* to = y + c * stride + r;
      if (some == l && columns == l) {
        PAPILLON_UNROLL
        for (int i = 0; i < lanes<float>; ++i) store(v[i], to + i * stride);
      } else {
        for (std::int64_t i = 0; i < columns; ++i)
          store(v[i], to + i * stride, static_cast<std::size_t>(some));
      }
    }
  }
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_GATHER_INL
