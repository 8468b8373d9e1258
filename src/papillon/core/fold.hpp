// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <span>

#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/macros.hpp"
#include "papillon/core/tensor.hpp"

namespace papillon {

/// Transformed indices at most: rounding on the way cuts an axis in two.
inline constexpr std::size_t max_axes = 2 * std::size_t{max_rank};

/// One index of a folded problem: how far one step moves in x and in y, in elements, and along the
/// transformed axis (`position_step`; 0 for an index that is not part of it).
struct Dimension {
  std::int64_t extent = 1;
  std::int64_t x_stride = 0;
  std::int64_t y_stride = 0;
  std::int64_t position_step = 0;

  friend constexpr bool operator==(const Dimension&, const Dimension&) = default;
};

/// The pair of offsets, in elements, that an index tuple of the outer dimensions stands for.
struct Offset {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t position = 0;
};

/// A problem seen from one axis: y[o, :, i] = M x[o, :, i].
///
/// `axis` is the transformed index, `inner` the index that varies faster than it (extent 1 if there is none),
/// `outer` all others, slowest first, merged as far as the strides of x and y allow; a dense array has at
/// most one outer index. Scalars here are real: a complex array has its two parts as an inner index of
/// extent 2.
struct Fold {
  // Beside the caller's indices but one: a complex part, a group, and the parts that an axis is cut into by
  // rounding between its halves and by passes (two).
  static constexpr int max_outer = max_rank + 4;

  Dimension axis;
  Dimension inner;
  Dimension outer[max_outer] = {};  // not std::array, whose members nvcc takes for host functions
  int outer_rank = 0;

  PAPILLON_FUNCTION constexpr std::int64_t outer_count() const {
    std::int64_t count = 1;
    for (int d = 0; d < outer_rank; ++d) count *= outer[d].extent;
    return count;
  }

  /// The offsets of the outer index number `index`, 0 <= index < outer_count(), last outer index fastest.
  PAPILLON_FUNCTION constexpr Offset outer_offset(std::int64_t index) const {
    Offset offset;
    for (int d = outer_rank - 1; d >= 0; --d) {
      const Dimension& dimension = outer[d];
      const std::int64_t i = d == 0 ? index : index % dimension.extent;
      index /= dimension.extent;
      offset.x += i * dimension.x_stride;
      offset.y += i * dimension.y_stride;
      offset.position += i * dimension.position_step;
    }
    return offset;
  }

  /// Adds an outer index, to be put in order and merged by normalize(). Throws std::logic_error for more than
  /// max_outer.
  void add_outer(const Dimension& dimension);

  /// Drops indices of extent 1, sorts the rest by stride, merges neighbours that step evenly in both arrays,
  /// and makes the fastest one `inner` when it varies faster than the axis.
  void normalize();

  friend bool operator==(const Fold&, const Fold&) = default;
};

/// The indices of a pair of arrays, apart as an operator sees them. Scalars are real: a complex array has its
/// two parts as one more index of extent 2.
struct IndexSplit {
  detail::FixedVector<Dimension, max_axes> axes;           ///< transformed; the last of the array comes first
  detail::FixedVector<Dimension, Fold::max_outer> others;  ///< slowest first as the caller has them
};

/// Splits the indices of x and y (same shape) by `axes` (ascending, each once). A point's position along the
/// transform counts the last axis fastest. With `group` g > 0, for a single axis, that is taken as n/g
/// independent transforms of length g.
IndexSplit split_indices(const ConstTensorDescriptor& x, const ConstTensorDescriptor& y,
                         std::span<const int> axes, std::int64_t group = 0);

/// The fold around axes[axis]; the other axes are indices like all others.
Fold fold_around(std::span<const Dimension> axes, std::size_t axis, std::span<const Dimension> others);

}  // namespace papillon
