// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "papillon/core/scalar.hpp"

namespace papillon::simd {

/// The element types of one kernel: it reads In, computes in C and writes Out.
template <class I, class O>
struct Types {
  using In = I;
  using Out = O;
  using C = compute_type<I>;
  /// Intermediate values can live in the output only if nothing is lost there.
  static constexpr bool out_is_c = sizeof(O) == sizeof(C);
};

inline constexpr std::int64_t cache_line_bytes = 64;

/// The first address at or after `p` that starts a cache line, as kernels align their scratch.
template <class C>
C* align_up(C* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  const auto missing = (std::uintptr_t{0} - address) & std::uintptr_t{cache_line_bytes - 1};
  return p + (missing + sizeof(C) - 1) / sizeof(C);
}

/// Elements of scratch to ask for when `count` aligned ones are needed.
template <class C>
constexpr std::size_t with_alignment(std::int64_t count) {
  return count == 0
             ? 0
             : static_cast<std::size_t>(count + cache_line_bytes / static_cast<std::int64_t>(sizeof(C)));
}

}  // namespace papillon::simd

/// Before a loop over an array of registers, which must be unrolled wholly for the array to stay in
/// registers.
#define PAPILLON_UNROLL _Pragma("GCC unroll 16")
