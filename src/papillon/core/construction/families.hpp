// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "papillon/core/construction/tables.hpp"

namespace papillon::detail {

/// Row-major ±1 entries of a square matrix; the caller knows its order.
using SignMatrix = std::vector<std::int8_t>;
/// Four ±1 (or 0, ±1) sequences of one length.
using FourRows = std::array<std::vector<std::int8_t>, 4>;

/// H ⊗ H_{2^log2_power} for H of the given order; H_{2^k}(i, j) = (-1)^popcount(i & j) (J. J. Sylvester
/// 1867).
SignMatrix kronecker_sylvester(const SignMatrix& matrix, std::int64_t order, int log2_power);

/// Order q + 1, q = 3 mod 4 a prime power (R. E. A. C. Paley 1933): I + S with S skew, S(0, j) = -1, S(i, 0)
/// = 1 and S(i, j) the quadratic character of i - j.
SignMatrix paley_one(std::int64_t q);

/// Order 2 (q + 1), q = 1 mod 4 a prime power (Paley 1933), from the symmetric conference matrix C of order q
/// + 1: [1 1; 1 -1] ⊗ C + [1 -1; -1 -1] ⊗ I, or with the factors of both products exchanged when
/// `interleaved`.
SignMatrix paley_two(std::int64_t q, bool interleaved);

/// Order 4w from symmetric circulant A, B, C, D in Williamson's array [A B C D; -B A -D C; -C D A -B; -D -C B
/// A].
SignMatrix williamson(const FourRows& rows);

/// Order 4tw from four ±1 functions on the group Z_t x Z_w (index s * w + u) whose periodic autocorrelations
/// add up to zero: the array of J.-M. Goethals and J. J. Seidel, "A skew Hadamard matrix of order 36", J.
/// Austral. Math. Soc. 11 (1970) 343-344, with group-developed matrices for circulant ones.
SignMatrix goethals_seidel(const FourRows& functions, std::int64_t t, std::int64_t w);

/// Order 4q from a Hadamard matrix of order q - 1, q = 1 mod 4 a prime power: M. Miyamoto, "A construction of
/// Hadamard matrices", J. Combin. Theory A 57 (1991) 86-108.
SignMatrix miyamoto(std::int64_t q, const SignMatrix& smaller);

/// The whole first rows of a tabulated Williamson quadruple.
FourRows williamson_rows(const WilliamsonRows& entry);

/// ±1 indicator rows (-1 in the set) of tabulated supplementary difference sets.
FourRows difference_set_rows(const DifferenceSets& entry);

/// Which of Turyn's constructions makes T-sequences of length t from a table.
enum class SequenceSource { none, turyn_base, turyn_type, turyn_interleaved };
SequenceSource t_sequence_source(std::int64_t t);

/// T-sequences of length t: four 0, ±1 sequences, exactly one of them non-zero at every place, with
/// autocorrelations that add up to zero. t_sequence_source(t) must not be none.
FourRows t_sequences(std::int64_t t);

/// Four ±1 functions on Z_t x Z_w for goethals_seidel, from T-sequences of length t and a Williamson
/// quadruple of order w (or 1, 1, 1, 1 for w = 1): J. Cooper and J. Wallis, "A construction for Hadamard
/// arrays", Bull. Austral. Math. Soc. 7 (1972) 269-277.
FourRows combine(const FourRows& t_rows, const FourRows& williamson);

}  // namespace papillon::detail
