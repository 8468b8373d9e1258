// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

namespace papillon::detail {

/// q = prime^degree; degree 0 when q is not a prime power.
struct PrimePower {
  std::int64_t prime = 0;
  int degree = 0;
};
PrimePower as_prime_power(std::int64_t q);

/// The field GF(q) of odd prime-power order as far as Paley matrices need it: differences and the quadratic
/// character. The element with index i is the polynomial over Z_p whose coefficients are the base-p digits of
/// i, lowest first, modulo the first primitive polynomial in the same counting order; for prime q index i is
/// i itself.
class FiniteField {
 public:
  explicit FiniteField(std::int64_t q);

  std::int64_t size() const { return size_; }
  std::int64_t subtract(std::int64_t a, std::int64_t b) const;
  /// 0 for the zero element, 1 for other squares, -1 for the rest.
  int quadratic_character(std::int64_t a) const { return character_[static_cast<std::size_t>(a)]; }

 private:
  std::int64_t size_;
  PrimePower power_;
  std::vector<std::int8_t> character_;
};

}  // namespace papillon::detail
