// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/fold.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace papillon {

void Fold::add_outer(const Dimension& dimension) {
  if (dimension.extent == 1) return;
  if (outer_rank == max_outer) throw std::logic_error("papillon: a fold has too many indices");
  outer[outer_rank] = dimension;
  ++outer_rank;
}

void Fold::normalize() {
  if (inner.extent != 1) {
    const Dimension moved = inner;
    inner = Dimension{};
    add_outer(moved);
  }
  Dimension* const begin = outer;
  // By the stride in y, since writes decide; by that in x where y does not tell.
  std::stable_sort(begin, begin + outer_rank, [](const Dimension& a, const Dimension& b) {
    const auto ay = std::abs(a.y_stride);
    const auto by = std::abs(b.y_stride);
    return ay != by ? ay > by : std::abs(a.x_stride) > std::abs(b.x_stride);
  });
  int kept = 0;
  for (int d = 0; d < outer_rank; ++d) {
    const Dimension fast = outer[d];
    if (kept > 0) {
      Dimension& slow = outer[kept - 1];
      if (slow.x_stride == fast.extent * fast.x_stride && slow.y_stride == fast.extent * fast.y_stride &&
          slow.position_step == fast.extent * fast.position_step) {
        slow = {slow.extent * fast.extent, fast.x_stride, fast.y_stride, fast.position_step};
        continue;
      }
    }
    outer[kept] = fast;
    ++kept;
  }
  for (int d = kept; d < outer_rank; ++d) outer[d] = Dimension{};
  outer_rank = kept;
  if (outer_rank > 0) {
    const Dimension fastest = outer[outer_rank - 1];
    if (std::abs(fastest.y_stride) < std::abs(axis.y_stride) || axis.extent == 1) {
      inner = fastest;
      --outer_rank;
      outer[outer_rank] = Dimension{};
    }
  }
}

IndexSplit split_indices(const ConstTensorDescriptor& x, const ConstTensorDescriptor& y,
                         std::span<const int> axes, std::int64_t group) {
  const std::int64_t parts = is_complex(x.type) ? 2 : 1;
  const auto dimension = [&](int d) {
    const auto i = static_cast<std::size_t>(d);
    return Dimension{x.extents[i], x.strides[i] * parts, y.strides[i] * parts, 0};
  };
  IndexSplit split;
  std::int64_t points = 1;
  for (std::size_t a = axes.size(); a-- > 0;) {
    Dimension& axis = split.axes.push_back(dimension(axes[a]));
    axis.position_step = points;
    points *= axis.extent;
  }
  for (int d = 0; d < x.rank; ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) split.others.push_back(dimension(d));
  }
  if (group > 0) {
    Dimension& axis = split.axes[0];
    split.others.push_back({axis.extent / group, axis.x_stride * group, axis.y_stride * group, 0});
    axis.extent = group;
  }
  if (parts == 2) split.others.push_back({2, 1, 1, 0});
  return split;
}

Fold fold_around(std::span<const Dimension> axes, std::size_t axis, std::span<const Dimension> others) {
  Fold result;
  result.axis = axes[axis];
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (a != axis) result.add_outer(axes[a]);
  }
  for (const Dimension& other : others) result.add_outer(other);
  result.normalize();
  return result;
}

}  // namespace papillon
