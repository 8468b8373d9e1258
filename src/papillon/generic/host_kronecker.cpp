// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_kronecker.hpp"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "papillon/core/half.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/thread_scratch.hpp"

namespace papillon::generic {
namespace {

/// Bytes of values that a tile should have: enough to make the cost of handing it out small.
constexpr std::int64_t tile_bytes = std::int64_t{128} << 10;
/// Points of a tile at least, where there are so many.
constexpr std::int64_t least_tile_points = 1024;
/// Multiply-adds below which sharing work among threads costs more than it gains: starting a team takes about
/// 3 µs.
constexpr double serial_multiply_adds = 1 << 18;
/// Lines that fill the vectors of any instruction set.
constexpr std::int64_t full_lines = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// `most` or less, a multiple of full_lines where it is not less than that.
std::int64_t whole_lines(std::int64_t most) {
  return most >= full_lines ? most / full_lines * full_lines : std::max<std::int64_t>(most, 1);
}

/// Element `i` of an array whose elements are read, or written, as numbers of type R, in one plane or two.
template <class T, class R>
void copy_in(const T* from, std::int64_t stride, std::int64_t count, R* to, std::int64_t to_stride,
             [[maybe_unused]] std::int64_t plane) {
  if constexpr (is_complex_sum<T>) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i * to_stride] = from[i * stride].real();
      to[i * to_stride + plane] = from[i * stride].imag();
    }
  } else if (stride == 1 && to_stride == 1) {
    if constexpr (std::is_same_v<T, R>) {
      std::copy_n(from, count, to);
    } else {
      simd::convert<T, R>(from, to, count);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = static_cast<R>(from[i * stride]);
  }
}

template <class T, class R>
void copy_out(R* from, std::int64_t from_stride, [[maybe_unused]] std::int64_t plane, std::int64_t count,
              R scale, T* to, std::int64_t stride) {
  if constexpr (is_complex_sum<T>) {
    for (std::int64_t i = 0; i < count; ++i)
      to[i * stride] = T(from[i * from_stride] * scale, from[i * from_stride + plane] * scale);
  } else if (stride == 1 && from_stride == 1) {
    if constexpr (std::is_same_v<T, R>) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale;
    } else {
      if (scale != R{1})
        for (std::int64_t i = 0; i < count; ++i) from[i] *= scale;
      simd::convert<R, T>(from, to, count);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<T>(from[i * from_stride] * scale);
  }
}

/// Calls copy(offset in the array, stride there, offset in the tile, stride there, count) for `lines` lines
/// of points of neighbours, along the index that is the nearest in the array.
template <class Shape, class Copy>
void for_each_run(const Shape& shape, std::int64_t lines, std::int64_t line_step, const Copy& copy) {
  const std::int64_t line = shape.points * shape.width;
  const bool even = shape.width == 1 || shape.point_stride == shape.width * shape.across_stride;
  const std::int64_t step = shape.width == 1 ? shape.point_stride : shape.across_stride;
  if (lines == 1) line_step = line * step;
  if (even && line_step == line * step) return copy(0, step, 0, 1, lines * line);
  if (shape.width == 1 && std::llabs(line_step) < std::llabs(shape.point_stride)) {
    for (std::int64_t p = 0; p < shape.points; ++p) copy(p * shape.point_stride, line_step, p, line, lines);
    return;
  }
  for (std::int64_t l = 0; l < lines; ++l) {
    if (even) {
      copy(l * line_step, step, l * line, 1, line);
      continue;
    }
    for (std::int64_t p = 0; p < shape.points; ++p)
      copy(l * line_step + p * shape.point_stride, shape.across_stride, l * line + p * shape.width, 1,
           shape.width);
  }
}

/// A factor's entries as R, rows first or columns first, the imaginary parts behind the real ones.
template <class S, class R>
void copy_entries(const detail::AppliedFactor& factor, const S* data, bool columns_first, R* to) {
  const std::int64_t lines = columns_first ? factor.columns : factor.rows;
  const std::int64_t points = columns_first ? factor.rows : factor.columns;
  const std::int64_t line_stride = columns_first ? factor.column_stride : factor.row_stride;
  const std::int64_t stride = columns_first ? factor.row_stride : factor.column_stride;
  const std::int64_t plane = lines * points;
  for (std::int64_t l = 0; l < lines; ++l)
    copy_in(data + l * line_stride, stride, points, to + l * points, 1, plane);
  if constexpr (is_complex_sum<S>) {
    if (factor.conjugate)
      for (std::int64_t i = 0; i < plane; ++i) to[plane + i] = -to[plane + i];
  }
}

}  // namespace

template <class S, class In, class Out>
HostKronecker<S, In, Out>::HostKronecker(const KroneckerTilePass& tile, int threads) : tile_(tile) {
  double multiply_adds = static_cast<double>(tile.column_count * tile.pass.outer * tile.pass.inner);
  std::int64_t most = 0;
  for (int f = 0; f < tile.pass.count; ++f) {
    batched_ = batched_ || tile.factors[f].batch_stride != 0;
    most = std::max(most, tile.factors[f].columns);
  }
  multiply_adds *= static_cast<double>(tile.pass.largest) * static_cast<double>(most * tile.pass.count);
  worth_sharing_ = multiply_adds >= serial_multiply_adds;
  choose_across();
  choose_tiles(threads);
  product_ = make_product(0, across_step_);
  simd::plan_tile(product_, plan_);
  if (across_.extent % across_step_ != 0) {
    simd::TileProduct<R> last = product_;
    last.width = across_.extent % across_step_;
    simd::plan_tile(last, last_plan_);
  }
}

template <class S, class In, class Out>
void HostKronecker<S, In, Out>::choose_across() {
  const detail::KroneckerPass& pass = tile_.pass;
  const Fold& fold = tile_.fold;
  const bool reads_array = tile_.source.buffer_points == 0;
  if (reads_array && fold.outer_rank > 0) {
    const Dimension& fastest = fold.outer[fold.outer_rank - 1];
    // Groups are whole, and of one set of factors.
    const bool whole = tile_.first_column % fastest.extent == 0 && tile_.column_count % fastest.extent == 0;
    const bool one_set = !batched_ || fastest.position_step == 0;
    if (whole && one_set && std::llabs(fastest.x_stride) < std::llabs(tile_.source.axis_stride)) {
      const bool writes_array = tile_.target.buffer_points == 0;
      across_ = {Across::Index::column, fastest.extent, fastest.x_stride,
                 writes_array ? fastest.y_stride : tile_.target.buffer_points};
      return;
    }
  }
  if (pass.inner > 1)
    across_ = {Across::Index::inner, pass.inner, tile_.source.axis_stride, tile_.target.axis_stride};
}

template <class S, class In, class Out>
void HostKronecker<S, In, Out>::choose_tiles(int threads) {
  const std::int64_t points = std::max<std::int64_t>(tile_.pass.largest, 1);
  const std::int64_t wanted = tile_bytes / static_cast<std::int64_t>(sizeof(C));
  groups_ = tile_.column_count * tile_.pass.outer * tile_.pass.inner / across_.extent;
  across_step_ = std::min(across_.extent, std::max(full_lines, whole_lines(wanted / points)));
  across_tiles_ = ceil_div(across_.extent, across_step_);
  if (batched_) {
    group_step_ = 1;
  } else {
    // Some tiles for each thread, if they are worth the while.
    const std::int64_t fair = std::max(ceil_div(groups_ * across_tiles_, std::int64_t{4} * threads),
                                       least_tile_points / (points * across_step_));
    group_step_ = std::min(whole_lines(std::min(wanted / (points * across_step_), fair)), groups_);
  }
  group_tiles_ = ceil_div(groups_, group_step_);
}

template <class S, class In, class Out>
auto HostKronecker<S, In, Out>::make_product(std::int64_t batch, std::int64_t width) const
    -> simd::TileProduct<R> {
  const detail::KroneckerPass& pass = tile_.pass;
  simd::TileProduct<R> product;
  product.count = pass.count;
  product.complex = complex;
  product.width = width;
  std::copy_n(pass.order, pass.count, product.order);
  const auto data = [&](int f) {
    return static_cast<const S*>(tile_.factors[f].data) + batch * tile_.factors[f].batch_stride;
  };
  const auto in_order = [&](int f) {
    const detail::AppliedFactor& factor = tile_.factors[f];
    return std::is_same_v<S, R> && factor.column_stride == 1 && factor.row_stride == factor.columns;
  };
  const auto entries = [&](int f) { return tile_.factors[f].rows * tile_.factors[f].columns * planes; };
  const int last = pass.count - 1;
  std::int64_t total = width == 1 ? entries(last) : 0;
  for (int f = 0; f < pass.count; ++f) total += in_order(f) ? 0 : entries(f);
  R* memory =
      static_cast<R*>(thread_scratch(static_cast<std::size_t>(total) * sizeof(R), ScratchUse::factors));
  const auto copied = [&](int f, bool columns_first) {
    R* const copy = memory;
    copy_entries(tile_.factors[f], data(f), columns_first, copy);
    memory += entries(f);
    return copy;
  };
  const R* last_columns = width == 1 ? copied(last, true) : nullptr;
  for (int f = 0; f < pass.count; ++f) {
    const detail::AppliedFactor& factor = tile_.factors[f];
    const R* values = nullptr;
    if constexpr (std::is_same_v<S, R>) {
      if (in_order(f)) values = data(f);
    }
    if (values == nullptr) values = copied(f, false);
    product.factors[f] = {factor.rows, factor.columns, values, f == last ? last_columns : nullptr};
  }
  return product;
}

template <class S, class In, class Out>
auto HostKronecker<S, In, Out>::stretch_at(std::int64_t group, std::int64_t first_across) const -> Stretch {
  const detail::KroneckerPass& pass = tile_.pass;
  const TileEnd& source = tile_.source;
  const TileEnd& target = tile_.target;
  const bool columns_across = across_.index == Across::Index::column;
  const std::int64_t inner_extent = across_.index == Across::Index::inner ? 1 : pass.inner;
  const std::int64_t inner = group % inner_extent;
  const std::int64_t outer = group / inner_extent % pass.outer;
  const std::int64_t column = group / inner_extent / pass.outer * (columns_across ? across_.extent : 1);
  const Offset offset = tile_.fold.outer_offset(tile_.first_column + column);
  Stretch stretch{};
  stretch.batch = offset.position;
  stretch.from = source.buffer_points > 0 ? column * source.buffer_points : offset.x;
  stretch.to = target.buffer_points > 0 ? column * target.buffer_points : offset.y;
  stretch.from +=
      (outer * pass.source * pass.inner + inner) * source.axis_stride + first_across * across_.from_stride;
  stretch.to +=
      (outer * pass.target * pass.inner + inner) * target.axis_stride + first_across * across_.to_stride;
  // The fastest index of the groups gives the steps.
  if (inner_extent > 1) {
    stretch.from_step = source.axis_stride;
    stretch.to_step = target.axis_stride;
    stretch.count = inner_extent - inner;
  } else if (pass.outer > 1) {
    stretch.from_step = pass.source * pass.inner * source.axis_stride;
    stretch.to_step = pass.target * pass.inner * target.axis_stride;
    stretch.count = pass.outer - outer;
  } else {
    stretch.count = 1;
    const int rank = tile_.fold.outer_rank - (columns_across ? 1 : 0);
    if (rank > 0) {
      const Dimension& fastest = tile_.fold.outer[rank - 1];
      const std::int64_t columns = columns_across ? across_.extent : 1;
      const std::int64_t number = (tile_.first_column + column) / columns;
      stretch.from_step = source.buffer_points > 0 ? columns * source.buffer_points : fastest.x_stride;
      stretch.to_step = target.buffer_points > 0 ? columns * target.buffer_points : fastest.y_stride;
      stretch.count = fastest.extent - number % fastest.extent;
    }
  }
  return stretch;
}

template <class S, class In, class Out>
auto HostKronecker<S, In, Out>::shape(const TileEnd& end, std::int64_t points, std::int64_t across_stride,
                                      std::int64_t width) const -> Shape {
  return {points, tile_.pass.inner * end.axis_stride, width, across_stride};
}

template <class S, class In, class Out>
void HostKronecker<S, In, Out>::run(std::int64_t tile) const {
  const std::int64_t first_across = tile % across_tiles_ * across_step_;
  const std::int64_t width = std::min(across_step_, across_.extent - first_across);
  if (batched_) {
    const std::int64_t first_group = tile / across_tiles_ * group_step_;
    const simd::TileProduct<R> own = make_product(stretch_at(first_group, first_across).batch, width);
    run_product(tile, own);
  } else if (width != across_step_) {
    simd::TileProduct<R> narrow = product_;
    narrow.width = width;
    run_product(tile, narrow);
  } else {
    run_product(tile, product_);
  }
}

template <class S, class In, class Out>
void HostKronecker<S, In, Out>::run_product(std::int64_t tile, const simd::TileProduct<R>& product) const {
  const std::int64_t first_across = tile % across_tiles_ * across_step_;
  const std::int64_t first_group = tile / across_tiles_ * group_step_;
  const std::int64_t width = std::min(across_step_, across_.extent - first_across);
  const std::int64_t groups = std::min(group_step_, groups_ - first_group);
  const simd::TilePlan& plan = width == across_step_ ? plan_ : last_plan_;
  const Stretch start = stretch_at(first_group, first_across);

  const Shape source = shape(tile_.source, tile_.pass.source, across_.from_stride, width);
  const Shape target = shape(tile_.target, tile_.pass.target, across_.to_stride, width);
  const std::int64_t line = source.points * width;
  const std::int64_t result = target.points * width;
  const auto* in = static_cast<const In*>(tile_.source.data);
  auto* out = static_cast<Out*>(tile_.target.data);
  const auto scale = static_cast<R>(tile_.scale);

  // Lines that lie as in a tile are read and written where they are.
  const auto lies_dense = [&](const Shape& end, std::int64_t step) {
    return end.point_stride == width && (width == 1 || end.across_stride == 1) && start.count >= groups &&
           (groups == 1 || step == end.points * width);
  };
  const bool reads_there = std::is_same_v<In, R> && lies_dense(source, start.from_step) &&
                           !(tile_.source.data == tile_.target.data && plan.count == 1);
  const bool writes_there = std::is_same_v<Out, R> && scale == R{1} && lies_dense(target, start.to_step);

  const std::int64_t copied = reads_there ? 0 : groups * line;
  const std::int64_t made = writes_there ? 0 : groups * result;
  const auto aligned = [](std::int64_t count) { return (count + full_lines - 1) / full_lines * full_lines; };
  R* scratch =
      static_cast<R*>(thread_scratch((static_cast<std::size_t>(planes * (aligned(copied) + aligned(made))) +
                                      simd::tile_scratch_elements(product, plan, groups)) *
                                     sizeof(R)));
  R* const values = scratch;
  R* const results = values + planes * aligned(copied);
  R* const rest = results + planes * aligned(made);

  const auto for_each_stretch = [&](const auto& body) {
    Stretch stretch = start;
    for (std::int64_t done = 0; done < groups;) {
      const std::int64_t count = std::min(stretch.count, groups - done);
      body(stretch, done, count);
      done += count;
      if (done < groups) stretch = stretch_at(first_group + done, first_across);
    }
  };
  if (!reads_there) {
    for_each_stretch([&](const Stretch& stretch, std::int64_t done, std::int64_t count) {
      for_each_run(source, count, stretch.from_step,
                   [&](std::int64_t at, std::int64_t stride, std::int64_t place, std::int64_t step,
                       std::int64_t elements) {
                     copy_in(in + stretch.from + at, stride, elements, values + done * line + place, step,
                             aligned(copied));
                   });
    });
  }
  const R* from = values;
  R* to = results;
  if constexpr (std::is_same_v<In, R>) {
    if (reads_there) from = in + start.from;
  }
  if constexpr (std::is_same_v<Out, R>) {
    if (writes_there) to = out + start.to;
  }
  simd::run_tile(product, plan, groups, from, aligned(copied), to, aligned(made), rest);
  if (!writes_there) {
    for_each_stretch([&](const Stretch& stretch, std::int64_t done, std::int64_t count) {
      for_each_run(target, count, stretch.to_step,
                   [&](std::int64_t at, std::int64_t stride, std::int64_t place, std::int64_t step,
                       std::int64_t elements) {
                     copy_out(results + done * result + place, step, aligned(made), elements, scale,
                              out + stretch.to + at, stride);
                   });
    });
  }
}

template class HostKronecker<float, float, float>;
template class HostKronecker<double, double, double>;
template class HostKronecker<half, half, half>;
template class HostKronecker<half, half, float>;
template class HostKronecker<half, float, half>;
template class HostKronecker<half, float, float>;
template class HostKronecker<bfloat16, bfloat16, bfloat16>;
template class HostKronecker<bfloat16, bfloat16, float>;
template class HostKronecker<bfloat16, float, bfloat16>;
template class HostKronecker<bfloat16, float, float>;
template class HostKronecker<Kokkos::complex<float>, Kokkos::complex<float>, Kokkos::complex<float>>;
template class HostKronecker<Kokkos::complex<double>, Kokkos::complex<double>, Kokkos::complex<double>>;

}  // namespace papillon::generic
