// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

namespace papillon::cuda {

/// The number of 2^bit, or -1.
inline int bit_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value > 0 && std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}

}  // namespace papillon::cuda
