// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

#include "papillon/core/tensor.hpp"
#include "papillon/workspace.hpp"

namespace papillon::detail {

// Checks that every operator makes of its arrays. Each throws std::invalid_argument, which names the
// operator, the argument and its value.

/// A scalar type that exists, a rank from 1 to 8, extents whose product is no more than 2^63, a pointer that
/// is not null and is aligned to the scalar, and strides that stay within the address space.
void check_tensor(std::string_view operator_name, const ConstTensorDescriptor& tensor, std::string_view name);

/// `axis`, negative ones counted from the last, as a number from 0 on.
int checked_axis(std::string_view operator_name, int axis, std::string_view name,
                 const ConstTensorDescriptor& x);

/// No element of y has several indices.
void check_not_repeating(std::string_view operator_name, const ConstTensorDescriptor& y,
                         std::string_view name = "y");

/// The memory that the caller gave, or null where none was given or none is needed. Throws
/// std::invalid_argument when it is smaller than `bytes` or not aligned to 16.
void* given_workspace(std::string_view operator_name, const Workspace& workspace, std::size_t bytes);

}  // namespace papillon::detail
