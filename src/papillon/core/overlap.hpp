// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "papillon/core/tensor.hpp"

namespace papillon::detail {

/// How the elements of two arrays of one scalar type lie in memory.
enum class Overlap {
  none,     ///< no byte in common
  same,     ///< same pointer, extents and strides: an in-place call
  partial,  ///< some byte in common, or not decided within the search budget
};

/// Decides by address ranges first and, where these meet, by an exact bounded search for two index tuples
/// with the same address (the method of NumPy's `shares_memory`), so that two interleaved subviews of one
/// array, the even and the odd columns say, count as disjoint.
Overlap overlap(const ConstTensorDescriptor& x, const ConstTensorDescriptor& y);

/// Whether two different index tuples of `tensor` name the same element (a stride of 0, say).
bool overlaps_itself(const ConstTensorDescriptor& tensor);

}  // namespace papillon::detail
