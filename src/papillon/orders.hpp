// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace papillon {

/// Largest order that hadamard_orders() lists, and so the largest order m of a base matrix: a base matrix is
/// applied densely, m - 1 additions for each element.
inline constexpr std::int64_t max_listed_hadamard_order = 4096;

/// Largest order that hadamard_matrix() writes out (1 GiB of int8).
inline constexpr std::int64_t max_dense_hadamard_order = 32768;

/// n = order * 2^log2_power, with H_n = H_order ⊗ H_{2^log2_power}: index i of H_n is (i >> log2_power) in
/// H_order and the low log2_power bits in the Sylvester matrix, so the power of two varies fastest.
struct HadamardFactorization {
  std::int64_t order;
  int log2_power;
  friend bool operator==(const HadamardFactorization&, const HadamardFactorization&) = default;
};

/// A Hadamard matrix: order x order entries ±1, row-major, with H Hᵀ = order * I.
struct HadamardMatrix {
  std::int64_t order;
  std::vector<std::int8_t> entries;

  std::int8_t operator()(std::int64_t row, std::int64_t column) const {
    return entries[static_cast<std::size_t>(row * order + column)];
  }
};

/// Every order up to max_listed_hadamard_order of which a matrix is constructed here, ascending: 1, 2, 4, 8,
/// 12, ... Up to 1000 that is every multiple of four but 668, 716 and 892, of which no Hadamard matrix is
/// known.
const std::vector<std::int64_t>& hadamard_orders();

/// Whether H_n is constructed here, for any n (false for n < 1): n = m * 2^k with m in hadamard_orders().
bool hadamard_order_exists(std::int64_t n);

/// The factorization that every operator applies: the smallest order m of hadamard_orders() with n = m * 2^k,
/// so m = 1 for powers of two and 172 for 11008 = 172 * 64. Throws std::invalid_argument, naming n and the
/// nearest offered orders, when there is none.
HadamardFactorization hadamard_factorization(std::int64_t n);

/// The nearest orders strictly below and strictly above n that are offered, 0 where there is none (n <= 1, or
/// above it when the next one does not fit in 64 bits).
std::pair<std::int64_t, std::int64_t> nearest_hadamard_orders(std::int64_t n);

/// H_n as the operators apply it (unnormalised): H_m ⊗ H_{2^k} as hadamard_factorization(n) says, where
/// H_{2^k}(i, j) = (-1)^popcount(i & j) and H_m is the fixed base matrix that hadamard_construction(m) names.
/// Throws std::invalid_argument when n is not offered or above max_dense_hadamard_order.
HadamardMatrix hadamard_matrix(std::int64_t n);

/// How H_n is constructed, in words: "Paley I, q = 11", "Williamson, 4 x 43", "Sylvester",
/// "Kronecker 172 x 64 (Williamson, 4 x 43)". Throws as hadamard_factorization does.
std::string hadamard_construction(std::int64_t n);

namespace detail {

/// Entries of H_m, row-major, of a listed order m. Constructed at the first call and kept for the life of the
/// program; may be called from any thread. Throws std::invalid_argument when m is not listed.
const std::vector<std::int8_t>& base_matrix(std::int64_t m);

}  // namespace detail
}  // namespace papillon
