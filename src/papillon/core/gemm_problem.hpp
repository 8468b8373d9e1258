// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "papillon/core/tensor.hpp"
#include "papillon/gemm_options.hpp"

namespace papillon::detail {

/// A matrix as it multiplies: its operation is resolved into strides, which are not negative.
struct GemmOperand {
  const void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;  ///< 0: one matrix for all
  bool conjugate = false;         ///< complex scalars alone
};

/// A checked call of `gemm`: C[i] = alpha · A[i] B[i] + beta · C[i], i < batch, A of m × k and B of k × n
/// elements. Extents may be 0. Elements of C are those of A and B, or float for 16-bit ones.
struct GemmProblem {
  ScalarType in = ScalarType::float32;
  ScalarType out = ScalarType::float32;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  GemmOperand a;
  GemmOperand b;
  void* c = nullptr;
  std::int64_t c_row_stride = 0;
  std::int64_t c_column_stride = 0;
  std::int64_t c_batch_stride = 0;
  std::complex<double> alpha = 1.0;
  std::complex<double> beta = 0.0;
  GemmAlgorithm algorithm = GemmAlgorithm::automatic;
  int max_levels = -1;
  std::span<const BilinearAlgorithm> tables = {};
  GemmBase base = GemmBase::automatic;
  std::size_t max_workspace_bytes = 0;
  Workspace workspace = {};

  /// Whether C = beta · C, or nothing at all, is all there is to do.
  bool multiplies() const { return m > 0 && n > 0 && batch > 0 && k > 0 && alpha != 0.0; }
};

/// Checks every argument. Throws std::invalid_argument that names it and its value.
GemmProblem make_gemm_problem(std::complex<double> alpha, const ConstTensorDescriptor& a,
                              const ConstTensorDescriptor& b, std::complex<double> beta,
                              const TensorDescriptor& c, const GemmOptions& options);

/// The same product with C transposed, Cᵀ = Bᵀ Aᵀ: row-major where C was column-major.
GemmProblem transposed(const GemmProblem& problem);

}  // namespace papillon::detail
