// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "papillon/core/macros.hpp"

/// Sums and products that the generic kernels form: plain for floating point, wrapping for integers, whose
/// signed arithmetic in C++ is undefined beyond their range.
namespace papillon::detail {

template <class C>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<C>, std::make_unsigned<C>, std::type_identity<C>>::type;

template <class C>
PAPILLON_FUNCTION constexpr C sum(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) + static_cast<Wrapping<C>>(b));
}

template <class C>
PAPILLON_FUNCTION constexpr C difference(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) - static_cast<Wrapping<C>>(b));
}

template <class C>
PAPILLON_FUNCTION constexpr C product(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) * static_cast<Wrapping<C>>(b));
}

template <class C>
PAPILLON_FUNCTION constexpr C negated(C a) {
  if constexpr (std::is_integral_v<C>) {
    return difference(C{0}, a);
  } else {
    return -a;  // not 0 - a, which is +0 for +0
  }
}

}  // namespace papillon::detail
