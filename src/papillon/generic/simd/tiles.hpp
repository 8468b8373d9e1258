// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/simd/types.hpp"

namespace papillon::simd {

/// Columns that hadamard_columns works on at a time. Where intermediate values are kept in y, the rows of a
/// chunk are long: DRAM and address translation want KiBs at each visit. In scratch they are as long as the
/// L2 cache allows. (Measured on Zen 5, 1 MiB of L2.)
template <class T>
constexpr std::int64_t chunk_columns(int log2_n) {
  const std::int64_t bytes =
      T::out_is_c ? std::clamp((std::int64_t{512} << 10) >> log2_n, std::int64_t{4096}, std::int64_t{16384})
                  : std::clamp((std::int64_t{256} << 10) >> log2_n, cache_line_bytes, std::int64_t{512});
  return bytes / static_cast<std::int64_t>(sizeof(typename T::C));
}

/// Elements of scratch in which hadamard_columns keeps intermediate values; the same on every target.
template <class T>
constexpr std::int64_t columns_scratch(int log2_n) {
  return T::out_is_c ? 0 : chunk_columns<T>(log2_n) << log2_n;
}

/// Columns that signed_matrix_columns gathers at a time.
template <class C>
inline constexpr std::int64_t matrix_tile_columns = 256 / static_cast<std::int64_t>(sizeof(C));

}  // namespace papillon::simd
