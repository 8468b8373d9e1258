// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/construction/finite_field.hpp"

#include <cstddef>

namespace papillon::detail {
namespace {

// X * element modulo X^degree - tail(X), all polynomials being written as base-p numbers.
std::int64_t multiply_by_x(std::int64_t element, std::int64_t tail, std::int64_t q, std::int64_t p) {
  const std::int64_t top = element / (q / p);
  const std::int64_t shifted = (element % (q / p)) * p;
  std::int64_t product = 0;
  for (std::int64_t place = 1; place < q; place *= p)
    product += ((shifted / place + top * (tail / place)) % p) * place;
  return product;
}

}  // namespace

PrimePower as_prime_power(std::int64_t q) {
  if (q < 2) return {};
  std::int64_t prime = 2;
  while (prime * prime <= q && q % prime != 0) ++prime;
  if (prime * prime > q) return {q, 1};
  int degree = 0;
  for (; q % prime == 0; q /= prime) ++degree;
  return q == 1 ? PrimePower{prime, degree} : PrimePower{};
}

FiniteField::FiniteField(std::int64_t q)
    : size_(q), power_(as_prime_power(q)), character_(static_cast<std::size_t>(q)) {
  // X generates the non-zero elements when its first q - 1 powers differ; then the even ones are the squares.
  for (std::int64_t tail = 1; tail < q; ++tail) {
    std::int64_t element = 1;
    std::int64_t exponent = 0;
    do {
      character_[static_cast<std::size_t>(element)] = exponent % 2 == 0 ? 1 : -1;
      element = multiply_by_x(element, tail, q, power_.prime);
      ++exponent;
    } while (element > 1 && exponent < q);
    if (element == 1 && exponent == q - 1) return;
  }
}

std::int64_t FiniteField::subtract(std::int64_t a, std::int64_t b) const {
  const std::int64_t p = power_.prime;
  if (power_.degree == 1) return a < b ? a - b + p : a - b;
  std::int64_t difference = 0;
  for (std::int64_t place = 1; place < size_; place *= p)
    difference += ((a / place % p - b / place % p + p) % p) * place;
  return difference;
}

}  // namespace papillon::detail
