// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic.cuh"
#include "kronecker.hpp"

namespace papillon::cuda {

/// What sums of a stored type are formed in.
template <class S>
struct SumType {
  using type = compute_type<S>;
};
template <class R>
struct SumType<ComplexValue<R>> {
  using type = ComplexValue<R>;
};
template <class S>
using sum_type = typename SumType<S>::type;

/// Values of a 16-byte word.
template <class C>
inline constexpr int word_values = static_cast<int>(16 / sizeof(C));
template <class C>
struct alignas(16) Word {
  C values[static_cast<std::size_t>(word_values<C>)];
};

// sum + a * x. Real: one rounding. Complex: its four products in this order.
__device__ __forceinline__ float multiply_add(float a, float x, float sum) { return __fmaf_rn(a, x, sum); }
__device__ __forceinline__ double multiply_add(double a, double x, double sum) { return __fma_rn(a, x, sum); }
template <class R>
__device__ __forceinline__ ComplexValue<R> multiply_add(const ComplexValue<R>& a, const ComplexValue<R>& x,
                                                        const ComplexValue<R>& sum) {
  return {multiply_add(-a.im, x.im, multiply_add(a.re, x.re, sum.re)),
          multiply_add(a.im, x.re, multiply_add(a.re, x.im, sum.im))};
}

/// What a sum starts from: -0, to which adding a product gives the product, its sign included.
template <class C>
struct SumStart {
  static __device__ __forceinline__ C value() { return static_cast<C>(-0.0); }
};
template <class R>
struct SumStart<ComplexValue<R>> {
  static __device__ __forceinline__ ComplexValue<R> value() {
    return {static_cast<R>(-0.0), static_cast<R>(-0.0)};
  }
};

__device__ __forceinline__ float scaled(float value, double scale) {
  return value * static_cast<float>(scale);
}
__device__ __forceinline__ double scaled(double value, double scale) { return value * scale; }
template <class R>
__device__ __forceinline__ ComplexValue<R> scaled(const ComplexValue<R>& value, double scale) {
  return {scaled(value.re, scale), scaled(value.im, scale)};
}

template <class C, class S>
__device__ __forceinline__ C to_sum(const S& value) {
  if constexpr (std::is_same_v<C, S>) {
    return value;
  } else {
    return load_converted(value);
  }
}
template <class S, class C>
__device__ __forceinline__ S to_storage(const C& value) {
  if constexpr (std::is_same_v<C, S>) {
    return value;
  } else {
    return rounded<S>(value);
  }
}

template <class C>
__device__ __forceinline__ C conjugate_if(const C& value, bool conjugate) {
  if constexpr (std::is_same_v<C, ComplexValue<float>> || std::is_same_v<C, ComplexValue<double>>) {
    if (conjugate) return {value.re, -value.im};
  }
  return value;
}

__device__ __forceinline__ std::uint32_t quotient(std::uint32_t n, const Divisor& divisor) {
  return (__umulhi(n, divisor.multiplier) + n) >> divisor.shift;
}

}  // namespace papillon::cuda
