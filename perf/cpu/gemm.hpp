// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "papillon/core/scalar.hpp"

namespace papillon::perf {

/// One row of the table of matrix products: C = A B, row-major, of n × n elements each.
struct GemmCase {
  ScalarType scalar;  ///< float32 or float64
  std::int64_t n;

  double operations() const { return 2.0 * static_cast<double>(n * n) * static_cast<double>(n); }
  std::string name() const { return std::string(name_of(scalar)) + "/" + std::to_string(n); }
};

/// The operands of a case.
struct GemmArrays {
  const void* a;
  const void* b;
  void* c;
};

std::vector<GemmCase> gemm_cases(bool quick);

/// C = A B through Eigen's own product, compiled for this machine, on `threads` threads of its own. No
/// function where the build has no Eigen.
std::function<void()> eigen_product(const GemmCase& what, const GemmArrays& arrays, int threads);

/// C = A B through OpenBLAS, where the machine has it as libopenblas.so.0; otherwise no function.
std::function<void()> openblas_product(const GemmCase& what, const GemmArrays& arrays, int threads);

/// Adds the cases to the benchmarks of this program, for `threads` threads.
void register_matrix_products(bool quick, int threads);

}  // namespace papillon::perf
