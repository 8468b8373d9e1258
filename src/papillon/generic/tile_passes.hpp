// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "papillon/core/mode_product.hpp"
#include "papillon/core/tile.hpp"
#include "papillon/generic/team_tile.hpp"

namespace papillon::generic {

/// visit(std::type_identity<S>{}) for the scalar of a product, complex ones as Kokkos has them.
template <class Visit>
void visit_product_scalar(ScalarType scalar, const Visit& visit) {
  switch (scalar) {
    case ScalarType::float32:
      return visit(std::type_identity<float>{});
    case ScalarType::float64:
      return visit(std::type_identity<double>{});
    case ScalarType::float16:
      return visit(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return visit(std::type_identity<bfloat16>{});
    case ScalarType::complex64:
      return visit(std::type_identity<Kokkos::complex<float>>{});
    case ScalarType::complex128:
      return visit(std::type_identity<Kokkos::complex<double>>{});
    case ScalarType::int32:
    case ScalarType::int64:
      break;  // refused
  }
}

/// Where a pass stands among those of a call, and the columns that it is run for.
struct PassPlace {
  std::size_t index = 0;
  std::size_t count = 1;
  std::int64_t first_column = 0;
  std::int64_t column_count = 0;

  bool reads_array() const { return index == 0; }
  bool writes_array() const { return index + 1 == count; }
};

/// run(place) for every pass of every group of columns that the buffers take.
template <class Run>
void for_each_pass(const detail::ModeProduct& product, std::size_t passes, const detail::TileBuffers& buffers,
                   const Run& run) {
  const std::int64_t columns = product.fold.outer_count();
  const std::int64_t step = passes > 1 ? buffers.columns : columns;
  for (std::int64_t first = 0; first < columns; first += step)
    for (std::size_t p = 0; p < passes; ++p)
      run(PassPlace{p, passes, first, std::min(step, columns - first)});
}

/// Sets what a pass reads and writes: the arrays at both ends of the call, buffers between.
template <class S>
void connect(TilePass& tile, const detail::TileShape& shape, const detail::ModeProduct& product,
             const PassPlace& place, const detail::TileBuffers& buffers, void* workspace) {
  const auto buffer = [&](std::size_t number) {
    const std::int64_t offset = number % 2 == 0 || buffers.count < 2 ? 0 : buffers.columns * buffers.points;
    return TileEnd{static_cast<sum_type<S>*>(workspace) + offset, 1, buffers.points};
  };
  tile.shape = shape;
  tile.fold = product.fold;
  tile.first_column = place.first_column;
  tile.column_count = place.column_count;
  tile.source = place.reads_array() ? TileEnd{const_cast<void*>(product.x), product.fold.axis.x_stride, 0}
                                    : buffer(place.index - 1);
  tile.target =
      place.writes_array() ? TileEnd{product.y, product.fold.axis.y_stride, 0} : buffer(place.index);
  tile.scale = place.writes_array() ? product.scale : 1.0;
}

/// visit(std::type_identity<In>{}, std::type_identity<Out>{}) for what a pass reads and writes: elements of
/// the arrays at the ends of the call, sums between.
template <class S, class Visit>
void visit_pass_elements(const PassPlace& place, const Visit& visit) {
  constexpr std::type_identity<S> element;
  constexpr std::type_identity<sum_type<S>> sum;
  if (place.reads_array() && place.writes_array()) visit(element, element);
  if (place.reads_array() && !place.writes_array()) visit(element, sum);
  if (!place.reads_array() && place.writes_array()) visit(sum, element);
  if (!place.reads_array() && !place.writes_array()) visit(sum, sum);
}

}  // namespace papillon::generic
