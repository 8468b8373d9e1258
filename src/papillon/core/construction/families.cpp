// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/construction/families.hpp"

#include <bit>
#include <cstddef>
#include <utility>

#include "papillon/core/construction/finite_field.hpp"

namespace papillon::detail {
namespace {

/// Calls entry(i, j) for every place and keeps its sign.
template <class Entry>
SignMatrix make_matrix(std::int64_t order, const Entry& entry) {
  SignMatrix matrix(static_cast<std::size_t>(order * order));
  std::size_t place = 0;
  for (std::int64_t i = 0; i < order; ++i)
    for (std::int64_t j = 0; j < order; ++j) matrix[place++] = static_cast<std::int8_t>(entry(i, j));
  return matrix;
}

template <class Sequence>
const auto& at(const Sequence& sequence, std::int64_t index) {
  return sequence[static_cast<std::size_t>(index)];
}

constexpr int parity_sign(std::uint64_t bits) { return std::popcount(bits) % 2 == 0 ? 1 : -1; }

/// Which of A, B, C, D stands in block (a, b) of Williamson's array and of Goethals and Seidel's, and its
/// sign.
constexpr int block_source[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
constexpr int block_sign[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}};

}  // namespace

SignMatrix kronecker_sylvester(const SignMatrix& matrix, std::int64_t order, int log2_power) {
  const std::int64_t low_bits = (std::int64_t{1} << log2_power) - 1;
  return make_matrix(order << log2_power, [&](std::int64_t i, std::int64_t j) {
    return at(matrix, (i >> log2_power) * order + (j >> log2_power)) *
           parity_sign(static_cast<std::uint64_t>(i & j & low_bits));
  });
}

SignMatrix paley_one(std::int64_t q) {
  const FiniteField field(q);
  return make_matrix(q + 1, [&](std::int64_t i, std::int64_t j) {
    if (i == j || j == 0) return 1;
    if (i == 0) return -1;
    return field.quadratic_character(field.subtract(i - 1, j - 1));
  });
}

SignMatrix paley_two(std::int64_t q, bool interleaved) {
  const FiniteField field(q);
  const std::int64_t half = q + 1;
  // Index in the conference matrix and in the 2 x 2 factor.
  const auto split = [&](std::int64_t i) {
    return interleaved ? std::pair(i / 2, i % 2) : std::pair(i % half, i / half);
  };
  return make_matrix(2 * half, [&](std::int64_t i, std::int64_t j) {
    const auto [row, a] = split(i);
    const auto [column, b] = split(j);
    if (row == column) return a == 0 && b == 0 ? 1 : -1;
    const int conference =
        row == 0 || column == 0 ? 1 : field.quadratic_character(field.subtract(row - 1, column - 1));
    return a == 1 && b == 1 ? -conference : conference;
  });
}

SignMatrix williamson(const FourRows& rows) {
  const auto w = static_cast<std::int64_t>(rows[0].size());
  return make_matrix(4 * w, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t a = i / w, b = j / w;
    return block_sign[a][b] * at(at(rows, block_source[a][b]), (j % w - i % w + w) % w);
  });
}

SignMatrix goethals_seidel(const FourRows& functions, std::int64_t t, std::int64_t w) {
  // [A BR CR DR; -BR A -DᵀR CᵀR; -CR DᵀR A -BᵀR; -DR -CᵀR BᵀR A], R the permutation g -> -g of the group.
  // Developed from x, the entry at (g, h) of X is x(h - g), of XR it is x(-g - h), and of XᵀR it is x(g + h).
  const std::int64_t order = t * w;
  return make_matrix(4 * order, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t a = i / order, b = j / order, g = i % order, h = j % order;
    const bool plain = a == b, transposed = a != 0 && b != 0;
    const std::int64_t sign_g = plain || !transposed ? -1 : 1;
    const std::int64_t sign_h = plain || transposed ? 1 : -1;
    const std::int64_t s = (sign_g * (g / w) + sign_h * (h / w) + 2 * t) % t;
    const std::int64_t u = (sign_g * (g % w) + sign_h * (h % w) + 2 * w) % w;
    return block_sign[a][b] * at(at(functions, block_source[a][b]), s * w + u);
  });
}

SignMatrix miyamoto(std::int64_t q, const SignMatrix& smaller) {
  // Indices 0 ... m - 1 stand for the non-zero squares, m ... 2m - 1 for the other non-zero elements.
  const FiniteField field(q);
  const std::int64_t m = (q - 1) / 2;
  std::vector<std::int64_t> element;
  for (const int character : {1, -1})
    for (std::int64_t x = 1; x < q; ++x)
      if (field.quadratic_character(x) == character) element.push_back(x);

  // U has two equal diagonal blocks of order 2m, the core of the conference matrix with its squares part
  // negated. V has I on the diagonal and beside it the smaller Hadamard matrix, its lower left quarter
  // negated (and transposed).
  const auto u = [&](std::int64_t i, std::int64_t j) {
    if (i / (2 * m) != j / (2 * m)) return 0;
    const std::int64_t a = i % (2 * m), b = j % (2 * m);
    const int character = field.quadratic_character(field.subtract(at(element, a), at(element, b)));
    return a < m && b < m ? -character : character;
  };
  const auto v = [&](std::int64_t i, std::int64_t j) {
    if (i / (2 * m) == j / (2 * m)) return i == j ? 1 : 0;
    const std::int64_t row = i < j ? i : j, column = (i < j ? j : i) - 2 * m;
    const int sign = row >= m && column < m ? -1 : 1;
    return sign * at(smaller, row * 2 * m + column);
  };
  // T_ab = [U_ab + V_ab, U_ab - V_ab; U_ab - V_ab, U_ab + V_ab] of order 2m, where U_ab and V_ab are of order
  // m. Each is bordered to order q, and the sixteen are signed like a Hadamard matrix of order 4.
  static constexpr int sign[4][4] = {{1, 1, 1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}, {-1, 1, -1, 1}};
  return make_matrix(4 * q, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t a = i / q, b = j / q, row = i % q - 1, column = j % q - 1;
    if (row < 0 || column < 0) return a == b && row != column ? -1 : sign[a][b];
    const std::int64_t x = a * m + row % m, y = b * m + column % m;
    return sign[a][b] * (row / m == column / m ? u(x, y) + v(x, y) : u(x, y) - v(x, y));
  });
}

}  // namespace papillon::detail
