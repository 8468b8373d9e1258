// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Panels packed from sums of blocks, and products of panels.

#if defined(PAPILLON_SIMD_GEMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_GEMM_INL
#undef PAPILLON_SIMD_GEMM_INL
#else
#define PAPILLON_SIMD_GEMM_INL
#endif

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "papillon/generic/simd/gemm.hpp"
#include "papillon/generic/simd/lines-inl.hpp"
#include "papillon/generic/simd/storage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows and vectors of a tile of C: as many sums as leave registers for one row of vectors and an element of
/// A.
inline constexpr int tile_rows = block_registers == 16 ? 8 : 4;
template <class T>
inline constexpr int tile_vectors = RealSum<T>::complex ? 1 : 3;
template <class T>
inline constexpr int tile_columns = tile_vectors<T> * lanes<typename RealSum<T>::type>;

template <class T>
GemmTile gemm_tile() {
  return {tile_rows, tile_columns<T>};
}

/// Lanes of D from memory, widened.
template <class D, class S>
HWY_INLINE auto load_lanes(D d, const S* p) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    return hn::LoadU(d, p);
  } else if constexpr (hn::MaxLanes(D()) == hn::MaxLanes(Tag<float>())) {
    return load(p);
  } else {
    return hn::ResizeBitCast(d, load(p, hn::MaxLanes(D())));
  }
}

/// The first `count` of them, zeros after.
template <class D, class S>
HWY_INLINE auto load_lanes(D d, const S* p, std::size_t count) {
  if constexpr (std::is_same_v<S, hn::TFromD<D>>) {
    return hn::LoadN(d, p, count);
  } else if constexpr (hn::MaxLanes(D()) == hn::MaxLanes(Tag<float>())) {
    return load(p, count);
  } else {
    return hn::ResizeBitCast(d, load(p, count));
  }
}

/// The sum of `Count` blocks; of any number where that is 0.
template <class S, int Count>
struct TermSum {
  using R = typename RealSum<S>::type;
  static constexpr int kept = Count > 0 ? Count : 1;
  const S* data[kept];
  R coefficient[kept];
  const PanelTerm<S>* terms;
  int count;

  TermSum(const PanelTerm<S>* blocks, int number) : terms(blocks), count(number) {
    for (int t = 0; t < kept; ++t) {
      data[t] = blocks[t].data;
      coefficient[t] = blocks[t].coefficient;
    }
  }

  /// What lies at `offset` will be read soon.
  HWY_INLINE void fetch(std::int64_t offset) const {
    PAPILLON_UNROLL
    for (int t = 0; t < kept; ++t) __builtin_prefetch(data[t] + offset);
  }

  /// The sum of the vectors at `offset` of every block.
  template <class D>
  HWY_INLINE hn::Vec<D> vector(D d, std::int64_t offset) const {
    auto sum = load_lanes(d, data[0] + offset);
    if (Count != 1 || coefficient[0] != R{1}) sum = hn::Mul(sum, hn::Set(d, coefficient[0]));
    PAPILLON_UNROLL
    for (int t = 1; t < kept; ++t)
      sum = hn::MulAdd(hn::Set(d, coefficient[t]), load_lanes(d, data[t] + offset), sum);
    if constexpr (Count == 0) {
      for (int t = 1; t < count; ++t)
        sum = hn::MulAdd(hn::Set(d, terms[t].coefficient), load_lanes(d, terms[t].data + offset), sum);
    }
    return sum;
  }
};

/// Points of a panel that are packed before those of the next one: far rows are visited a stretch of
/// neighbouring panels at a time.
inline constexpr std::int64_t points_together = 32;

/// Panels of neighbouring lines, `Vectors` vectors a point. What the next panel, or the first one after the
/// last, will read is fetched: hardware does not follow strides of a page.
template <int Vectors, class D, class S, int Count>
HWY_NOINLINE void pack_neighbours(const TermSum<S, Count> sum, const PanelShape& shape, std::int64_t panels,
                                  std::int64_t points, hn::TFromD<D>* to) {
  constexpr std::int64_t l = hn::MaxLanes(D());
  constexpr std::int64_t width = Vectors * l;
  for (std::int64_t first = 0; first < points; first += points_together) {
    const std::int64_t last = std::min(first + points_together, points);
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      const std::int64_t ahead =
          panel + 1 < panels ? width : points_together * shape.point_stride - panel * width;
      hn::TFromD<D>* at = to + (panel * shape.points + first) * width;
      for (std::int64_t p = first; p < last; ++p, at += width) {
        const std::int64_t offset = panel * width + p * shape.point_stride;
        PAPILLON_UNROLL
        for (int v = 0; v < Vectors; ++v) {
          sum.fetch(offset + v * l + ahead);
          hn::StoreU(sum.vector(D(), offset + v * l), D(), at + v * l);
        }
      }
    }
  }
}

/// Vectors of points that are fetched ahead.
inline constexpr std::int64_t transposed_ahead = 8;

/// Lines of neighbouring points, `Width` of them: squares of lanes are transposed. Returns the points packed,
/// which are whole squares.
template <int Width, class S, int Count>
HWY_NOINLINE std::int64_t pack_transposed(const TermSum<S, Count> sum, const PanelShape& shape,
                                          std::int64_t line, std::int64_t points,
                                          typename RealSum<S>::type* to) {
  using R = typename RealSum<S>::type;
  constexpr int l = lanes<R>;
  // Where a panel is narrower than a vector, a square holds several stretches of its points.
  constexpr int stretches = Width < l ? l / Width : 1;
  constexpr int square = Width < l ? Width : l;
  const hn::CappedTag<R, square> d;
  std::int64_t p = 0;
  for (; p + l * stretches <= points; p += l * stretches) {
    for (int first = 0; first < Width; first += square) {
      Vector<R> v[l];
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i)
        v[i] = sum.vector(Tag<R>(), (line + first + i % square) * shape.line_stride + p + (i / square) * l);
      transpose<R>(v);
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i) {
        R* const row = to + (p + i) * Width + first;
        if constexpr (stretches == 1) {
          hn::StoreU(v[i], d, row);
        } else {
          static_assert(stretches == 2);
          hn::StoreU(hn::LowerHalf(v[i]), d, row);
          hn::StoreU(hn::UpperHalf(d, v[i]), d, row + l * Width);
        }
      }
    }
  }
  return p;
}

/// Neighbouring lines, some of them missing in some blocks.
template <class D, class S>
HWY_NOINLINE void pack_ragged(const PanelTerm<S>* terms, int count, const PanelShape& shape,
                              std::int64_t line, std::int64_t first_point, hn::TFromD<D>* to) {
  constexpr std::int64_t l = hn::MaxLanes(D());
  const D d;
  for (std::int64_t p = first_point; p < shape.points; ++p) {
    for (std::int64_t v = 0; v < shape.width; v += l) {
      auto sum = hn::Zero(d);
      for (int t = 0; t < count; ++t) {
        const std::int64_t lines = std::min(terms[t].lines - line - v, l);
        if (p >= terms[t].points || lines <= 0) continue;
        const auto x =
            load_lanes(d, terms[t].data + line + v + p * shape.point_stride, static_cast<std::size_t>(lines));
        sum = hn::MulAdd(hn::Set(d, terms[t].coefficient), x, sum);
      }
      hn::StoreU(sum, d, to + p * shape.width + v);
    }
  }
}

/// Any lines and points, some of them missing in some blocks.
template <class S>
void pack_anyhow(const PanelTerm<S>* terms, int count, const PanelShape& shape, std::int64_t line,
                 std::int64_t first_point, typename RealSum<S>::type* to) {
  using R = typename RealSum<S>::type;
  constexpr int parts = packed_parts<S>;
  if constexpr (parts == 1) {
    if (shape.line_stride == 1 && shape.width == tile_rows)
      return pack_ragged<hn::CappedTag<R, tile_rows>>(terms, count, shape, line, first_point, to);
    if (shape.line_stride == 1) return pack_ragged<Tag<R>>(terms, count, shape, line, first_point, to);
  }
  for (std::int64_t p = first_point; p < shape.points; ++p) {
    R* const at = to + p * shape.width * parts;
    std::fill_n(at, shape.width * parts, R{0});
    for (int t = 0; t < count; ++t) {
      if (p >= terms[t].points) continue;
      const std::int64_t lines = std::min<std::int64_t>(terms[t].lines - line, shape.width);
      const R coefficient = terms[t].coefficient;
      const S* from = terms[t].data + line * shape.line_stride + p * shape.point_stride;
      for (std::int64_t i = 0; i < lines; ++i, from += shape.line_stride) {
        if constexpr (parts == 2) {
          at[i] += coefficient * from->real();
          at[shape.width + i] += coefficient * (shape.conjugate ? -from->imag() : from->imag());
        } else {
          at[i] += coefficient * static_cast<R>(*from);
        }
      }
    }
  }
}

/// Packs whole panels in one of the fast ways, as many of their points as no block lacks; returns how many.
template <int Width, class S, int Count>
std::int64_t pack_whole(const TermSum<S, Count>& sum, const PanelShape& shape, std::int64_t panels,
                        std::int64_t points, typename RealSum<S>::type* to) {
  using R = typename RealSum<S>::type;
  if constexpr (packed_parts<S> == 1) {
    if (shape.line_stride == 1) {
      using D = hn::CappedTag<R, Width>;
      pack_neighbours<Width / static_cast<int>(hn::MaxLanes(D())), D>(sum, shape, panels, points, to);
      return points;
    }
    if (shape.point_stride == 1) {
      std::int64_t done = 0;
      for (std::int64_t panel = 0; panel < panels; ++panel)
        done = pack_transposed<Width>(sum, shape, panel * Width, points, to + panel * Width * shape.points);
      return done;
    }
  }
  return 0;
}

/// Of as many blocks as there are.
template <int Width, class S>
std::int64_t pack_whole(const PanelTerm<S>* terms, int count, const PanelShape& shape, std::int64_t panels,
                        std::int64_t points, typename RealSum<S>::type* to) {
  const auto run = [&]<int Count>(std::integral_constant<int, Count>) {
    return pack_whole<Width>(TermSum<S, Count>(terms, count), shape, panels, points, to);
  };
  switch (count) {
    case 1:
      return run(std::integral_constant<int, 1>());
    case 2:
      return run(std::integral_constant<int, 2>());
    case 3:
      return run(std::integral_constant<int, 3>());
    case 4:
      return run(std::integral_constant<int, 4>());
    default:
      return run(std::integral_constant<int, 0>());
  }
}

template <class S>
void pack_panels(const PanelTerm<S>* terms, int count, const PanelShape& shape,
                 typename RealSum<S>::type* to) {
  std::int64_t lines = shape.lines, points = shape.points;
  for (int t = 0; t < count; ++t) {
    lines = std::min(lines, terms[t].lines);
    points = std::min(points, terms[t].points);
  }
  const std::int64_t whole = lines / shape.width;
  const std::int64_t done = shape.width == tile_rows
                                ? pack_whole<tile_rows>(terms, count, shape, whole, points, to)
                                : pack_whole<tile_columns<S>>(terms, count, shape, whole, points, to);
  for (std::int64_t line = 0; line < shape.lines; line += shape.width) {
    pack_anyhow(terms, count, shape, line, line < whole * shape.width ? done : 0, to);
    to += shape.points * shape.width * packed_parts<S>;
  }
}

/// The rows of C that the next tile will be added to: fetched while this one is computed, a row at a time, so
/// that panels need not wait for the memory's far answers.
template <class T>
struct NextTile {
  const GemmPart<T>* part;
  std::int64_t row = 0;
  std::int64_t column = 0;

  HWY_INLINE void fetch(int r) const {
    constexpr std::int64_t line = cache_line_bytes / static_cast<std::int64_t>(sizeof(T));
    const std::int64_t offset = (row + r) * part->row_stride + column;
    for (int t = 0; t < part->target_count; ++t) {
      const T* const c = part->targets[t].data + offset;
      for (std::int64_t j = 0; j < tile_columns<T>; j += line) __builtin_prefetch(c + j, 0, 2);
    }
  }
};

/// The product of a panel of A and one of B, `Rows` and `Vectors` of them, in `to`, rows of tile_columns.
template <int Rows, int Vectors, class T>
HWY_NOINLINE void multiply_panels(const typename RealSum<T>::type* HWY_RESTRICT a,
                                  const typename RealSum<T>::type* HWY_RESTRICT b, std::int64_t points,
                                  typename RealSum<T>::type* HWY_RESTRICT to, const NextTile<T>& next) {
  using R = typename RealSum<T>::type;
  constexpr int l = lanes<R>;
  constexpr int width = tile_columns<T>;
  const Tag<R> d;
  const std::int64_t step = (points + tile_rows - 1) / tile_rows;
  if constexpr (RealSum<T>::complex) {
    static_assert(Vectors == 1);
    Vector<R> real[Rows], imaginary[Rows];
    PAPILLON_UNROLL
    for (int r = 0; r < Rows; ++r) real[r] = imaginary[r] = hn::Zero(d);
    for (std::int64_t first = 0, row = 0; first < points; first += step, ++row) {
      next.fetch(static_cast<int>(row));
      for (std::int64_t p = first; p < std::min(first + step, points); ++p) {
        const auto x = hn::Load(d, b), y = hn::Load(d, b + width);
        PAPILLON_UNROLL
        for (int r = 0; r < Rows; ++r) {
          const auto s = hn::Set(d, a[r]), t = hn::Set(d, a[tile_rows + r]);
          real[r] = hn::NegMulAdd(t, y, hn::MulAdd(s, x, real[r]));
          imaginary[r] = hn::MulAdd(t, x, hn::MulAdd(s, y, imaginary[r]));
        }
        a += 2 * tile_rows;
        b += 2 * width;
      }
    }
    PAPILLON_UNROLL
    for (int r = 0; r < Rows; ++r) {
      hn::Store(real[r], d, to + 2 * r * width);
      hn::Store(imaginary[r], d, to + (2 * r + 1) * width);
    }
  } else {
    Vector<R> sums[Rows][Vectors];
    PAPILLON_UNROLL
    for (int r = 0; r < Rows; ++r) {
      PAPILLON_UNROLL
      for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::Zero(d);
    }
    for (std::int64_t first = 0, row = 0; first < points; first += step, ++row) {
      next.fetch(static_cast<int>(row));
      for (std::int64_t p = first; p < std::min(first + step, points); ++p) {
        Vector<R> x[Vectors];
        PAPILLON_UNROLL
        for (int v = 0; v < Vectors; ++v) x[v] = hn::Load(d, b + v * l);
        PAPILLON_UNROLL
        for (int r = 0; r < Rows; ++r) {
          const auto s = hn::Set(d, a[r]);
          PAPILLON_UNROLL
          for (int v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(s, x[v], sums[r][v]);
        }
        a += tile_rows;
        b += width;
      }
    }
    PAPILLON_UNROLL
    for (int r = 0; r < Rows; ++r) {
      PAPILLON_UNROLL
      for (int v = 0; v < Vectors; ++v) hn::Store(sums[r][v], d, to + r * width + v * l);
    }
  }
}

template <class T>
using PanelProduct = void (*)(const typename RealSum<T>::type*, const typename RealSum<T>::type*,
                              std::int64_t, typename RealSum<T>::type*, const NextTile<T>&);

/// The kernels for fewer rows and vectors than a whole tile has: [rows - 1][vectors - 1].
template <class T, std::size_t... Is>
PanelProduct<T> panel_product(int rows, int vectors, std::index_sequence<Is...>) {
  constexpr int most = tile_vectors<T>;
  static constexpr PanelProduct<T> table[] = {
      &multiply_panels<static_cast<int>(Is) / most + 1, static_cast<int>(Is) % most + 1, T>...};
  return table[(rows - 1) * most + vectors - 1];
}
template <class T>
PanelProduct<T> panel_product(int rows, int vectors) {
  return panel_product<T>(rows, vectors, std::make_index_sequence<tile_rows * tile_vectors<T>>());
}

/// coefficient · x added to y, which is multiplied by beta, or overwritten, where it is the first product.
enum class UpdateKind : std::uint8_t { add, scale, set };
template <class R>
struct RealUpdate {
  UpdateKind kind;
  Vector<R> coefficient, beta;

  RealUpdate(R factor, R scale, bool first)
      : kind(!first          ? UpdateKind::add
             : scale == R{0} ? UpdateKind::set
                             : UpdateKind::scale),
        coefficient(hn::Set(Tag<R>(), factor)),
        beta(hn::Set(Tag<R>(), scale)) {}
  bool reads() const { return kind != UpdateKind::set; }
  template <UpdateKind K>
  HWY_INLINE Vector<R> apply(Vector<R> x, Vector<R> y) const {
    if constexpr (K == UpdateKind::set) return hn::Mul(coefficient, x);
    return hn::MulAdd(coefficient, x, K == UpdateKind::scale ? hn::Mul(beta, y) : y);
  }
  HWY_INLINE Vector<R> operator()(Vector<R> x, Vector<R> y) const {
    if (kind == UpdateKind::set) return apply<UpdateKind::set>(x, y);
    return kind == UpdateKind::scale ? apply<UpdateKind::scale>(x, y) : apply<UpdateKind::add>(x, y);
  }
};

/// A whole tile added to rows of C. All of C is read before any is written: rows a multiple of 4 KiB apart
/// would have reads wait for writes to addresses that look alike.
template <UpdateKind kind, class R>
HWY_NOINLINE void update_whole(const RealUpdate<R>& update, const R* from, R* c, std::int64_t row_stride) {
  constexpr int l = lanes<R>;
  const Tag<R> d;
  Vector<R> y[tile_rows][tile_vectors<R>];
  PAPILLON_UNROLL
  for (int r = 0; r < tile_rows; ++r) {
    PAPILLON_UNROLL
    for (int v = 0; v < tile_vectors<R>; ++v)
      y[r][v] = kind == UpdateKind::set ? hn::Zero(d) : hn::LoadU(d, c + r * row_stride + v * l);
  }
  PAPILLON_UNROLL
  for (int r = 0; r < tile_rows; ++r) {
    PAPILLON_UNROLL
    for (int v = 0; v < tile_vectors<R>; ++v) {
      const auto x = hn::Load(d, from + (r * tile_vectors<R> + v) * l);
      hn::StoreU(update.template apply<kind>(x, y[r][v]), d, c + r * row_stride + v * l);
    }
  }
}
template <class R>
void update_whole(const RealUpdate<R>& update, const R* from, R* c, std::int64_t row_stride) {
  if (update.kind == UpdateKind::add) return update_whole<UpdateKind::add>(update, from, c, row_stride);
  if (update.kind == UpdateKind::set) return update_whole<UpdateKind::set>(update, from, c, row_stride);
  update_whole<UpdateKind::scale>(update, from, c, row_stride);
}

/// A row of a tile added to a row of C.
template <class R>
HWY_INLINE void update_row(const RealUpdate<R>& update, const R* from, std::int64_t columns, R* c,
                           std::int64_t stride) {
  constexpr std::int64_t l = lanes<R>;
  const Tag<R> d;
  for (std::int64_t j = 0; j < columns; j += l) {
    const std::int64_t count = std::min(l, columns - j);
    const auto x = hn::Load(d, from + j);
    R* const at = c + j * stride;
    if (stride == 1 && count == l) {
      hn::StoreU(update(x, update.reads() ? hn::LoadU(d, at) : hn::Zero(d)), d, at);
      continue;
    }
    alignas(64) R lane[lanes<R>] = {};
    if (update.reads())
      for (std::int64_t i = 0; i < count; ++i) lane[i] = at[i * stride];
    hn::Store(update(x, hn::Load(d, lane)), d, lane);
    for (std::int64_t i = 0; i < count; ++i) at[i * stride] = lane[i];
  }
}

/// A complex row: one vector of real parts, one of imaginary ones. Factors without an imaginary part are
/// taken as real, so that no infinity meets a zero.
template <class R>
void update_row(std::complex<R> coefficient, std::complex<R> beta, bool first, const R* from,
                std::int64_t columns, std::complex<R>* c, std::int64_t stride) {
  const auto times = [](std::complex<R> factor, R x, R y) {
    if (factor.imag() == R{0}) return std::complex<R>(factor.real() * x, factor.real() * y);
    return std::complex<R>(factor.real() * x - factor.imag() * y, factor.real() * y + factor.imag() * x);
  };
  for (std::int64_t j = 0; j < columns; ++j) {
    std::complex<R>& at = c[j * stride];
    const std::complex<R> product = times(coefficient, from[j], from[tile_columns<std::complex<R>> + j]);
    if (!first) {
      at += product;
    } else {
      at = beta == std::complex<R>(0) ? product : times(beta, at.real(), at.imag()) + product;
    }
  }
}

template <class T>
void update_tile(const GemmPart<T>& part, const GemmTarget<T>& target, std::int64_t row, std::int64_t column,
                 const typename RealSum<T>::type* tile) {
  const std::int64_t rows = std::min({std::int64_t{tile_rows}, part.last_row - row, target.rows - row});
  const std::int64_t columns =
      std::min({std::int64_t{tile_columns<T>}, part.last_column - column, target.columns - column});
  T* const c = target.data + row * part.row_stride + column * part.column_stride;
  if constexpr (RealSum<T>::complex) {
    for (std::int64_t r = 0; r < rows; ++r)
      update_row(target.coefficient, part.beta, target.first, tile + 2 * r * tile_columns<T>, columns,
                 c + r * part.row_stride, part.column_stride);
  } else {
    const RealUpdate<T> update(target.coefficient, part.beta, target.first);
    if (rows == tile_rows && columns == tile_columns<T> && part.column_stride == 1)
      return update_whole(update, tile, c, part.row_stride);
    for (std::int64_t r = 0; r < rows; ++r)
      update_row(update, tile + r * tile_columns<T>, columns, c + r * part.row_stride, part.column_stride);
  }
}

template <class T>
void multiply_part(const GemmPart<T>& part) {
  using R = typename RealSum<T>::type;
  constexpr int parts = packed_parts<T>;
  alignas(64) R tile[tile_rows * tile_columns<T> * parts];
  for (std::int64_t row = part.first_row; row < part.last_row; row += tile_rows) {
    const int rows = static_cast<int>(std::min<std::int64_t>(tile_rows, part.last_row - row));
    const R* const a = part.a + row * part.points * parts;
    for (std::int64_t column = part.first_column; column < part.last_column; column += tile_columns<T>) {
      const std::int64_t columns = std::min<std::int64_t>(tile_columns<T>, part.last_column - column);
      const int vectors = static_cast<int>((columns + lanes<R> - 1) / lanes<R>);
      NextTile<T> next{&part, row, column + tile_columns<T>};
      if (next.column >= part.last_column) next = {&part, row + tile_rows, part.first_column};
      panel_product<T>(rows, vectors)(a, part.b + column * part.points * parts, part.points, tile, next);
      for (int t = 0; t < part.target_count; ++t) update_tile(part, part.targets[t], row, column, tile);
    }
  }
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_GEMM_INL
