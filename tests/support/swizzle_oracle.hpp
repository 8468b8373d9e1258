// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon_test::oracle {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Bytes of a swizzled array of `rows` x `columns` one-byte scales: whole tiles of 128 x 4.
constexpr std::int64_t swizzled_bytes(std::int64_t rows, std::int64_t columns) {
  return ceil_div(rows, 128) * 128 * (ceil_div(columns, 4) * 4);
}

/// Where scale (r, c) of an array with `columns` scale columns lies in the layout of block-scaled matrix
/// products (cuBLASLt: 1D block scaling factors layout).
constexpr std::int64_t swizzled_offset(std::int64_t r, std::int64_t c, std::int64_t columns) {
  return ((r / 128) * ceil_div(columns, 4) + c / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 + c % 4;
}

}  // namespace papillon_test::oracle
