// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/macros.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon {

/// The `bits` lowest bits of `index` in reverse.
PAPILLON_FUNCTION constexpr std::int64_t reverse_bits(std::int64_t index, int bits) {
  auto v = static_cast<std::uint64_t>(index);
  v = ((v >> 1) & 0x5555555555555555u) | ((v & 0x5555555555555555u) << 1);
  v = ((v >> 2) & 0x3333333333333333u) | ((v & 0x3333333333333333u) << 2);
  v = ((v >> 4) & 0x0f0f0f0f0f0f0f0fu) | ((v & 0x0f0f0f0f0f0f0f0fu) << 4);
  v = ((v >> 8) & 0x00ff00ff00ff00ffu) | ((v & 0x00ff00ff00ff00ffu) << 8);
  v = ((v >> 16) & 0x0000ffff0000ffffu) | ((v & 0x0000ffff0000ffffu) << 16);
  v = (v >> 32) | (v << 32);
  return bits == 0 ? 0 : static_cast<std::int64_t>(v >> (64 - bits));
}

/// The row of the natural-order H_{2^bits} that stands at place `place` of the given order.
PAPILLON_FUNCTION constexpr std::int64_t natural_index(Ordering ordering, std::int64_t place, int bits) {
  if (ordering == Ordering::natural) return place;
  return reverse_bits(ordering == Ordering::sequency ? place ^ (place >> 1) : place, bits);
}

/// The inverse of natural_index: where the natural row `index` stands in the given order.
PAPILLON_FUNCTION constexpr std::int64_t ordered_place(Ordering ordering, std::int64_t index, int bits) {
  if (ordering == Ordering::natural) return index;
  auto place = static_cast<std::uint64_t>(reverse_bits(index, bits));
  if (ordering == Ordering::sequency) {  // undo the Gray code
    for (int shift = 1; shift < 64; shift *= 2) place ^= place >> shift;
  }
  return static_cast<std::int64_t>(place);
}

}  // namespace papillon
