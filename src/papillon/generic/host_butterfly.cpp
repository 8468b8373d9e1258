// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_butterfly.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "papillon/core/half.hpp"
#include "papillon/generic/simd/butterfly.hpp"
#include "papillon/generic/thread_scratch.hpp"

namespace papillon::generic {
namespace {

/// Multiply-adds below which sharing work among threads costs more than it gains: starting a team takes about
/// 3 µs.
constexpr double serial_multiply_adds = 1 << 16;
/// Bytes of half a tile at most.
constexpr std::int64_t most_half_bytes = std::int64_t{8} << 20;

/// The element as the vector kernels have it.
template <class T>
struct KernelElement {
  using type = T;
};
template <class R>
struct KernelElement<Kokkos::complex<R>> {
  using type = std::complex<R>;
};
template <class T>
using Kernels = simd::ButterflyKernels<typename KernelElement<T>::type>;
template <class T>
auto* kernel_pointer(void* data) {
  return static_cast<typename KernelElement<T>::type*>(data);
}

/// Bytes of half a tile that leave room for the factors in a core's second-level cache of 1 MiB.
constexpr std::int64_t wanted_half_bytes = std::int64_t{128} << 10;

/// One element as its parts in a row of a tile, and back.
template <class T, class R>
void put(const T& element, R* place, [[maybe_unused]] int lines) {
  if constexpr (is_complex_sum<T>) {
    place[0] = element.real();
    place[lines] = element.imag();
  } else {
    *place = static_cast<R>(element);
  }
}
template <class T, class R>
T taken(const R* place, [[maybe_unused]] int lines, R scale) {
  if constexpr (is_complex_sum<T>) {
    return T(place[0] * scale, place[lines] * scale);
  } else {
    return static_cast<T>(place[0] * scale);
  }
}

}  // namespace

template <class S, class In, class Out>
struct HostButterfly<S, In, Out>::Lines {
  TileLine at[simd::most_tile_lines];
  int count = 0;            ///< that are there
  bool alike = false;       ///< all indices but the column are the same
  bool neighbours = false;  ///< the inner index rises by one from line to line, all others are the same

  /// offset(line) for each line.
  template <class Offset>
  void offsets(int lines, std::int64_t* result, const Offset& offset) const {
    for (int l = 0; l < lines; ++l) result[l] = offset(at[l]);
  }
};

template <class S, class In, class Out>
HostButterfly<S, In, Out>::HostButterfly(const ButterflyTilePass& pass)
    : pass_(pass),
      line_count_(pass.column_count * pass.shape.outer * pass.shape.inner),
      points_(std::max<std::int64_t>(pass.shape.largest, 1)) {
  const int vector = Kernels<S>::vector_lines();
  stretch_ = pass.columns_first ? pass.column_count : pass.shape.inner;
  if (stretch_ < vector) stretch_ = line_count_;
  const std::int64_t fitting = wanted_half_bytes / (points_ * parts * static_cast<std::int64_t>(sizeof(R)));
  const std::int64_t most = std::min<std::int64_t>({fitting, stretch_, simd::most_tile_lines});
  lines_ = std::max(vector, static_cast<int>(most / vector) * vector);
  stretch_tiles_ = (stretch_ + lines_ - 1) / lines_;
  tiles_ = line_count_ / stretch_ * stretch_tiles_;
  double multiply_adds = static_cast<double>(pass.shape.target);
  for (int f = 0; f < pass.count; ++f) {
    const detail::TileFactor& factor = pass.factors[f];
    multiply_adds += static_cast<double>(factor.blocks * factor.repeats) *
                     static_cast<double>(factor.rows * factor.columns);
  }
  worth_sharing_ = multiply_adds * static_cast<double>(line_count_) >= serial_multiply_adds;
}

template <class S, class In, class Out>
bool HostButterfly<S, In, Out>::fits() const {
  return points_ <= most_half_bytes / (lines_ * parts * static_cast<std::int64_t>(sizeof(R)));
}

template <class S, class In, class Out>
void HostButterfly<S, In, Out>::locate(std::int64_t tile, Lines& lines) const {
  const std::int64_t within = tile % stretch_tiles_ * lines_;
  const std::int64_t first = tile / stretch_tiles_ * stretch_ + within;
  lines.count = static_cast<int>(std::min<std::int64_t>(lines_, stretch_ - within));
  const Fold& fold = pass_.fold;
  TileLine line = locate_line(pass_, first);
  for (int l = 0; l < lines.count; ++l) {
    lines.at[l] = line;
    if (!pass_.columns_first && line.inner + 1 < pass_.shape.inner) {  // the common steps, without a division
      ++line.inner;
    } else if (pass_.columns_first && fold.outer_rank == 1 && line.column + 1 < pass_.column_count) {
      ++line.column;
      line.x += fold.outer[0].x_stride;
      line.y += fold.outer[0].y_stride;
      line.batch += fold.outer[0].position_step;
    } else if (l + 1 < lines.count) {
      line = locate_line(pass_, first + l + 1);
    }
  }
  for (int l = lines.count; l < lines_; ++l) lines.at[l] = lines.at[0];
  const TileLine &front = lines.at[0], &back = lines.at[lines_ - 1];
  const bool one_stretch = stretch_ == (pass_.columns_first ? pass_.column_count : pass_.shape.inner);
  lines.alike = pass_.columns_first && one_stretch;
  lines.neighbours = !pass_.columns_first && one_stretch && back.inner - front.inner == lines_ - 1;
}

template <class S, class In, class Out>
void HostButterfly<S, In, Out>::read(const Lines& lines, R* tile, R* other) const {
  const detail::TileShape& shape = pass_.shape;
  const TileEnd& end = pass_.source;
  const std::int64_t points = shape.source, row = std::int64_t{lines_} * parts;
  std::int64_t starts[simd::most_tile_lines];
  const bool whole = shape.outer * shape.inner == 1;  // then a permutation moves whole rows
  if (end.permutation == nullptr || whole) {
    lines.offsets(lines_, starts, [&](const TileLine& line) {
      return column_start(line, end, line.x) + axis_index(line, shape, points, 0) * end.axis_stride;
    });
    Kernels<In>::load(kernel_pointer<In>(end.data), starts, lines_, end.axis_stride * shape.inner, points,
                      end.permutation == nullptr ? tile : other);
    if (end.permutation == nullptr) return;
    for (std::int64_t p = 0; p < points; ++p)
      std::copy_n(other + end.permutation[p] * row, row, tile + p * row);
    return;
  }
  const In* data = static_cast<const In*>(end.data);
  lines.offsets(lines_, starts, [&](const TileLine& line) { return column_start(line, end, line.x); });
  for (std::int64_t p = 0; p < points; ++p)
    for (int l = 0; l < lines_; ++l) {
      const std::int64_t index = end.permutation[axis_index(lines.at[l], shape, points, p)];
      put(data[starts[l] + index * end.axis_stride], tile + p * row + l, lines_);
    }
}

template <class S, class In, class Out>
void HostButterfly<S, In, Out>::write(const Lines& lines, R* tile, R* other) const {
  const detail::TileShape& shape = pass_.shape;
  const TileEnd& end = pass_.target;
  const std::int64_t points = shape.target, row = std::int64_t{lines_} * parts;
  const auto scale = static_cast<R>(pass_.scale);
  std::int64_t starts[simd::most_tile_lines];
  const bool whole = shape.outer * shape.inner == 1;
  if (end.permutation == nullptr || whole) {
    if (end.permutation != nullptr) {
      for (std::int64_t p = 0; p < points; ++p)
        std::copy_n(tile + p * row, row, other + end.permutation[p] * row);
      tile = other;
    }
    lines.offsets(lines_, starts, [&](const TileLine& line) {
      return column_start(line, end, line.y) + axis_index(line, shape, points, 0) * end.axis_stride;
    });
    Kernels<Out>::store(tile, scale, kernel_pointer<Out>(end.data), starts, lines.count, lines_,
                        end.axis_stride * shape.inner, points);
    return;
  }
  Out* data = static_cast<Out*>(end.data);
  lines.offsets(lines_, starts, [&](const TileLine& line) { return column_start(line, end, line.y); });
  for (std::int64_t p = 0; p < points; ++p)
    for (int l = 0; l < lines.count; ++l) {
      const std::int64_t index = end.permutation[axis_index(lines.at[l], shape, points, p)];
      data[starts[l] + index * end.axis_stride] = taken<Out>(tile + p * row + l, lines_, scale);
    }
}

template <class S, class In, class Out>
void HostButterfly<S, In, Out>::run(std::int64_t tile) const {
  const std::int64_t half = points_ * lines_ * parts;
  R* from = static_cast<R*>(thread_scratch(static_cast<std::size_t>(2 * half) * sizeof(R)));
  R* to = from + half;
  Lines lines;
  locate(tile, lines);
  read(lines, from, to);
  for (int f = 0; f < pass_.count; ++f) {
    const detail::TileFactor& factor = pass_.factors[f];
    const auto start = [&](const TileLine& line) {
      return line.outer * factor.outer_stride + line.inner * factor.inner_stride +
             line.batch * factor.batch_stride;
    };
    std::int64_t starts[simd::most_tile_lines];
    starts[0] = start(lines.at[0]);
    auto entries = simd::Entries::apart;
    if (lines.alike && factor.batch_stride == 0) entries = simd::Entries::shared;
    if (lines.neighbours && factor.inner_stride == 0) entries = simd::Entries::shared;
    if (lines.neighbours && factor.inner_stride == 1) entries = simd::Entries::side_by_side;
    if (factor.outer_stride == 0 && factor.inner_stride == 0 && factor.batch_stride == 0)
      entries = simd::Entries::shared;
    if (entries == simd::Entries::apart) lines.offsets(lines_, starts, start);
    if (Kernels<S>::apply(factor, entries, starts, lines_, from, to)) std::swap(from, to);
  }
  write(lines, from, to);
}

#define PAPILLON_INSTANTIATE(S)                    \
  template class HostButterfly<S, S, S>;           \
  template class HostButterfly<S, S, sum_type<S>>; \
  template class HostButterfly<S, sum_type<S>, S>; \
  template class HostButterfly<S, sum_type<S>, sum_type<S>>
PAPILLON_INSTANTIATE(half);
PAPILLON_INSTANTIATE(bfloat16);
#undef PAPILLON_INSTANTIATE
template class HostButterfly<float, float, float>;
template class HostButterfly<double, double, double>;
template class HostButterfly<Kokkos::complex<float>, Kokkos::complex<float>, Kokkos::complex<float>>;
template class HostButterfly<Kokkos::complex<double>, Kokkos::complex<double>, Kokkos::complex<double>>;

}  // namespace papillon::generic
