// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "papillon/core/fold.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/workspace.hpp"

namespace papillon::detail {

/// A checked call of an operator that multiplies the vectors along one axis by a matrix, in general a
/// rectangular one: y[…, :, …] = scale · M x[…, :, …].
struct ModeProduct {
  ScalarType scalar = ScalarType::float32;
  const void* x = nullptr;
  void* y = nullptr;
  double scale = 1.0;
  std::int64_t x_length = 1;  ///< of the axis
  std::int64_t y_length = 1;
  /// Every index but the axis is an outer one, in the order in which tiles take them, the batch's with a
  /// position step of 1. Of the axis, whose lengths differ, there are the strides alone.
  Fold fold;
  Workspace workspace = {};
  bool empty = false;  ///< y has no elements
};

/// The axes of a call, counted from the first.
struct ModeAxes {
  std::size_t axis = 0;
  std::size_t batch_axis = std::size_t{max_rank};  ///< or this, beyond every axis: none
  std::int64_t batches = 1;

  bool has_batch() const { return batch_axis < std::size_t{max_rank}; }
};

// Each check throws std::invalid_argument that names the operator, the argument and its value.

/// x and y, which `y_name` names in messages, hold one real or complex scalar and have one rank, and `scale`
/// is finite.
void check_mode_arrays(std::string_view operator_name, const ConstTensorDescriptor& x,
                       const ConstTensorDescriptor& y, double scale, std::string_view y_name = "y");

/// The axes exist and differ.
ModeAxes checked_mode_axes(std::string_view operator_name, const ConstTensorDescriptor& x, int axis,
                           std::optional<int> batch_axis);

/// Two arrays have no element in common, the second being written.
void check_apart(std::string_view operator_name, std::string_view name, const ConstTensorDescriptor& array,
                 std::string_view written_name, const ConstTensorDescriptor& written);

/// A factor as an array, whose first index is the batch's: it holds the scalar of x, and has a batch stride
/// only where there is a batch axis.
void check_factor_read(std::string_view operator_name, std::string_view name,
                       const ConstTensorDescriptor& factor, const ConstTensorDescriptor& x,
                       const ModeAxes& axes);

/// The same, and it has no element in common with y.
void check_factor_array(std::string_view operator_name, std::string_view name,
                        const ConstTensorDescriptor& factor, const ConstTensorDescriptor& x,
                        const TensorDescriptor& y, const ModeAxes& axes);

/// Of the product of x and y, whose extents beside the axis must agree, everything but the address of y,
/// which may be an array that is read only; its fold has the indices in the caller's order.
void set_mode_shapes(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const ConstTensorDescriptor& y, std::string_view y_name, const ModeAxes& axes,
                     ModeProduct& product);

/// And that address: y may be x, overlaps no other way, and has one index for each element.
void set_mode_result(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const TensorDescriptor& y, ModeProduct& product);

/// Both.
void set_mode_arrays(std::string_view operator_name, const ConstTensorDescriptor& x,
                     const TensorDescriptor& y, const ModeAxes& axes, ModeProduct& product);

}  // namespace papillon::detail
