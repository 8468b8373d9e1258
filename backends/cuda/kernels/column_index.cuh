// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// The offsets of column `index` of `columns`, those of all outer indices being numbered in a row.
__device__ __forceinline__ Offset column_offsets(const detail::Pass& pass, std::int64_t index,
                                                 std::int64_t columns) {
  const std::int64_t inner = pass.fold.inner.extent;
  std::int64_t outer = 0;
  if (columns <= 0xffffffff) {  // a 64-bit division is a hundred instructions
    outer = static_cast<std::uint32_t>(index) / static_cast<std::uint32_t>(inner);
  } else {
    outer = index / inner;
  }
  const Offset offset = pass.fold.outer_offset(outer);
  return {offset.x + index - outer * inner, offset.y + index - outer * inner};
}

}  // namespace papillon::cuda
