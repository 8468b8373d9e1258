// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "papillon/core/scalar.hpp"
#include "papillon/workspace.hpp"

namespace papillon {

/// A matrix of `rows` × `columns` elements, readable where the operator runs. Strides count elements and may
/// be anything, so that row-major, column-major and transposed matrices are one thing.
struct Factor {
  const void* data = nullptr;
  ScalarType type = ScalarType::float32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;     ///< from a row to the next
  std::int64_t column_stride = 0;  ///< from a column to the next
  std::int64_t batch_stride = 0;   ///< from the factor of one batch entry to the next; 0: one for all
  bool conjugate = false;          ///< conj(F): changes complex elements alone
};

/// A contiguous matrix whose columns (rows) vary fastest.
template <Scalar T>
Factor row_major_factor(const T* data, std::int64_t rows, std::int64_t columns) {
  return {data, scalar_type_of<T>, rows, columns, columns, 1};
}
template <Scalar T>
Factor column_major_factor(const T* data, std::int64_t rows, std::int64_t columns) {
  return {data, scalar_type_of<T>, rows, columns, 1, rows};
}

/// Fᵀ, conj(F) and Fᴴ, without moving an element.
constexpr Factor transposed(Factor factor) {
  std::swap(factor.rows, factor.columns);
  std::swap(factor.row_stride, factor.column_stride);
  return factor;
}
constexpr Factor conjugated(Factor factor) {
  factor.conjugate = !factor.conjugate;
  return factor;
}
constexpr Factor adjoint(const Factor& factor) { return conjugated(transposed(factor)); }

/// On which side of the matrix the vectors stand.
enum class VectorSide {
  right,  ///< columns: y = (F1 ⊗ … ⊗ Fk) x
  left,   ///< rows: y = x (F1 ⊗ … ⊗ Fk), that is (F1 ⊗ … ⊗ Fk)ᵀ applied to a column
};

/// What to apply: scale · (F1 ⊗ … ⊗ Fk), transposed for `VectorSide::left`, its adjoint with `adjoint`.
struct KroneckerOptions {
  double scale = 1.0;  ///< finite; multiplies each result once, at the end
  int axis = -1;       ///< -rank … rank-1; negative counts from the last
  VectorSide vectors = VectorSide::right;
  bool adjoint = false;
  std::optional<int> batch_axis = {};  ///< the axis along which factors with a batch stride change
  Workspace workspace = {};            ///< see `kronecker_workspace_bytes`
};

}  // namespace papillon
