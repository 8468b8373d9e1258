// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

namespace papillon::generic {

/// The first term of a sum of products, and the sum with one more: each product is fused with the addition. A
/// complex one takes the real part of `a` first, then the imaginary one.
template <class R>
KOKKOS_INLINE_FUNCTION R product(R a, R x) {
  return a * x;
}
template <class R>
KOKKOS_INLINE_FUNCTION R add_product(R a, R x, R sum) {
  return Kokkos::fma(a, x, sum);
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> add_imaginary(R a, const Kokkos::complex<R>& x, R real,
                                                        R imaginary) {
  return {Kokkos::fma(-a, x.imag(), real), Kokkos::fma(a, x.real(), imaginary)};
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> product(const Kokkos::complex<R>& a, const Kokkos::complex<R>& x) {
  return add_imaginary(a.imag(), x, a.real() * x.real(), a.real() * x.imag());
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> add_product(const Kokkos::complex<R>& a,
                                                      const Kokkos::complex<R>& x,
                                                      const Kokkos::complex<R>& sum) {
  return add_imaginary(a.imag(), x, Kokkos::fma(a.real(), x.real(), sum.real()),
                       Kokkos::fma(a.real(), x.imag(), sum.imag()));
}

}  // namespace papillon::generic
