// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace papillon::detail {

/// Four symmetric circulant ±1 matrices A, B, C, D of odd order w with A² + B² + C² + D² = 4w I (Williamson).
/// Each is given by the first (w + 1)/2 entries of its first row, as '+' and '-'; the rest mirrors them.
struct WilliamsonRows {
  std::int64_t order;
  std::array<std::string_view, 4> half_rows;
};
std::span<const WilliamsonRows> williamson_table();

/// Four ±1 sequences X, Y, Z, W as '+' and '-', whose sums of aperiodic autocorrelations vanish at every
/// shift.
struct FourSequences {
  std::int64_t length;
  std::array<std::string_view, 4> sequences;
};
/// Turyn sequences, of lengths l, l, l - 1, l - 1: N_X + N_Y + N_Z + N_W = 0, X and Z of opposite symmetry.
std::span<const FourSequences> turyn_table();
/// Turyn-type sequences, of lengths n, n, n, n - 1: N_X + N_Y + 2 N_Z + 2 N_W = 0.
std::span<const FourSequences> turyn_type_table();

/// Four supplementary difference sets modulo v whose ±1 indicator rows have periodic autocorrelations that
/// add up to zero. Each is a union of cosets r⟨g⟩ of the group of units that g generates; `representatives`
/// lists its r, of which r = 0 would stand for {0}.
struct DifferenceSets {
  std::int64_t modulus;
  std::int64_t generator;
  std::array<std::vector<std::int64_t>, 4> representatives;
};
const std::vector<DifferenceSets>& difference_set_table();

}  // namespace papillon::detail
