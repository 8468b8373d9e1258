// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>

#include "emulator.hpp"
#include "papillon/core/small_float.hpp"

namespace papillon::cuda::ptx {

inline float max_or_nan(float a, float b) {
  if (a != a) return a;
  return b != b || b > a ? b : a;
}
inline int least(int a, int b, int c) { return std::min({a, b, c}); }
inline float fma_towards_zero(float a, float b, float c) {
  // The sum of a float and the product of two is exact in long double for what kernels add.
  const long double exact = static_cast<long double>(a) * b + c;
  auto rounded = static_cast<float>(exact);
  if (std::abs(static_cast<long double>(rounded)) > std::abs(exact)) rounded = std::nextafter(rounded, 0.0f);
  return rounded;
}
inline std::uint32_t to_pair(papillon::detail::ElementFormat format, float low, float high) {
  return papillon::detail::encode_element(format, low) |
         static_cast<std::uint32_t>(papillon::detail::encode_element(format, high)) << 8;
}
inline std::uint32_t to_e4m3(float low, float high) {
  return to_pair(papillon::detail::ElementFormat::e4m3, low, high);
}
inline std::uint32_t to_e5m2(float low, float high) {
  return to_pair(papillon::detail::ElementFormat::e5m2, low, high);
}

}  // namespace papillon::cuda::ptx
