// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of a BLAS, C = 2 A Bᵀ + C of column-major matrices, made here instead; then with other algorithms.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <papillon/papillon.hpp>
#include <vector>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const std::int64_t m = 311, n = 203, k = 254;
  const std::int64_t lda = 320, ldb = 203, ldc = 311;  // elements from column to column
  const auto cell = [](std::int64_t i, std::int64_t j, std::int64_t stride) {
    return static_cast<std::size_t>(i + j * stride);
  };
  std::vector<double> A(cell(0, k, lda)), B(cell(0, k, ldb)), C(cell(0, n, ldc), 1.0);
  for (std::size_t i = 0; i < A.size(); ++i) A[i] = std::sin(0.1 * static_cast<double>(i));
  for (std::size_t i = 0; i < B.size(); ++i) B[i] = std::cos(0.2 * static_cast<double>(i));
  const std::vector<double> before = C;

  // [gemm]
  // cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, m, n, k, 2.0, A, lda, B, ldb, 1.0, C, ldc);
  const auto a = papillon::column_major_matrix(A.data(), papillon::ScalarType::float64, m, k, lda);
  const auto b = papillon::column_major_matrix(B.data(), papillon::ScalarType::float64, n, k, ldb);
  const auto c = papillon::column_major_matrix(C.data(), papillon::ScalarType::float64, m, n, ldc);
  papillon::GemmOptions options{.op_b = papillon::MatrixOperation::transpose};
  papillon::gemm(space, 2.0, a, b, 1.0, c, options);
  // [gemm]
  space.fence();

  std::vector<double> exact = before;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t i = 0; i < m; ++i)
        exact[cell(i, j, ldc)] += 2 * A[cell(i, l, lda)] * B[cell(j, l, ldb)];
  const auto error = [&] {
    double largest = 0;
    for (std::size_t i = 0; i < C.size(); ++i) largest = std::max(largest, std::abs(C[i] - exact[i]));
    return largest;
  };
  const double classical = error();

  C = before;
  // [table]
  const std::array levels{papillon::hopcroft_kerr_algorithm(), papillon::strassen_algorithm()};
  options.algorithm = papillon::GemmAlgorithm::table;  // 3 x 2 x 3 blocks, of 2 x 2 x 2 blocks each
  options.tables = levels;
  papillon::gemm(space, 2.0, a, b, 1.0, c, options);
  std::fputs(papillon::explain_gemm(space, 2.0, a, b, 1.0, c, options).c_str(), stdout);
  // [table]
  space.fence();
  std::printf("largest errors: %.1e classical, %.1e with levels\n", classical, error());

  // Elements are at most 1, and alpha is 2. The loop above rounds too, as a classical product; and it
  // differs.
  const double unit = 0x1p-53;
  const double bound = 2 * static_cast<double>(k + 3) * static_cast<double>(k + 3) * unit;
  const double bound_with_levels = 2 * 1.071e6 * unit;  // as explain_gemm prints
  const bool right = classical <= 2 * bound && error() <= bound + bound_with_levels && error() > 0;
  return right ? 0 : 1;
}
