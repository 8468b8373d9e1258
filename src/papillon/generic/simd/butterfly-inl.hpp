// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Butterfly factors on tiles with a line in each lane.

#if defined(PAPILLON_SIMD_BUTTERFLY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_BUTTERFLY_INL
#undef PAPILLON_SIMD_BUTTERFLY_INL
#else
#define PAPILLON_SIMD_BUTTERFLY_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "papillon/generic/simd/butterfly.hpp"
#include "papillon/generic/simd/lines-inl.hpp"
#include "papillon/generic/simd/product-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class E>
using Real = typename RealSum<E>::type;
template <class E>
inline constexpr bool is_pair = RealSum<E>::complex;
template <class E>
inline constexpr int parts_of = is_pair<E> ? 2 : 1;

/// A vector of elements as their parts.
template <class E>
struct Lanes {
  Vector<Real<E>> re;
  Vector<Real<E>> im;  ///< not set for real elements

  HWY_INLINE Lanes() {}  // an implicit one would be compiled for the baseline
};

/// `count` elements side by side, or all lanes of them.
template <class E>
HWY_INLINE Lanes<E> load_elements(const E* p, std::size_t count) {
  constexpr std::size_t l = lanes<Real<E>>;
  Lanes<E> v;
  if constexpr (is_pair<E>) {
    const Tag<Real<E>> d;
    const auto* reals = reinterpret_cast<const Real<E>*>(p);
    if (count == l) {
      hn::LoadInterleaved2(d, reals, v.re, v.im);
    } else {
      Real<E> buffer[2 * l] = {};
      std::memcpy(buffer, reals, 2 * count * sizeof(Real<E>));
      hn::LoadInterleaved2(d, buffer, v.re, v.im);
    }
  } else {
    v.re = count == l ? simd::HWY_NAMESPACE::load(p) : simd::HWY_NAMESPACE::load(p, count);
  }
  return v;
}
template <class E>
HWY_INLINE void store_elements(const Lanes<E>& v, E* p, std::size_t count) {
  constexpr std::size_t l = lanes<Real<E>>;
  if constexpr (is_pair<E>) {
    const Tag<Real<E>> d;
    auto* reals = reinterpret_cast<Real<E>*>(p);
    if (count == l) {
      hn::StoreInterleaved2(v.re, v.im, d, reals);
    } else {
      Real<E> buffer[2 * l];
      hn::StoreInterleaved2(v.re, v.im, d, buffer);
      std::memcpy(reals, buffer, 2 * count * sizeof(Real<E>));
    }
  } else if (count == l) {
    simd::HWY_NAMESPACE::store(v.re, p);
  } else {
    simd::HWY_NAMESPACE::store(v.re, p, count);
  }
}

/// Whether each line starts one element after the one before it.
HWY_INLINE bool side_by_side(const std::int64_t* offsets, int lines) {
  for (int l = 1; l < lines; ++l)
    if (offsets[l] != offsets[0] + l) return false;
  return true;
}

template <class E, int V>
HWY_NOINLINE void load_lines(const E* from, const std::int64_t* offsets, std::int64_t stride,
                             std::int64_t points, Real<E>* tile) {
  using R = Real<E>;
  constexpr int l = lanes<R>;
  constexpr int row = V * l * parts_of<E>;
  if (side_by_side(offsets, V * l)) {
    for (std::int64_t p = 0; p < points; ++p)
      for (int v = 0; v < V; ++v) {
        const Lanes<E> elements = load_elements(from + offsets[0] + p * stride + v * l, l);
        store(elements.re, tile + p * row + v * l);
        if constexpr (is_pair<E>) store(elements.im, tile + p * row + (V + v) * l);
      }
    return;
  }
  if (stride == 1) {
    for (std::int64_t p = 0; p < points; p += l) {
      const auto some = static_cast<int>(std::min<std::int64_t>(points - p, l));
      for (int v = 0; v < V; ++v) {
        Vector<R> re[l], im[l];
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          const Lanes<E> elements =
              load_elements(from + offsets[v * l + i] + p, static_cast<std::size_t>(some));
          re[i] = elements.re;
          if constexpr (is_pair<E>) im[i] = elements.im;
        }
        transpose<R>(re);
        if constexpr (is_pair<E>) transpose<R>(im);
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          if (i >= some) break;
          store(re[i], tile + (p + i) * row + v * l);
          if constexpr (is_pair<E>) store(im[i], tile + (p + i) * row + (V + v) * l);
        }
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < points; ++p)
    for (int i = 0; i < V * l; ++i) {
      const E& element = from[offsets[i] + p * stride];
      if constexpr (is_pair<E>) {
        tile[p * row + i] = element.real();
        tile[p * row + V * l + i] = element.imag();
      } else {
        tile[p * row + i] = static_cast<R>(element);
      }
    }
}

template <class E, int V>
HWY_NOINLINE void store_lines(const Real<E>* tile, Real<E> scale, E* to, const std::int64_t* offsets,
                              int count, std::int64_t stride, std::int64_t points) {
  using R = Real<E>;
  constexpr int l = lanes<R>;
  constexpr int row = V * l * parts_of<E>;
  const auto factor = hn::Set(Tag<R>(), scale);
  if (count == V * l && side_by_side(offsets, count)) {
    for (std::int64_t p = 0; p < points; ++p)
      for (int v = 0; v < V; ++v) {
        Lanes<E> elements;
        elements.re = hn::Mul(load(tile + p * row + v * l), factor);
        if constexpr (is_pair<E>) elements.im = hn::Mul(load(tile + p * row + (V + v) * l), factor);
        store_elements(elements, to + offsets[0] + p * stride + v * l, l);
      }
    return;
  }
  if (stride == 1) {
    for (std::int64_t p = 0; p < points; p += l) {
      const auto some = static_cast<int>(std::min<std::int64_t>(points - p, l));
      for (int v = 0; v < V; ++v) {
        if (v * l >= count) break;
        Vector<R> re[l], im[l];
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          const std::int64_t point = p + std::min(i, some - 1);
          re[i] = hn::Mul(load(tile + point * row + v * l), factor);
          if constexpr (is_pair<E>) im[i] = hn::Mul(load(tile + point * row + (V + v) * l), factor);
        }
        transpose<R>(re);
        if constexpr (is_pair<E>) transpose<R>(im);
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          if (v * l + i >= count) break;
          Lanes<E> elements;
          elements.re = re[i];
          if constexpr (is_pair<E>) elements.im = im[i];
          store_elements(elements, to + offsets[v * l + i] + p, static_cast<std::size_t>(some));
        }
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < points; ++p)
    for (int i = 0; i < count; ++i) {
      E& element = to[offsets[i] + p * stride];
      if constexpr (is_pair<E>) {
        element = E(tile[p * row + i] * scale, tile[p * row + V * l + i] * scale);
      } else {
        element = static_cast<E>(tile[p * row + i] * scale);
      }
    }
}

/// How the values of a factor lie for the lines of a tile.
enum class Entries : std::uint8_t {
  shared,        ///< one for all lines
  side_by_side,  ///< neighbours
  apart,         ///< anywhere
};

/// Reads the values of a vector of lines.
template <class E, Entries M>
struct EntryReader {
  const std::int64_t* offsets;
  bool conjugate;

  HWY_INLINE Lanes<E> operator()(const E* entry, int v) const {
    using R = Real<E>;
    constexpr int l = lanes<R>;
    const Tag<R> d;
    Lanes<E> result;
    if constexpr (M == Entries::shared) {
      if constexpr (is_pair<E>) {
        result.re = hn::Set(d, entry->real());
        result.im = hn::Set(d, entry->imag());
      } else {
        result.re = hn::Set(d, static_cast<R>(*entry));
      }
    } else if constexpr (M == Entries::side_by_side) {
      result = load_elements(entry + v * l, l);
    } else {
      alignas(64) R re[l];
      alignas(64) R im[l];
      for (int i = 0; i < l; ++i) {
        const E& element = entry[offsets[v * l + i]];
        if constexpr (is_pair<E>) {
          re[i] = element.real();
          im[i] = element.imag();
        } else {
          re[i] = static_cast<R>(element);
        }
      }
      result.re = hn::Load(d, re);
      if constexpr (is_pair<E>) result.im = hn::Load(d, im);
    }
    if constexpr (is_pair<E>) {
      if (conjugate) result.im = hn::Neg(result.im);
    }
    return result;
  }
};

/// The first product of a sum, and the next one: the real part of the factor's value first.
template <bool Start, class E>
HWY_INLINE void accumulate(const Lanes<E>& w, const Lanes<E>& x, Lanes<E>& sum) {
  if constexpr (Start) {
    sum.re = hn::Mul(w.re, x.re);
    if constexpr (is_pair<E>) sum.im = hn::Mul(w.re, x.im);
  } else {
    sum.re = add_product(w.re, x.re, sum.re);
    if constexpr (is_pair<E>) sum.im = add_product(w.re, x.im, sum.im);
  }
  if constexpr (is_pair<E>) {
    sum.re = subtract_product(w.im, x.im, sum.re);
    sum.im = add_product(w.im, x.re, sum.im);
  }
}

template <class E, int V>
HWY_INLINE Lanes<E> load_row(const Real<E>* row, int v) {
  constexpr int l = lanes<Real<E>>;
  Lanes<E> x;
  x.re = load(row + v * l);
  if constexpr (is_pair<E>) x.im = load(row + (V + v) * l);
  return x;
}
template <class E, int V>
HWY_INLINE void store_row(const Lanes<E>& x, Real<E>* row, int v) {
  constexpr int l = lanes<Real<E>>;
  store(x.re, row + v * l);
  if constexpr (is_pair<E>) store(x.im, row + (V + v) * l);
}

/// Blocks N × N, where they lie.
template <class E, int V, Entries M, int N>
HWY_NOINLINE void small_blocks(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                               Real<E>* tile) {
  constexpr std::int64_t row = V * lanes<Real<E>> * parts_of<E>;
  const std::int64_t step = f.repeats * row;
  for (std::int64_t i = 0; i < f.blocks; ++i)
    for (std::int64_t j = 0; j < f.repeats; ++j) {
      const E* entries = data + i * f.block_stride + j * f.repeat_stride;
      Real<E>* rows = tile + (i * N * f.repeats + j) * row;
      Lanes<E> w[N * N];
      if constexpr (M == Entries::shared) {  // read once for all vectors of a row
        PAPILLON_UNROLL
        for (int p = 0; p < N; ++p) {
          PAPILLON_UNROLL
          for (int q = 0; q < N; ++q)
            w[p * N + q] = read(entries + p * f.row_stride + q * f.column_stride, 0);
        }
      }
      PAPILLON_UNROLL
      for (int v = 0; v < V; ++v) {
        Lanes<E> x[N];
        PAPILLON_UNROLL
        for (int q = 0; q < N; ++q) x[q] = load_row<E, V>(rows + q * step, v);
        PAPILLON_UNROLL
        for (int p = 0; p < N; ++p) {
          Lanes<E> sum;
          PAPILLON_UNROLL
          for (int q = 0; q < N; ++q) {
            if constexpr (M != Entries::shared)
              w[p * N + q] = read(entries + p * f.row_stride + q * f.column_stride, v);
            if (q == 0) {
              accumulate<true>(w[p * N], x[0], sum);
            } else {
              accumulate<false>(w[p * N + q], x[q], sum);
            }
          }
          store_row<E, V>(sum, rows + p * step, v);
        }
      }
    }
}

/// `P` rows of each block from `first` on, for block number i.
template <class E, int V, Entries M, int P>
HWY_NOINLINE void block_rows(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                             std::int64_t i, std::int64_t first, const Real<E>* from, Real<E>* to) {
  constexpr std::int64_t row = V * lanes<Real<E>> * parts_of<E>;
  const std::int64_t step = f.repeats * row;
  for (std::int64_t j = 0; j < f.repeats; ++j) {
    const E* entries = data + i * f.block_stride + first * f.row_stride + j * f.repeat_stride;
    const Real<E>* x_row = from + (i * f.columns * f.repeats + j) * row;
    Lanes<E> sums[P * V];
    const auto add = [&](auto start) HWY_ATTR {
      Lanes<E> x[V];
      PAPILLON_UNROLL
      for (int v = 0; v < V; ++v) x[v] = load_row<E, V>(x_row, v);
      PAPILLON_UNROLL
      for (int p = 0; p < P; ++p) {
        PAPILLON_UNROLL
        for (int v = 0; v < V; ++v)
          accumulate<decltype(start)::value>(read(entries + p * f.row_stride, v), x[v], sums[p * V + v]);
      }
    };
    add(std::true_type{});
    for (std::int64_t q = 1; q < f.columns; ++q) {
      x_row += step;
      entries += f.column_stride;
      add(std::false_type{});
    }
    PAPILLON_UNROLL
    for (int p = 0; p < P; ++p) {
      PAPILLON_UNROLL
      for (int v = 0; v < V; ++v)
        store_row<E, V>(sums[p * V + v], to + ((i * f.rows + first + p) * f.repeats + j) * row, v);
    }
  }
}

/// Any blocks, as many rows at a time as there are registers for.
template <class E, int V, Entries M>
HWY_INLINE void any_blocks(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                           const Real<E>* from, Real<E>* to) {
  constexpr int most = std::max(1, block_registers / (V * parts_of<E>));
  constexpr std::int64_t row = V * lanes<Real<E>> * parts_of<E>;
  if (f.columns == 0) {
    std::fill_n(to, f.blocks * f.rows * f.repeats * row, Real<E>{});
    return;
  }
  for (std::int64_t i = 0; i < f.blocks; ++i) {
    std::int64_t p = 0;
    for (; p + most <= f.rows; p += most) block_rows<E, V, M, most>(f, data, read, i, p, from, to);
    for (; p < f.rows; ++p) block_rows<E, V, M, 1>(f, data, read, i, p, from, to);
  }
}

template <class E, int V, Entries M>
HWY_INLINE bool apply_entries(const detail::TileFactor& f, const std::int64_t* offsets, Real<E>* tile,
                              Real<E>* other) {
  const EntryReader<E, M> read{offsets, f.conjugate};
  const E* data = static_cast<const E*>(f.data) + (M == Entries::apart ? 0 : offsets[0]);
  if (f.rows == f.columns) {
    switch (f.rows) {
      case 2:
        small_blocks<E, V, M, 2>(f, data, read, tile);
        return false;
      case 3:
        small_blocks<E, V, M, 3>(f, data, read, tile);
        return false;
      case 4:
        small_blocks<E, V, M, 4>(f, data, read, tile);
        return false;
      default:
        break;
    }
  }
  any_blocks<E, V, M>(f, data, read, tile, other);
  return true;
}

template <class E, int V>
bool apply_factor(const detail::TileFactor& f, const std::int64_t* offsets, Real<E>* tile, Real<E>* other) {
  constexpr int lines = V * lanes<Real<E>>;
  if (std::all_of(offsets, offsets + lines, [&](std::int64_t offset) { return offset == offsets[0]; }))
    return apply_entries<E, V, Entries::shared>(f, offsets, tile, other);
  if (side_by_side(offsets, lines))
    return apply_entries<E, V, Entries::side_by_side>(f, offsets, tile, other);
  return apply_entries<E, V, Entries::apart>(f, offsets, tile, other);
}

/// Bytes of a tile that leave room for the factors in a core's second-level cache of 1 MiB.
inline constexpr std::int64_t wide_tile_bytes = std::int64_t{256} << 10;

/// Two vectors of lines where a tile of them stays small: values are then read once for both.
template <class E>
int lines_of_tile(std::int64_t points, std::int64_t line_count) {
  constexpr int l = lanes<Real<E>>;
  const bool two =
      line_count > l &&
      points * 2 * l * parts_of<E> * static_cast<std::int64_t>(sizeof(Real<E>)) <= wide_tile_bytes;
  return two ? 2 * l : l;
}

template <class E>
void load_tile(const E* from, const std::int64_t* offsets, int lines, std::int64_t stride,
               std::int64_t points, Real<E>* tile) {
  if (lines == lanes<Real<E>>) return load_lines<E, 1>(from, offsets, stride, points, tile);
  load_lines<E, 2>(from, offsets, stride, points, tile);
}
template <class E>
void store_tile(const Real<E>* tile, Real<E> scale, E* to, const std::int64_t* offsets, int count, int lines,
                std::int64_t stride, std::int64_t points) {
  if (lines == lanes<Real<E>>) return store_lines<E, 1>(tile, scale, to, offsets, count, stride, points);
  store_lines<E, 2>(tile, scale, to, offsets, count, stride, points);
}
template <class E>
bool apply_to_tile(const detail::TileFactor& factor, const std::int64_t* offsets, int lines, Real<E>* tile,
                   Real<E>* other) {
  if (lines == lanes<Real<E>>) return apply_factor<E, 1>(factor, offsets, tile, other);
  return apply_factor<E, 2>(factor, offsets, tile, other);
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_BUTTERFLY_INL
