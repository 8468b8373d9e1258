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

/// Every stage between 2^Bits rows of x, for `columns` columns, in one pass over memory. The last vector of a
/// row may be partial: it is read so, and written so unless `whole_stores` says that y has room for all of
/// it.
template <int Bits, class In, class Out, class C>
HWY_NOINLINE void radix(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                        std::int64_t columns, Scale<C> scale, Prefetcher& prefetcher, bool whole_stores) {
  constexpr int r = 1 << Bits;
  constexpr int group = r < 8 ? r : 8;
  constexpr std::int64_t l = lanes<C>;
  const auto one = opaque_one<C>();
  std::int64_t i = 0;
  Prefetcher local = prefetcher;  // in registers
  const int lines = local.lines_for(r);
  for (; i + l <= columns; i += l) {
    Vector<C> v[r];
    local.fetch(lines);
    fill_and_combine<0, r, group, true, C>(v, LoadColumn<In>{x + i, x_stride}, one);
    apply_scale(v, scale);
    PAPILLON_UNROLL
    for (int j = 0; j < r; ++j) store(v[j], y + j * y_stride + i);
  }
  prefetcher = local;
  if (i == columns) return;
  const auto rest = static_cast<std::size_t>(columns - i);
  Vector<C> v[r];
  fill_and_combine<0, r, group, true, C>(v, LoadPartialColumn<In>{x + i, x_stride, rest}, one);
  apply_scale(v, scale);
  if (whole_stores) {
    if constexpr (sizeof(Out) == sizeof(C)) {
      PAPILLON_UNROLL
      for (int j = 0; j < r; ++j) store(v[j], y + j * y_stride + i);
    }
  } else {
    PAPILLON_UNROLL
    for (int j = 0; j < r; ++j) store(v[j], y + j * y_stride + i, rest);
  }
}

/// radix<bits>, the number of bits being known at run time only.
template <class In, class Out, class C>
void radix_pass(int bits, const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                std::int64_t columns, Scale<C> scale, Prefetcher& prefetcher, bool whole_stores = false) {
  switch (bits) {
    case 0:
      return radix<0>(x, x_stride, y, y_stride, columns, scale, prefetcher, whole_stores);
    case 1:
      return radix<1>(x, x_stride, y, y_stride, columns, scale, prefetcher, whole_stores);
    case 2:
      return radix<2>(x, x_stride, y, y_stride, columns, scale, prefetcher, whole_stores);
    case 3:
      return radix<3>(x, x_stride, y, y_stride, columns, scale, prefetcher, whole_stores);
    default:
      if constexpr (block_registers == 16) {
        return radix<4>(x, x_stride, y, y_stride, columns, scale, prefetcher, whole_stores);
      }
  }
}

/// Stages that the last pass over a tile of 2^log2_n rows makes.
constexpr int last_column_bits(int log2_n) { return std::min(log2_n, 3); }

/// Transforms 2^log2_n rows of x, depth first, into the rows of the tile, each `width` elements after the
/// other.
template <class In, class C>
void columns_to_tile(const In* x, std::int64_t x_stride, std::int64_t columns, C* tile, std::int64_t width,
                     int log2_n) {
  const int bits = last_column_bits(log2_n);
  Prefetcher none;
  if (bits == log2_n) {
    radix_pass(bits, x, x_stride, tile, width, columns, Scale<C>::none(), none, true);
    return;
  }
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  for (int i = 0; i < 1 << bits; ++i) {
    columns_to_tile(x + i * part * x_stride, x_stride, columns, tile + i * part * width, width,
                    log2_n - bits);
  }
  radix_pass(bits, tile, part * width, tile, part * width, part * width, Scale<C>::none(), none);
}

template <class In, class Out, class C>
void columns_in_tiles(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t columns,
                      int log2_n, Scale<C> scale, C* tile) {
  Prefetcher none;
  if (log2_n <= log2_of(block_registers)) {  // one pass, no tile
    radix_pass(log2_n, x, x_stride, y, y_stride, columns, scale, none);
    return;
  }
  const std::int64_t tile_columns = preferred_tile_columns(log2_n, sizeof(C));
  const int bits = last_column_bits(log2_n);
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  for (std::int64_t i = 0; i < columns; i += tile_columns) {
    const std::int64_t count = std::min(tile_columns, columns - i);
    const std::int64_t width = (count + lanes<C> - 1) / lanes<C> * lanes<C>;
    for (std::int64_t k = 0; k < 1 << bits; ++k) {
      columns_to_tile(x + k * part * x_stride + i, x_stride, count, tile + k * part * width, width,
                      log2_n - bits);
    }
    for (std::int64_t k = 0; k < part; ++k) {
      radix_pass(bits, tile + k * width, part * width, y + k * y_stride + i, part * y_stride, count, scale,
                 none);
    }
  }
}

template <class T>
void hadamard_columns(const typename T::In* x, std::int64_t x_stride, typename T::Out* y,
                      std::int64_t y_stride, std::int64_t columns, int log2_n, typename T::C factor,
                      typename T::C* scratch) {
  using C = typename T::C;
  columns_in_tiles(x, x_stride, y, y_stride, columns, log2_n, Scale<C>(factor), align_up(scratch));
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_COLUMNS_INL
