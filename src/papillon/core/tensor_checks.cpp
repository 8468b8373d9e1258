// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/tensor_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"

namespace papillon::detail {

void check_tensor(std::string_view operator_name, const ConstTensorDescriptor& tensor,
                  std::string_view name) {
  if (std::find(all_scalar_types.begin(), all_scalar_types.end(), tensor.type) == all_scalar_types.end()) {
    throw_invalid_argument(operator_name, name, " has the unknown scalar type ",
                           static_cast<int>(tensor.type));
  }
  if (tensor.rank < 1 || tensor.rank > max_rank) {
    throw_invalid_argument(operator_name, name, " has rank ", tensor.rank, "; ranks 1 to ", max_rank,
                           " are taken");
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape()) {
    if (extent < 0)
      throw_invalid_argument(operator_name, name, " has a negative extent: ", to_text(tensor.shape()));
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw_invalid_argument(operator_name, name, " has more than 2^63 elements: ", to_text(tensor.shape()));
    }
  }
  if (count == 0) return;
  if (tensor.data == nullptr) {
    throw_invalid_argument(operator_name, name, " of shape ", to_text(tensor.shape()), " has a null pointer");
  }
  const std::size_t alignment = size_of(real_of(tensor.type));
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % alignment != 0) {
    throw_invalid_argument(operator_name, name, " at ", tensor.data, " is not aligned to its scalar, ",
                           name_of(tensor.type));
  }
  __int128 reach = 0;  // no address may leave 64 bits
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    reach += static_cast<__int128>(std::llabs(tensor.strides[i])) * (tensor.extents[i] - 1);
  }
  if (reach > std::numeric_limits<std::int64_t>::max() / 32) {
    throw_invalid_argument(operator_name, name, " has strides ",
                           to_text(std::span(tensor.strides.data(), static_cast<std::size_t>(tensor.rank))),
                           " that reach beyond the address space");
  }
}

int checked_axis(std::string_view operator_name, int axis, std::string_view name,
                 const ConstTensorDescriptor& x) {
  if (axis < -x.rank || axis >= x.rank) {
    throw_invalid_argument(operator_name, name, " = ", axis, " is outside -", x.rank, " … ", x.rank - 1,
                           " for shape ", to_text(x.shape()));
  }
  return axis < 0 ? axis + x.rank : axis;
}

void check_not_repeating(std::string_view operator_name, const ConstTensorDescriptor& y,
                         std::string_view name) {
  if (overlaps_itself(y)) {
    throw_invalid_argument(operator_name, name, " of shape ", to_text(y.shape()), " and strides ",
                           to_text(std::span(y.strides.data(), static_cast<std::size_t>(y.rank))),
                           " has several indices for one element");
  }
}

void* given_workspace(std::string_view operator_name, const Workspace& workspace, std::size_t bytes) {
  if (bytes == 0 || workspace.data == nullptr) return nullptr;
  if (workspace.bytes < bytes) {
    throw_invalid_argument(operator_name, "workspace has ", workspace.bytes, " bytes but ", bytes,
                           " are needed");
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data) % 16 != 0) {
    throw_invalid_argument(operator_name, "workspace at ", workspace.data, " is not aligned to 16 bytes");
  }
  return workspace.data;
}

}  // namespace papillon::detail
