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

template <class E>
void load_lines(const E* from, const std::int64_t* offsets, int lines, std::int64_t stride,
                std::int64_t points, Real<E>* tile) {
  using R = Real<E>;
  constexpr int l = lanes<R>;
  const std::int64_t row = std::int64_t{lines} * parts_of<E>;
  if (side_by_side(offsets, lines)) {
    for (std::int64_t p = 0; p < points; ++p)
      for (int v = 0; v < lines; v += l) {
        const Lanes<E> elements = load_elements(from + offsets[0] + p * stride + v, l);
        store(elements.re, tile + p * row + v);
        if constexpr (is_pair<E>) store(elements.im, tile + p * row + lines + v);
      }
    return;
  }
  if (stride == 1) {
    // Many rows at once are more streams than the processor follows.
    constexpr std::int64_t ahead = 4 * cache_line_bytes / static_cast<std::int64_t>(sizeof(E));
    for (int v = 0; v < lines; v += l) {
      for (std::int64_t p = 0; p < points; p += l) {
        const auto some = static_cast<int>(std::min<std::int64_t>(points - p, l));
        Vector<R> re[l], im[l];
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          const E* const place = from + offsets[v + i] + p;
          const Lanes<E> elements = load_elements(place, static_cast<std::size_t>(some));
          __builtin_prefetch(place + ahead);
          re[i] = elements.re;
          if constexpr (is_pair<E>) im[i] = elements.im;
        }
        transpose<R>(re);
        if constexpr (is_pair<E>) transpose<R>(im);
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          if (i >= some) break;
          store(re[i], tile + (p + i) * row + v);
          if constexpr (is_pair<E>) store(im[i], tile + (p + i) * row + lines + v);
        }
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < points; ++p)
    for (int i = 0; i < lines; ++i) {
      const E& element = from[offsets[i] + p * stride];
      if constexpr (is_pair<E>) {
        tile[p * row + i] = element.real();
        tile[p * row + lines + i] = element.imag();
      } else {
        tile[p * row + i] = static_cast<R>(element);
      }
    }
}

template <class E>
void store_lines(const Real<E>* tile, Real<E> scale, E* to, const std::int64_t* offsets, int count, int lines,
                 std::int64_t stride, std::int64_t points) {
  using R = Real<E>;
  constexpr int l = lanes<R>;
  const std::int64_t row = std::int64_t{lines} * parts_of<E>;
  const auto factor = hn::Set(Tag<R>(), scale);
  if (count == lines && side_by_side(offsets, count)) {
    for (std::int64_t p = 0; p < points; ++p)
      for (int v = 0; v < lines; v += l) {
        Lanes<E> elements;
        elements.re = hn::Mul(load(tile + p * row + v), factor);
        if constexpr (is_pair<E>) elements.im = hn::Mul(load(tile + p * row + lines + v), factor);
        store_elements(elements, to + offsets[0] + p * stride + v, l);
      }
    return;
  }
  if (stride == 1) {
    for (int v = 0; v < count; v += l) {
      for (std::int64_t p = 0; p < points; p += l) {
        const auto some = static_cast<int>(std::min<std::int64_t>(points - p, l));
        Vector<R> re[l], im[l];
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          const std::int64_t point = p + std::min(i, some - 1);
          re[i] = hn::Mul(load(tile + point * row + v), factor);
          if constexpr (is_pair<E>) im[i] = hn::Mul(load(tile + point * row + lines + v), factor);
        }
        transpose<R>(re);
        if constexpr (is_pair<E>) transpose<R>(im);
        PAPILLON_UNROLL
        for (int i = 0; i < l; ++i) {
          if (v + i >= count) break;
          Lanes<E> elements;
          elements.re = re[i];
          if constexpr (is_pair<E>) elements.im = im[i];
          store_elements(elements, to + offsets[v + i] + p, static_cast<std::size_t>(some));
        }
      }
    }
    return;
  }
  for (std::int64_t p = 0; p < points; ++p)
    for (int i = 0; i < count; ++i) {
      E& element = to[offsets[i] + p * stride];
      if constexpr (is_pair<E>) {
        element = E(tile[p * row + i] * scale, tile[p * row + lines + i] * scale);
      } else {
        element = static_cast<E>(tile[p * row + i] * scale);
      }
    }
}

/// Reads the values of the vector of lines from line v on.
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
      result = load_elements(entry + v, l);
    } else {
      alignas(64) R re[l];
      alignas(64) R im[l];
      for (int i = 0; i < l; ++i) {
        const E& element = entry[offsets[v + i]];
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

/// The vector from line v on of a row of `lines` lines.
template <class E>
HWY_INLINE Lanes<E> load_row(const Real<E>* row, [[maybe_unused]] int lines, int v) {
  Lanes<E> x;
  x.re = load(row + v);
  if constexpr (is_pair<E>) x.im = load(row + lines + v);
  return x;
}
template <class E>
HWY_INLINE void store_row(const Lanes<E>& x, Real<E>* row, [[maybe_unused]] int lines, int v) {
  store(x.re, row + v);
  if constexpr (is_pair<E>) store(x.im, row + lines + v);
}

/// Blocks N × N, where they lie.
template <class E, Entries M, int N>
HWY_NOINLINE void small_blocks(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                               int lines, Real<E>* tile) {
  const std::int64_t row = std::int64_t{lines} * parts_of<E>;
  const std::int64_t step = f.repeats * row;
  for (std::int64_t i = 0; i < f.blocks; ++i)
    for (std::int64_t j = 0; j < f.repeats; ++j) {
      const E* entries = data + i * f.block_stride + j * f.repeat_stride;
      Real<E>* rows = tile + (i * N * f.repeats + j) * row;
      Lanes<E> w[N * N];
      if constexpr (M == Entries::shared) {  // read once for all lines
        PAPILLON_UNROLL
        for (int p = 0; p < N; ++p) {
          PAPILLON_UNROLL
          for (int q = 0; q < N; ++q)
            w[p * N + q] = read(entries + p * f.row_stride + q * f.column_stride, 0);
        }
      }
      for (int v = 0; v < lines; v += lanes<Real<E>>) {
        Lanes<E> x[N];
        PAPILLON_UNROLL
        for (int q = 0; q < N; ++q) x[q] = load_row<E>(rows + q * step, lines, v);
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
          store_row<E>(sum, rows + p * step, lines, v);
        }
      }
    }
}

/// `P` rows of each block from `first` on, for block number i and the V vectors of lines from line `line` on.
template <class E, int V, Entries M, int P>
HWY_INLINE void block_rows(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                           std::int64_t i, std::int64_t first, int lines, int line, const Real<E>* from,
                           Real<E>* to) {
  constexpr int l = lanes<Real<E>>;
  const std::int64_t row = std::int64_t{lines} * parts_of<E>;
  const std::int64_t step = f.repeats * row;
  for (std::int64_t j = 0; j < f.repeats; ++j) {
    const E* entries = data + i * f.block_stride + first * f.row_stride + j * f.repeat_stride;
    const Real<E>* x_row = from + (i * f.columns * f.repeats + j) * row;
    Lanes<E> sums[P * V];
    const auto add = [&](auto start) HWY_ATTR {
      Lanes<E> x[V];
      PAPILLON_UNROLL
      for (int v = 0; v < V; ++v) x[v] = load_row<E>(x_row, lines, line + v * l);
      PAPILLON_UNROLL
      for (int p = 0; p < P; ++p) {
        PAPILLON_UNROLL
        for (int v = 0; v < V; ++v)
          accumulate<decltype(start)::value>(read(entries + p * f.row_stride, line + v * l), x[v],
                                             sums[p * V + v]);
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
        store_row<E>(sums[p * V + v], to + ((i * f.rows + first + p) * f.repeats + j) * row, lines,
                     line + v * l);
    }
  }
}

/// The same for all lines.
template <class E, Entries M, int P>
HWY_NOINLINE void line_blocks(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                              std::int64_t i, std::int64_t first, int lines, const Real<E>* from,
                              Real<E>* to) {
  constexpr int l = lanes<Real<E>>;
  int line = 0;
  for (; line + 2 * l <= lines; line += 2 * l)
    block_rows<E, 2, M, P>(f, data, read, i, first, lines, line, from, to);
  if (line < lines) block_rows<E, 1, M, P>(f, data, read, i, first, lines, line, from, to);
}

/// Bytes of values that copies of a block side by side go through while they lie in the nearest cache.
inline constexpr std::int64_t near_value_bytes = std::int64_t{24} << 10;

/// Any blocks, as many rows at a time as there are registers for.
template <class E, Entries M>
HWY_INLINE void any_blocks(const detail::TileFactor& f, const E* data, const EntryReader<E, M>& read,
                           int lines, const Real<E>* from, Real<E>* to) {
  constexpr int most = std::max(4, block_registers / (2 * parts_of<E>));
  if (f.columns == 0) {
    std::fill_n(to, f.blocks * f.rows * f.repeats * lines * parts_of<E>, Real<E>{});
    return;
  }
  const bool many = f.repeats == 1 || most * f.columns * cache_line_bytes <= near_value_bytes;
  for (std::int64_t i = 0; i < f.blocks; ++i) {
    std::int64_t p = 0;
    if (many) {
      for (; p + most <= f.rows; p += most) line_blocks<E, M, most>(f, data, read, i, p, lines, from, to);
    }
    for (; p + 4 <= f.rows; p += 4) line_blocks<E, M, 4>(f, data, read, i, p, lines, from, to);
    for (; p < f.rows; ++p) line_blocks<E, M, 1>(f, data, read, i, p, lines, from, to);
  }
}

template <class E, Entries M>
HWY_INLINE bool apply_entries(const detail::TileFactor& f, const std::int64_t* offsets, int lines,
                              Real<E>* tile, Real<E>* other) {
  const EntryReader<E, M> read{offsets, f.conjugate};
  const E* data = static_cast<const E*>(f.data) + (M == Entries::apart ? 0 : offsets[0]);
  if (f.rows == f.columns) {
    switch (f.rows) {
      case 2:
        small_blocks<E, M, 2>(f, data, read, lines, tile);
        return false;
      case 3:
        small_blocks<E, M, 3>(f, data, read, lines, tile);
        return false;
      case 4:
        small_blocks<E, M, 4>(f, data, read, lines, tile);
        return false;
      default:
        break;
    }
  }
  any_blocks<E, M>(f, data, read, lines, tile, other);
  return true;
}

template <class E>
bool apply_factor(const detail::TileFactor& f, Entries entries, const std::int64_t* offsets, int lines,
                  Real<E>* tile, Real<E>* other) {
  switch (entries) {
    case Entries::shared:
      return apply_entries<E, Entries::shared>(f, offsets, lines, tile, other);
    case Entries::side_by_side:
      return apply_entries<E, Entries::side_by_side>(f, offsets, lines, tile, other);
    default:
      return apply_entries<E, Entries::apart>(f, offsets, lines, tile, other);
  }
}

template <class E>
int vector_lines() {
  return lanes<Real<E>>;
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_BUTTERFLY_INL
