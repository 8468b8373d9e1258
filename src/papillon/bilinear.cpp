// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/bilinear.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "papillon/core/errors.hpp"

namespace papillon {
namespace {

using Table = std::vector<std::int8_t>;

/// Rows of the product of two tables whose columns are blocks of `rows` × `columns` and `inner_rows` ×
/// `inner_columns`.
Table product_of_tables(const Table& outer, const Table& inner, int rows, int columns, int inner_rows,
                        int inner_columns, const std::string& name) {
  const int outer_rank = static_cast<int>(outer.size()) / (rows * columns);
  const int inner_rank = static_cast<int>(inner.size()) / (inner_rows * inner_columns);
  Table result;
  result.reserve(outer.size() * inner.size());
  for (int p = 0; p < outer_rank; ++p) {
    for (int q = 0; q < inner_rank; ++q) {
      for (int i = 0; i < rows * inner_rows; ++i) {
        for (int j = 0; j < columns * inner_columns; ++j) {
          const int a =
              outer[static_cast<std::size_t>((p * rows + i / inner_rows) * columns + j / inner_columns)];
          const int b = inner[static_cast<std::size_t>((q * inner_rows + i % inner_rows) * inner_columns +
                                                       j % inner_columns)];
          if (std::abs(a * b) > 127) {
            throw_invalid_argument("compose", "the coefficient ", a * b, " of ", name,
                                   " is outside -127 … 127");
          }
          result.push_back(static_cast<std::int8_t>(a * b));
        }
      }
    }
  }
  return result;
}

}  // namespace

std::string why_no_matrix_product(const BilinearAlgorithm& algorithm) {
  const auto& [name, m, k, n, rank, u, v, w] = algorithm;
  std::ostringstream text;
  if (m < 1 || k < 1 || n < 1 || rank < 1) {
    text << "m = " << m << ", k = " << k << ", n = " << n << ", rank = " << rank << "; 1 and more are taken";
    return text.str();
  }
  const auto wrong_size = [&text, rank = rank](std::string_view table, std::size_t size, int rows,
                                               int columns) {
    const auto wanted =
        static_cast<std::size_t>(rank) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    if (size != wanted) {
      text << table << " has " << size << " entries instead of " << rank << " * " << rows << " * " << columns
           << " = " << wanted;
    }
    return size != wanted;
  };
  if (wrong_size("u", u.size(), m, k) || wrong_size("v", v.size(), k, n) || wrong_size("w", w.size(), m, n))
    return text.str();
  const auto entry = [](const Table& table, int p, int columns, int column) {
    return std::int64_t{table[static_cast<std::size_t>(p) * static_cast<std::size_t>(columns) +
                              static_cast<std::size_t>(column)]};
  };
  for (int a = 0; a < m * k; ++a) {
    for (int b = 0; b < k * n; ++b) {
      for (int c = 0; c < m * n; ++c) {
        std::int64_t sum = 0;
        for (int p = 0; p < rank; ++p)
          sum += entry(u, p, m * k, a) * entry(v, p, k * n, b) * entry(w, p, m * n, c);
        const int wanted = a % k == b / n && a / k == c / n && b % n == c % n ? 1 : 0;
        if (sum == wanted) continue;
        text << "C[" << c / n << "," << c % n << "] gets " << sum << " A[" << a / k << "," << a % k << "] B["
             << b / n << "," << b % n << "] instead of " << wanted;
        return text.str();
      }
    }
  }
  return {};
}

bool is_matrix_product(const BilinearAlgorithm& algorithm) {
  return why_no_matrix_product(algorithm).empty();
}

BilinearAlgorithm compose(const BilinearAlgorithm& outer, const BilinearAlgorithm& inner) {
  BilinearAlgorithm result;
  result.name = outer.name + " x " + inner.name;
  result.m = outer.m * inner.m;
  result.k = outer.k * inner.k;
  result.n = outer.n * inner.n;
  result.rank = outer.rank * inner.rank;
  result.u = product_of_tables(outer.u, inner.u, outer.m, outer.k, inner.m, inner.k, result.name);
  result.v = product_of_tables(outer.v, inner.v, outer.k, outer.n, inner.k, inner.n, result.name);
  result.w = product_of_tables(outer.w, inner.w, outer.m, outer.n, inner.m, inner.n, result.name);
  return result;
}

const BilinearAlgorithm& strassen_algorithm() {
  static const BilinearAlgorithm algorithm{
      "strassen",
      2,
      2,
      2,
      7,
      {1,  0, 0, 1,    // M1 = (A11 + A22) (B11 + B22)
       0,  0, 1, 1,    // M2 = (A21 + A22) B11
       1,  0, 0, 0,    // M3 = A11 (B12 - B22)
       0,  0, 0, 1,    // M4 = A22 (B21 - B11)
       1,  1, 0, 0,    // M5 = (A11 + A12) B22
       -1, 0, 1, 0,    // M6 = (A21 - A11) (B11 + B12)
       0,  1, 0, -1},  // M7 = (A12 - A22) (B21 + B22)
      {1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, -1, -1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1},
      {1, 0, 0, 1, 0, 0, 1, -1, 0, 1, 0, 1, 1, 0, 1, 0, -1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0}};
  return algorithm;
}

const BilinearAlgorithm& winograd_algorithm() {
  static const BilinearAlgorithm algorithm{
      "winograd",
      2,
      2,
      2,
      7,
      {-1, 0, 1,  1,   // M1 = (A21 + A22 - A11) (B22 - B12 + B11)
       1,  0, 0,  0,   // M2 = A11 B11
       0,  1, 0,  0,   // M3 = A12 B21
       1,  0, -1, 0,   // M4 = (A11 - A21) (B22 - B12)
       0,  0, 1,  1,   // M5 = (A21 + A22) (B12 - B11)
       1,  1, -1, -1,  // M6 = (A12 - A21 - A22 + A11) B22
       0,  0, 0,  1},  // M7 = A22 (B22 - B12 + B11 - B21)
      {1, -1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, -1, 1, 0, 0, 0, 0, 0, 1, 1, -1, -1, 1},
      {0, 1, 1,  1,    // M1: C12, C21, C22
       1, 1, 1,  1,    // M2
       1, 0, 0,  0,    // M3: C11
       0, 0, 1,  1,    // M4
       0, 1, 0,  1,    // M5
       0, 1, 0,  0,    // M6
       0, 0, -1, 0}};  // M7
  return algorithm;
}

const BilinearAlgorithm& hopcroft_kerr_algorithm() {
  static const BilinearAlgorithm algorithm{
      "hopcroft-kerr",
      3,
      2,
      3,
      15,
      {1,  1,  0,  0,  0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,  1, 0, 0,  1, 0, 1,  0,  0, 0, 1, 0,  0, -1, 0, 0,
       -1, -1, 0,  0,  1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0,  0, 0, -1, 0, 0, 0,  1,  0, 0, 0, 1,  0, 1,  0, 0,
       0,  0,  -1, -1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 1, 0,  0, 0, -1, -1, 1, 0, 0, -1, 0, 0,  0, 1},
      {0,  0, 0, 1, 0,  0, 1, 0, 0, -1, 0, 0, 0,  1,  0, 0, 0, 0,  1, 1, 0, 0, 0,  0, 0,  1, 0, 1, 0, 0,
       -1, 0, 1, 0, 0,  0, 0, 0, 1, 0,  0, 0, -1, 0,  1, 1, 0, 0,  0, 1, 0, 0, -1, 0, 0,  0, 0, 1, 1, 0,
       0,  0, 0, 0, -1, 1, 0, 0, 0, 0,  0, 1, 0,  -1, 1, 0, 1, -1, 0, 1, 0, 0, -1, 1, -1, 0, 1, 1, 0, -1},
      {1, -1, 0, 0, 0, 0,  1, 0, 0, 1, 0, 1, -1, 0, 0,  0,  0,  0, 0, 0, 0, -1, 1,  0,  0,  1, 0,
       0, 0,  0, 1, 0, 0,  0, 0, 0, 0, 1, 0, -1, 0, 0,  0,  0,  0, 0, 0, 0, 0,  0,  0,  -1, 0, 0,
       0, 0,  0, 0, 0, 1,  1, 0, 1, 0, 0, 1, 0,  0, 0,  -1, 0,  0, 0, 1, 0, 0,  -1, -1, 0,  0, 0,
       0, 1,  0, 0, 0, 0,  0, 0, 0, 0, 0, 0, 0,  0, 0,  0,  -1, 0, 0, 0, 1, 0,  0,  0,  0,  1, 1,
       0, 0,  0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0,  0, -1, 0,  1,  0, 0, 0, 1, 0,  0,  0,  0,  0, 0}};
  return algorithm;
}

const BilinearAlgorithm& strassen_squared_algorithm() {
  static const BilinearAlgorithm algorithm = compose(strassen_algorithm(), strassen_algorithm());
  return algorithm;
}

}  // namespace papillon
