// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix products with sums in registers: to[i, j] = sum over k of a[i, k] b[k, j], in the order of rising k.

#if defined(PAPILLON_SIMD_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_PRODUCT_INL
#undef PAPILLON_SIMD_PRODUCT_INL
#else
#define PAPILLON_SIMD_PRODUCT_INL
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/storage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a · x + sum, rounded once, also where the processor has no such instruction.
template <class V, class R = hn::TFromV<V>>
HWY_INLINE V add_product(V a, V x, V sum) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, x, sum);
#else
  const Tag<R> d;
  alignas(64) R as[lanes<R>], xs[lanes<R>], sums[lanes<R>];
  hn::Store(a, d, as);
  hn::Store(x, d, xs);
  hn::Store(sum, d, sums);
  for (int i = 0; i < lanes<R>; ++i) sums[i] = std::fma(as[i], xs[i], sums[i]);
  return hn::Load(d, sums);
#endif
}
/// sum - a · x in the same way.
template <class V, class R = hn::TFromV<V>>
HWY_INLINE V subtract_product(V a, V x, V sum) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(a, x, sum);
#else
  return add_product(hn::Neg(a), x, sum);
#endif
}

/// The operands of a product: `a` gives scalars, `b` and `to` have rows of neighbours. Of complex ones these
/// are the real parts, the imaginary ones lie `plane` values after them.
template <class R>
struct Operands {
  const R* a;
  std::int64_t a_row, a_column, a_plane;
  const R* b;
  std::int64_t b_row, b_plane;
  R* to;
  std::int64_t to_row, to_plane;

  HWY_INLINE Operands at(std::int64_t row, std::int64_t column) const {
    Operands part = *this;
    part.a += row * a_row;
    part.b += column;
    part.to += row * to_row + column;
    return part;
  }
};

enum class Numbers : std::uint8_t {
  real,
  complex_entries,  ///< complex, the factor's entries are the scalars
  complex_vectors,  ///< complex, the factor's entries are the vectors
};
constexpr int planes_of(Numbers numbers) { return numbers == Numbers::real ? 1 : 2; }

/// Values of a row: all lanes, or the first `count`.
struct AllLanes {};
template <class R>
HWY_INLINE auto load_some(const R* p, AllLanes) {
  return load(p);
}
template <class R>
HWY_INLINE auto load_some(const R* p, std::size_t count) {
  return load(p, count);
}
template <class V, class R>
HWY_INLINE void store_some(V v, R* p, AllLanes) {
  store(v, p);
}
template <class V, class R>
HWY_INLINE void store_some(V v, R* p, std::size_t count) {
  store(v, p, count);
}

/// Rows × Vectors sums.
template <Numbers N, int Rows, int Vectors, class R>
struct Sums {
  static constexpr bool complex = N != Numbers::real;
  static constexpr std::int64_t l = lanes<R>;
  Vector<R> re[Rows * Vectors];
  Vector<R> im[complex ? Rows * Vectors : 1];

  HWY_INLINE Sums() {}  // an implicit one would be compiled for the baseline

  /// Adds the product of a column of `a` and a row of `b`, or starts with it.
  template <bool Start, class Lanes>
  HWY_INLINE void add(const R* a, const R* b, const Operands<R>& o, Lanes some) {
    const Tag<R> d;
    Vector<R> v[Vectors];
    Vector<R> v_im[complex ? Vectors : 1];
    PAPILLON_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      v[j] = load_some(b + j * l, some);
      if constexpr (complex) v_im[j] = load_some(b + o.b_plane + j * l, some);
    }
    PAPILLON_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto entry = hn::Set(d, a[i * o.a_row]);
      if constexpr (complex) {
        const auto entry_im = hn::Set(d, a[i * o.a_row + o.a_plane]);
        PAPILLON_UNROLL
        for (int j = 0; j < Vectors; ++j) {
          const int s = i * Vectors + j;
          re[s] = start_or_add<Start>(entry, v[j], re[s]);
          re[s] = subtract_product(entry_im, v_im[j], re[s]);
          // The factor's real part first, then its imaginary one.
          if constexpr (N == Numbers::complex_entries) {
            im[s] = start_or_add<Start>(entry, v_im[j], im[s]);
            im[s] = add_product(entry_im, v[j], im[s]);
          } else {
            im[s] = start_or_add<Start>(entry_im, v[j], im[s]);
            im[s] = add_product(entry, v_im[j], im[s]);
          }
        }
      } else {
        PAPILLON_UNROLL
        for (int j = 0; j < Vectors; ++j) {
          const int s = i * Vectors + j;
          re[s] = start_or_add<Start>(entry, v[j], re[s]);
        }
      }
    }
  }

  template <class Lanes>
  HWY_INLINE void write(const Operands<R>& o, Lanes some) const {
    PAPILLON_UNROLL
    for (int i = 0; i < Rows; ++i) {
      PAPILLON_UNROLL
      for (int j = 0; j < Vectors; ++j) {
        R* to = o.to + i * o.to_row + j * l;
        store_some(re[i * Vectors + j], to, some);
        if constexpr (complex) store_some(im[i * Vectors + j], to + o.to_plane, some);
      }
    }
  }

 private:
  template <bool Start>
  static HWY_INLINE Vector<R> start_or_add(Vector<R> a, Vector<R> x, Vector<R> sum) {
    if constexpr (Start) return hn::Mul(a, x);
    return add_product(a, x, sum);
  }
};

template <Numbers N, int Rows, int Vectors, class R, class Lanes>
HWY_INLINE void block_product(const Operands<R>& o, std::int64_t depth, Lanes some) {
  Sums<N, Rows, Vectors, R> sums;
  const R* a = o.a;
  const R* b = o.b;
  sums.template add<true>(a, b, o, some);
  for (std::int64_t k = 1; k < depth; ++k) {
    a += o.a_column;
    b += o.b_row;
    sums.template add<false>(a, b, o, some);
  }
  sums.write(o, some);
}

/// Sums that are kept in registers, and rows of the largest block of them.
template <Numbers N>
inline constexpr int register_sums = block_registers / planes_of(N);
template <Numbers N>
inline constexpr int most_rows = register_sums<N> / 2;

/// Rows of sums along `columns` columns. Where the last vector is not whole it starts earlier and makes some
/// sums twice.
template <Numbers N, int Rows, class R>
HWY_NOINLINE void row_strip(const Operands<R>& o, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t l = lanes<R>;
  constexpr int vectors = std::min(register_sums<N> / Rows, 8);
  if (columns < l) {
    return block_product<N, Rows, 1>(o, depth, static_cast<std::size_t>(columns));
  }
  std::int64_t j = 0;
  for (; j + vectors * l <= columns; j += vectors * l)
    block_product<N, Rows, vectors>(o.at(0, j), depth, AllLanes{});
  if constexpr (vectors > 4) {
    for (; j + 4 * l <= columns; j += 4 * l) block_product<N, Rows, 4>(o.at(0, j), depth, AllLanes{});
  }
  for (; j < columns; j += l) block_product<N, Rows, 1>(o.at(0, std::min(j, columns - l)), depth, AllLanes{});
}

/// All rows, the largest blocks of them first.
template <Numbers N, int Rows, class R>
HWY_INLINE void row_strips(const Operands<R>& o, std::int64_t first, std::int64_t rows, std::int64_t columns,
                           std::int64_t depth) {
  for (; first + Rows <= rows; first += Rows) row_strip<N, Rows>(o.at(first, 0), columns, depth);
  if constexpr (Rows > 1) row_strips<N, Rows / 2>(o, first, rows, columns, depth);
}

/// Bytes of b that are worked on while they lie in the nearest cache.
inline constexpr std::int64_t panel_bytes = std::int64_t{16} << 10;

/// The product, panel after panel of columns of b.
template <Numbers N, class R>
void matrix_product(const Operands<R>& o, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t least = register_sums<N> / most_rows<N> * lanes<R>;
  const std::int64_t fitting = panel_bytes / static_cast<std::int64_t>(sizeof(R)) / (depth * planes_of(N));
  const std::int64_t panel = std::max(least, fitting / least * least);
  for (std::int64_t j = 0; j < columns; j += panel) {
    std::int64_t width = std::min(panel, columns - j);
    if (width < lanes<R> && j > 0) {  // the last few columns in a whole vector
      width = lanes<R>;
      j = columns - width;
    }
    row_strips<N, most_rows<N>>(o.at(0, j), 0, rows, width, depth);
  }
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_PRODUCT_INL
