// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms across rows: each vector holds neighbouring columns.

#if defined(PAPILLON_SIMD_COLUMNS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_COLUMNS_INL
#undef PAPILLON_SIMD_COLUMNS_INL
#else
#define PAPILLON_SIMD_COLUMNS_INL
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/butterflies-inl.hpp"
#include "papillon/generic/simd/prefetch.hpp"
#include "papillon/generic/simd/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Registers from one column of vectors, whole or the first `count` lanes of them.
template <class In>
struct LoadColumn {
  const In* x;
  std::int64_t stride;
  template <int First, int Count, class V, int R>
  HWY_INLINE void fill(V (&v)[R]) const {
    PAPILLON_UNROLL
    for (int j = First; j < First + Count; ++j) v[j] = load(x + j * stride);
  }
};
template <class In>
struct LoadPartialColumn {
  const In* x;
  std::int64_t stride;
  std::size_t count;
  template <int First, int Count, class V, int R>
  HWY_INLINE void fill(V (&v)[R]) const {
    PAPILLON_UNROLL
    for (int j = First; j < First + Count; ++j) v[j] = load(x + j * stride, count);
  }
};

/// Every stage between 2^Bits rows of x, for `columns` columns, in one pass over memory.
template <int Bits, class In, class Out, class C>
HWY_NOINLINE void radix(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                        std::int64_t columns, Scale<C> scale, Prefetcher prefetcher) {
  constexpr int r = 1 << Bits;
  constexpr int group = r < 8 ? r : 8;
  constexpr std::int64_t l = lanes<C>;
  const auto one = opaque_one<C>();
  std::int64_t i = 0;
  for (; i + l <= columns; i += l) {
    Vector<C> v[r];
    prefetcher.step();
    fill_and_combine<0, r, group, true, C>(v, LoadColumn<In>{x + i, x_stride}, one);
    apply_scale(v, scale);
    PAPILLON_UNROLL
    for (int j = 0; j < r; ++j) store(v[j], y + j * y_stride + i);
  }
  if (i == columns) return;
  const auto rest = static_cast<std::size_t>(columns - i);
  Vector<C> v[r];
  fill_and_combine<0, r, group, true, C>(v, LoadPartialColumn<In>{x + i, x_stride, rest}, one);
  apply_scale(v, scale);
  PAPILLON_UNROLL
  for (int j = 0; j < r; ++j) store(v[j], y + j * y_stride + i, rest);
}

/// radix<bits>, the number of bits being known at run time only.
template <class In, class Out, class C>
void radix_pass(int bits, const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                std::int64_t columns, Scale<C> scale, Prefetcher prefetcher) {
  switch (bits) {
    case 0:
      return radix<0>(x, x_stride, y, y_stride, columns, scale, prefetcher);
    case 1:
      return radix<1>(x, x_stride, y, y_stride, columns, scale, prefetcher);
    case 2:
      return radix<2>(x, x_stride, y, y_stride, columns, scale, prefetcher);
    case 3:
      return radix<3>(x, x_stride, y, y_stride, columns, scale, prefetcher);
    default:
      if constexpr (block_registers == 16) {
        return radix<4>(x, x_stride, y, y_stride, columns, scale, prefetcher);
      }
  }
}

/// Stages that the last pass over 2^log2_n rows makes. Eight rows a pass: sixteen, at the power-of-two
/// distances that are common here, do not fit a set of the first-level cache (12 ways on Zen 5, where both
/// were measured; eight streams of KiBs are also what its hardware prefetchers follow, and software
/// prefetching gained nothing).
constexpr int last_column_bits(int log2_n) { return std::min(log2_n, 3); }

/// The pass with the last stages between 2^log2_n rows of t, to y.
template <class Out, class C>
void last_column_pass(const C* t, std::int64_t t_stride, Out* y, std::int64_t y_stride, std::int64_t columns,
                      int log2_n, Scale<C> scale) {
  const int bits = last_column_bits(log2_n);
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  if (t_stride == columns && y_stride == columns) {  // the rows of each part are one long row
    return radix_pass(bits, t, part * columns, y, part * columns, part * columns, scale, Prefetcher());
  }
  for (std::int64_t k = 0; k < part; ++k) {
    radix_pass(bits, t + k * t_stride, part * t_stride, y + k * y_stride, part * y_stride, columns, scale,
               Prefetcher());
  }
}

/// All stages between 2^log2_n rows of x into t, depth first, without the scale.
template <class In, class C>
void inner_columns(const In* x, std::int64_t x_stride, C* t, std::int64_t t_stride, std::int64_t columns,
                   int log2_n) {
  const int bits = last_column_bits(log2_n);
  if (bits == log2_n) {
    radix_pass(bits, x, x_stride, t, t_stride, columns, Scale<C>::none(), Prefetcher());
    return;
  }
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  for (int i = 0; i < 1 << bits; ++i) {
    inner_columns(x + i * part * x_stride, x_stride, t + i * part * t_stride, t_stride, columns,
                  log2_n - bits);
  }
  last_column_pass(t, t_stride, t, t_stride, columns, log2_n, Scale<C>::none());
}

/// The transform of columns, chunk by chunk of columns so that the passes over a chunk meet it in a near
/// cache. The intermediate values are kept in y if it can hold them, else in scratch.
template <class In, class Out, class C>
void transform_columns(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                       std::int64_t columns, int log2_n, Scale<C> scale, [[maybe_unused]] C* scratch) {
  const int bits = last_column_bits(log2_n);
  if (bits == log2_n) return radix_pass(bits, x, x_stride, y, y_stride, columns, scale, Prefetcher());
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  const std::int64_t chunk = chunk_columns<Types<In, Out>>(log2_n);
  for (std::int64_t i = 0; i < columns; i += chunk) {
    const std::int64_t count = std::min(chunk, columns - i);
    C* t;
    std::int64_t t_stride;
    if constexpr (Types<In, Out>::out_is_c) {
      t = y + i;
      t_stride = y_stride;
    } else {
      t = scratch;
      t_stride = count;
    }
    for (std::int64_t k = 0; k < 1 << bits; ++k) {
      inner_columns(x + k * part * x_stride + i, x_stride, t + k * part * t_stride, t_stride, count,
                    log2_n - bits);
    }
    last_column_pass(t, t_stride, y + i, y_stride, count, log2_n, scale);
  }
}

template <class T>
void hadamard_columns(const typename T::In* x, std::int64_t x_stride, typename T::Out* y,
                      std::int64_t y_stride, std::int64_t columns, int log2_n, typename T::C factor,
                      typename T::C* scratch) {
  using C = typename T::C;
  transform_columns(x, x_stride, y, y_stride, columns, log2_n, Scale<C>(factor), align_up(scratch));
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_COLUMNS_INL
