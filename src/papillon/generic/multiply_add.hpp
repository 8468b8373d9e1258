// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_MathematicalFunctions.hpp>

namespace papillon::generic {

/// sum + a · b, rounded once.
template <class R>
KOKKOS_FUNCTION R multiply_add(R a, R b, R sum) {
  return Kokkos::fma(a, b, sum);
}

/// sum + a · b: each part is a sum of two products, the one with the real part of a first, each rounded once.
template <class R>
KOKKOS_FUNCTION Kokkos::complex<R> multiply_add(const Kokkos::complex<R>& a, const Kokkos::complex<R>& b,
                                                const Kokkos::complex<R>& sum) {
  return {Kokkos::fma(-a.imag(), b.imag(), Kokkos::fma(a.real(), b.real(), sum.real())),
          Kokkos::fma(a.imag(), b.real(), Kokkos::fma(a.real(), b.imag(), sum.imag()))};
}

/// a · b, with which such sums start.
template <class R>
KOKKOS_FUNCTION R first_product(R a, R b) {
  return a * b;
}
template <class R>
KOKKOS_FUNCTION Kokkos::complex<R> first_product(const Kokkos::complex<R>& a, const Kokkos::complex<R>& b) {
  return {Kokkos::fma(-a.imag(), b.imag(), a.real() * b.real()),
          Kokkos::fma(a.imag(), b.real(), a.real() * b.imag())};
}

}  // namespace papillon::generic
