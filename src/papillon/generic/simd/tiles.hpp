// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/simd/types.hpp"

namespace papillon::simd {

/// Elements of the tile in which hadamard_columns keeps its intermediate values; the same on every target.
template <class C>
std::int64_t columns_tile_elements(int log2_n) {
  return preferred_tile_columns(log2_n, sizeof(C)) << log2_n;
}

/// Columns that signed_matrix_columns gathers at a time.
template <class C>
inline constexpr std::int64_t matrix_tile_columns = 256 / static_cast<std::int64_t>(sizeof(C));

}  // namespace papillon::simd
