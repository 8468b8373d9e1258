// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/mode_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::detail {

void check_mode_arrays(std::string_view operator_name, const ConstTensorDescriptor& x,
                       const ConstTensorDescriptor& y, double scale, std::string_view y_name) {
  check_tensor(operator_name, x, "x");
  check_tensor(operator_name, y, y_name);
  if (x.type != y.type) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type), " but ", y_name, " holds ",
                           name_of(y.type));
  }
  if (is_integer(x.type)) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type),
                           "; products of real and complex numbers are offered");
  }
  if (x.rank != y.rank) {
    throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but ", y_name, " has shape ",
                           to_text(y.shape()));
  }
  if (!std::isfinite(scale)) throw_invalid_argument(operator_name, "scale = ", scale, " is not finite");
}

ModeAxes checked_mode_axes(std::string_view operator_name, const ConstTensorDescriptor& x, int axis,
                           std::optional<int> batch_axis) {
  ModeAxes axes;
  axes.axis = static_cast<std::size_t>(checked_axis(operator_name, axis, "axis", x));
  if (!batch_axis) return axes;
  axes.batch_axis = static_cast<std::size_t>(checked_axis(operator_name, *batch_axis, "batch_axis", x));
  if (axes.batch_axis == axes.axis) {
    throw_invalid_argument(operator_name, "batch_axis = ", *batch_axis, " and axis = ", axis,
                           " are one axis of shape ", to_text(x.shape()));
  }
  axes.batches = x.extents[axes.batch_axis];
  return axes;
}

void check_apart(std::string_view operator_name, std::string_view name, const ConstTensorDescriptor& array,
                 std::string_view written_name, const ConstTensorDescriptor& written) {
  if (overlap(array, written) != Overlap::none) {
    throw_invalid_argument(operator_name, name, " at ", array.data, " and ", written_name, " at ",
                           written.data, " overlap");
  }
}

void check_factor_read(std::string_view operator_name, std::string_view name,
                       const ConstTensorDescriptor& factor, const ConstTensorDescriptor& x,
                       const ModeAxes& axes) {
  if (factor.type != x.type) {
    throw_invalid_argument(operator_name, name, " holds ", name_of(factor.type), " but x holds ",
                           name_of(x.type));
  }
  if (factor.strides[0] != 0 && !axes.has_batch()) {
    throw_invalid_argument(operator_name, name, " has the batch stride ", factor.strides[0],
                           " but no batch_axis is given");
  }
  check_tensor(operator_name, factor, name);
}

void check_factor_array(std::string_view operator_name, std::string_view name,
                        const ConstTensorDescriptor& factor, const ConstTensorDescriptor& x,
                        const TensorDescriptor& y, const ModeAxes& axes) {
  check_factor_read(operator_name, name, factor, x, axes);
  check_apart(operator_name, name, factor, "y", y);
}

void set_mode_shapes(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const ConstTensorDescriptor& y, std::string_view y_name, const ModeAxes& axes,
                     ModeProduct& product) {
  product.scalar = x.type;
  product.x = x.data;
  product.x_length = x.extents[axes.axis];
  product.y_length = y.extents[axes.axis];
  product.fold.axis = {1, x.strides[axes.axis], y.strides[axes.axis]};
  product.empty = product.y_length == 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(x.rank); ++d) {
    if (d == axes.axis) continue;
    if (x.extents[d] != y.extents[d]) {
      throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but ", y_name,
                             " has shape ", to_text(y.shape()), ": axis ", d,
                             " is not the transformed one and must agree");
    }
    product.empty = product.empty || x.extents[d] == 0;
    product.fold.add_outer({x.extents[d], x.strides[d], y.strides[d], d == axes.batch_axis ? 1 : 0});
  }
}

void set_mode_result(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const TensorDescriptor& y, ModeProduct& product) {
  product.y = y.data;
  if (product.empty) return;
  // Neighbouring columns are neighbours in memory, whatever the order of the indices.
  std::stable_sort(
      product.fold.outer, product.fold.outer + product.fold.outer_rank,
      [](const Dimension& a, const Dimension& b) { return std::llabs(a.x_stride) > std::llabs(b.x_stride); });
  check_not_repeating(operator_name, y);
  // Of one shape x and y may be one array: a tile is read before it is written.
  if (overlap(x, y) == Overlap::partial) {
    throw_invalid_argument(operator_name, "x at ", x.data, " of shape ", to_text(x.shape()), " and y at ",
                           y.data, " of shape ", to_text(y.shape()),
                           " overlap without being the same array (same pointer, extents and strides)");
  }
}

void set_mode_arrays(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const TensorDescriptor& y, const ModeAxes& axes, ModeProduct& product) {
  set_mode_shapes(operator_name, x, y, "y", axes, product);
  set_mode_result(operator_name, x, y, product);
}

}  // namespace papillon::detail
