// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace papillon {

/// A bilinear algorithm ⟨m, k, n; rank⟩ for the product C = A B of an m × k by a k × n matrix of blocks, as
/// data:
///
///   M_p = (Σ_{i,l} u[p][i,l] A[i,l]) (Σ_{l,j} v[p][l,j] B[l,j]),   C[i,j] = Σ_p w[p][i,j] M_p.
///
/// Each table has `rank` rows, one a product; columns are the blocks in row-major order: m·k of U, k·n of V,
/// m·n of W.
struct BilinearAlgorithm {
  std::string name;
  int m = 0;
  int k = 0;
  int n = 0;
  int rank = 0;
  std::vector<std::int8_t> u;
  std::vector<std::int8_t> v;
  std::vector<std::int8_t> w;
};

/// Whether the tables have the sizes that m, k, n and rank ask for and give the product of every two
/// matrices: Σ_p u[p][i,l] v[p][l',j] w[p][i',j'] = 1 where i = i', l = l' and j = j', else 0, in integers.
bool is_matrix_product(const BilinearAlgorithm& algorithm);

/// Empty where `is_matrix_product` holds; else why it does not, in a few words.
std::string why_no_matrix_product(const BilinearAlgorithm& algorithm);

/// The algorithm that multiplies by `outer` and its products by `inner`: ⟨m m', k k', n n'; r r'⟩, block (i,
/// i') in row i m' + i'. Throws std::invalid_argument where a coefficient would leave -127 … 127.
BilinearAlgorithm compose(const BilinearAlgorithm& outer, const BilinearAlgorithm& inner);

/// ⟨2,2,2;7⟩ of V. Strassen, Gaussian elimination is not optimal, Numer. Math. 13 (1969).
const BilinearAlgorithm& strassen_algorithm();
/// ⟨2,2,2;7⟩ of S. Winograd (1971), as in N. Higham, Accuracy and Stability of Numerical Algorithms,
/// section 23.1.
const BilinearAlgorithm& winograd_algorithm();
/// ⟨3,2,3;15⟩ of J. Hopcroft and L. Kerr, SIAM J. Appl. Math. 20 (1971).
const BilinearAlgorithm& hopcroft_kerr_algorithm();
/// ⟨4,4,4;49⟩: two levels of Strassen as one.
const BilinearAlgorithm& strassen_squared_algorithm();

}  // namespace papillon
