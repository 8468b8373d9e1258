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

/// Offsets of the lines of a tile.
struct Offsets {
  std::int64_t at[simd::most_tile_lines];
};

}  // namespace

template <class S, class In, class Out>
HostButterfly<S, In, Out>::HostButterfly(const ButterflyTilePass& pass)
    : pass_(pass),
      line_count_(pass.column_count * pass.shape.outer * pass.shape.inner),
      points_(std::max<std::int64_t>(pass.shape.largest, 1)) {
  lines_ = Kernels<S>::lines_of_tile(points_, line_count_);
  tiles_ = (line_count_ + lines_ - 1) / lines_;
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
void HostButterfly<S, In, Out>::run(std::int64_t tile) const {
  const detail::TileShape& shape = pass_.shape;
  const std::int64_t row = std::int64_t{lines_} * parts;
  R* from = static_cast<R*>(thread_scratch(static_cast<std::size_t>(2 * points_ * row) * sizeof(R)));
  R* to = from + points_ * row;

  // Lines that are missing in the last tile repeat its first.
  const std::int64_t first = tile * lines_;
  const int count = static_cast<int>(std::min<std::int64_t>(lines_, line_count_ - first));
  TileLine lines[simd::most_tile_lines];
  for (int l = 0; l < lines_; ++l) lines[l] = l < count ? locate_line(pass_, first + l) : lines[0];
  const auto offsets_of = [&](const auto& offset) {
    Offsets offsets;
    for (int l = 0; l < lines_; ++l) offsets.at[l] = offset(lines[l]);
    return offsets;
  };

  // A permutation of a whole column moves rows of the tile; else points are taken one by one.
  const bool whole = shape.outer * shape.inner == 1;
  const auto* permutation = pass_.source.permutation;
  const std::int64_t source_step = pass_.source.axis_stride * shape.inner;
  auto* const source = kernel_pointer<In>(pass_.source.data);
  const auto column_starts = [&](const TileEnd& end, bool of_x) {
    return offsets_of([&](const TileLine& line) { return column_start(line, end, of_x ? line.x : line.y); });
  };
  const auto line_starts = [&](const TileEnd& end, bool of_x, std::int64_t points) {
    return offsets_of([&](const TileLine& line) {
      return column_start(line, end, of_x ? line.x : line.y) +
             axis_index(line, shape, points, 0) * end.axis_stride;
    });
  };
  if (permutation == nullptr || whole) {
    Kernels<In>::load(source, line_starts(pass_.source, true, shape.source).at, lines_, source_step,
                      shape.source, permutation == nullptr ? from : to);
    if (permutation != nullptr)
      for (std::int64_t p = 0; p < shape.source; ++p)
        std::copy_n(to + permutation[p] * row, row, from + p * row);
  } else {
    const Offsets starts = column_starts(pass_.source, true);
    for (std::int64_t p = 0; p < shape.source; ++p) {
      const Offsets places = offsets_of([&](const TileLine& line) {
        return starts.at[&line - lines] +
               permutation[axis_index(line, shape, shape.source, p)] * pass_.source.axis_stride;
      });
      Kernels<In>::load(source, places.at, lines_, 0, 1, from + p * row);
    }
  }

  for (int f = 0; f < pass_.count; ++f) {
    const detail::TileFactor& factor = pass_.factors[f];
    const Offsets offsets = offsets_of([&](const TileLine& line) {
      return line.outer * factor.outer_stride + line.inner * factor.inner_stride +
             line.batch * factor.batch_stride;
    });
    if (Kernels<S>::apply(factor, offsets.at, lines_, from, to)) std::swap(from, to);
  }

  const auto scale = static_cast<R>(pass_.scale);
  permutation = pass_.target.permutation;
  auto* const target = kernel_pointer<Out>(pass_.target.data);
  if (permutation == nullptr || whole) {
    if (permutation != nullptr) {
      for (std::int64_t p = 0; p < shape.target; ++p)
        std::copy_n(from + p * row, row, to + permutation[p] * row);
      std::swap(from, to);
    }
    Kernels<Out>::store(from, scale, target, line_starts(pass_.target, false, shape.target).at, count, lines_,
                        pass_.target.axis_stride * shape.inner, shape.target);
    return;
  }
  const Offsets starts = column_starts(pass_.target, false);
  for (std::int64_t p = 0; p < shape.target; ++p) {
    const Offsets places = offsets_of([&](const TileLine& line) {
      return starts.at[&line - lines] +
             permutation[axis_index(line, shape, shape.target, p)] * pass_.target.axis_stride;
    });
    Kernels<Out>::store(from + p * row, scale, target, places.at, count, lines_, 0, 1);
  }
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
