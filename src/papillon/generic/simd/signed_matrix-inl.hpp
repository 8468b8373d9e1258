// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Product with a small dense matrix of signs.

#if defined(PAPILLON_SIMD_SIGNED_MATRIX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_SIGNED_MATRIX_INL
#undef PAPILLON_SIMD_SIGNED_MATRIX_INL
#else
#define PAPILLON_SIMD_SIGNED_MATRIX_INL
#endif

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/butterflies-inl.hpp"
#include "papillon/generic/simd/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// `sum + sign * v` for sign = +-1; integers without a multiplication, which is slow for 64 bits.
template <class C>
HWY_INLINE Vector<C> add_signed(Vector<C> sum, C sign, Vector<C> v) {
  const Tag<C> d;
  if constexpr (std::integral<C>) {
    const auto mask = hn::Set(d, static_cast<C>(sign >> (8 * sizeof(C) - 1)));
    return hn::Add(sum, hn::Sub(hn::Xor(v, mask), mask));
  } else {
    return hn::MulAdd(hn::Set(d, sign), v, sum);
  }
}
template <class C>
HWY_INLINE Vector<C> times_sign(C sign, Vector<C> v) {
  if constexpr (std::integral<C>) {
    return add_signed(hn::Zero(Tag<C>()), sign, v);
  } else {
    return hn::Mul(hn::Set(Tag<C>(), sign), v);
  }
}

/// J rows of the result from the gathered tile, V vectors wide.
template <int J, int V, class Out, class C>
HWY_INLINE void signed_rows(const C* signs, int m, const C* tile, std::int64_t width, Out* y,
                            std::int64_t y_stride, std::int64_t count, Scale<C> scale) {
  constexpr std::int64_t l = lanes<C>;
  Vector<C> sums[J * V];
  Vector<C> v[V];
  PAPILLON_UNROLL
  for (int c = 0; c < V; ++c) v[c] = load(tile + c * l);
  PAPILLON_UNROLL
  for (int j = 0; j < J; ++j) {
    PAPILLON_UNROLL
    for (int c = 0; c < V; ++c) sums[j * V + c] = times_sign(signs[j * m], v[c]);
  }
  for (int k = 1; k < m; ++k) {
    PAPILLON_UNROLL
    for (int c = 0; c < V; ++c) v[c] = load(tile + k * width + c * l);
    PAPILLON_UNROLL
    for (int j = 0; j < J; ++j) {
      PAPILLON_UNROLL
      for (int c = 0; c < V; ++c) sums[j * V + c] = add_signed(sums[j * V + c], signs[j * m + k], v[c]);
    }
  }
  apply_scale(sums, scale);
  PAPILLON_UNROLL
  for (int j = 0; j < J; ++j) {
    PAPILLON_UNROLL
    for (int c = 0; c < V; ++c) {
      const std::int64_t rest = count - c * l;
      if (rest >= l) {
        store(sums[j * V + c], y + j * y_stride + c * l);
      } else if (rest > 0) {
        store(sums[j * V + c], y + j * y_stride + c * l, static_cast<std::size_t>(rest));
      }
    }
  }
}

/// All rows of the result, V vectors wide.
template <int V, class Out, class C>
HWY_NOINLINE void signed_strip(const C* signs, int m, const C* tile, std::int64_t width, Out* y,
                               std::int64_t y_stride, std::int64_t count, Scale<C> scale) {
  constexpr int rows = block_registers / 2 / V;
  int j = 0;
  for (; j + rows <= m; j += rows) {
    signed_rows<rows, V>(signs + j * m, m, tile, width, y + j * y_stride, y_stride, count, scale);
  }
  for (; j < m; ++j)
    signed_rows<1, V>(signs + j * m, m, tile, width, y + j * y_stride, y_stride, count, scale);
}

template <class T>
void signed_matrix_columns(const typename T::C* signs, int m, const typename T::In* x, std::int64_t x_stride,
                           typename T::Out* y, std::int64_t y_stride, std::int64_t columns,
                           typename T::C factor, typename T::C* scratch) {
  using C = typename T::C;
  constexpr std::int64_t l = lanes<C>;
  const Scale<C> scale(factor);
  C* tile = align_up(scratch);
  for (std::int64_t i = 0; i < columns; i += matrix_tile_columns<C>) {
    const std::int64_t count = std::min(matrix_tile_columns<C>, columns - i);
    const std::int64_t width = (count + l - 1) / l * l;
    for (int k = 0; k < m; ++k) {
      std::int64_t c = 0;
      for (; c + l <= count; c += l) store(load(x + k * x_stride + i + c), tile + k * width + c);
      if (c < count) {
        store(load(x + k * x_stride + i + c, static_cast<std::size_t>(count - c)), tile + k * width + c);
      }
    }
    std::int64_t c = 0;
    for (; c + l < count; c += 2 * l) {
      signed_strip<2>(signs, m, tile + c, width, y + i + c, y_stride, count - c, scale);
    }
    if (c < count) signed_strip<1>(signs, m, tile + c, width, y + i + c, y_stride, count - c, scale);
  }
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_SIGNED_MATRIX_INL
