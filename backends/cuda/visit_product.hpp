// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "kronecker.hpp"
#include "papillon/core/scalar.hpp"

namespace papillon::cuda {

/// visit(std::type_identity<S>{}) for the real scalars of products.
template <class Visit>
void visit_real(ScalarType scalar, const Visit& visit) {
  if (scalar == ScalarType::float32) visit(std::type_identity<float>{});
  if (scalar == ScalarType::float64) visit(std::type_identity<double>{});
  if (scalar == ScalarType::float16) visit(std::type_identity<half>{});
  if (scalar == ScalarType::bfloat16) visit(std::type_identity<bfloat16>{});
}

/// visit(In, Out, S), each a std::type_identity, for a pass that reads sums (else elements) and writes sums:
/// of 16-bit scalars these are other types.
template <class Visit>
void visit_storage(ScalarType scalar, bool reads_sums, bool writes_sums, const Visit& visit) {
  const auto same = [&]<class S>(std::type_identity<S> s) { visit(s, s, s); };
  const auto narrow = [&]<class S>(std::type_identity<S> s) {
    constexpr std::type_identity<float> sum;
    if (!reads_sums && !writes_sums) visit(s, s, s);
    if (!reads_sums && writes_sums) visit(s, sum, s);
    if (reads_sums && !writes_sums) visit(sum, s, s);
    if (reads_sums && writes_sums) visit(sum, sum, s);
  };
  switch (scalar) {
    case ScalarType::float32:
      return same(std::type_identity<float>{});
    case ScalarType::float64:
      return same(std::type_identity<double>{});
    case ScalarType::complex64:
      return same(std::type_identity<ComplexValue<float>>{});
    case ScalarType::complex128:
      return same(std::type_identity<ComplexValue<double>>{});
    case ScalarType::float16:
      return narrow(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return narrow(std::type_identity<bfloat16>{});
    case ScalarType::int32:
    case ScalarType::int64:
      break;  // refused
  }
}

}  // namespace papillon::cuda
