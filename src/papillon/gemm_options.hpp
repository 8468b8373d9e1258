// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "papillon/bilinear.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/workspace.hpp"

namespace papillon {

/// What an operand is replaced by before it is multiplied.
enum class MatrixOperation {
  none,                 ///< A
  transpose,            ///< Aᵀ
  conjugate_transpose,  ///< Aᴴ
  conjugate,            ///< conj(A)
};

enum class GemmAlgorithm {
  automatic,  ///< what was measured fastest; Strassen for float and double alone
  classical,  ///< 2 m n k operations
  strassen,   ///< levels of `strassen_algorithm()`
  winograd,   ///< levels of `winograd_algorithm()`
  table,      ///< levels of `GemmOptions::tables`
};

/// Who multiplies the blocks, or the whole, on a GPU.
enum class GemmBase {
  automatic,  ///< whichever was measured faster; cuBLAS where it can be loaded
  own,        ///< Papillon's kernels
  cublas,     ///< cuBLAS; an error where it cannot be loaded
};

struct GemmOptions {
  MatrixOperation op_a = MatrixOperation::none;
  MatrixOperation op_b = MatrixOperation::none;
  GemmAlgorithm algorithm = GemmAlgorithm::automatic;
  /// Levels at most; -1: as many as pay (with `strassen` and `winograd` one at least, with `table` all). With
  /// another algorithm than `automatic` exactly so many are taken, while every extent of the blocks is more
  /// than 1.
  int max_levels = -1;
  /// With `GemmAlgorithm::table`: the algorithm of each level, outermost first.
  std::span<const BilinearAlgorithm> tables = {};
  GemmBase base = GemmBase::automatic;
  /// More products than fit into so many bytes are formed in several rounds; an error where one does not fit.
  std::size_t max_workspace_bytes = std::numeric_limits<std::size_t>::max();
  Workspace workspace = {};  ///< see `gemm_workspace_bytes`
};

/// A matrix of rows × columns elements whose rows (columns) start `leading_dimension` elements apart. Throws
/// std::invalid_argument where that is less than the length of a row (column).
ConstTensorDescriptor row_major_matrix(const void* data, ScalarType type, std::int64_t rows,
                                       std::int64_t columns, std::int64_t leading_dimension);
TensorDescriptor row_major_matrix(void* data, ScalarType type, std::int64_t rows, std::int64_t columns,
                                  std::int64_t leading_dimension);
ConstTensorDescriptor column_major_matrix(const void* data, ScalarType type, std::int64_t rows,
                                          std::int64_t columns, std::int64_t leading_dimension);
TensorDescriptor column_major_matrix(void* data, ScalarType type, std::int64_t rows, std::int64_t columns,
                                     std::int64_t leading_dimension);

}  // namespace papillon
