// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "papillon/core/scalar.hpp"
#include "papillon/workspace.hpp"

namespace papillon {

/// A Kronecker-sparse matrix of pattern (a, b, c, d): (a·b·d) × (a·c·d), with
/// y[i, p, j] = sum over q of W[i, p, q, j] · x[i, q, j], 0 <= i < a, 0 <= p < b, 0 <= q < c, 0 <= j < d, the
/// last index of x and of y varying fastest. Its a·b·c·d values W, readable where the operator runs, lie at
/// any strides, counted in elements; a stride of 0 shares values. With W the same for all i and j it is I_a ⊗
/// W ⊗ I_d.
///
/// Source: L. Gonon, L. Zheng, P. Carrivain, Q.-T. Le, Fast inference with Kronecker-sparse matrices (2024).
struct ButterflyFactor {
  const void* data = nullptr;
  ScalarType type = ScalarType::float32;
  std::int64_t a = 1;              ///< blocks, one after the other
  std::int64_t b = 1;              ///< rows of a block
  std::int64_t c = 1;              ///< columns of a block
  std::int64_t d = 1;              ///< copies of a block side by side, each with values of its own
  std::int64_t block_stride = 0;   ///< of W along i
  std::int64_t row_stride = 0;     ///< along p
  std::int64_t column_stride = 0;  ///< along q
  std::int64_t repeat_stride = 0;  ///< along j
  std::int64_t batch_stride = 0;   ///< from the values of one batch entry to the next; 0: the same for all
  bool conjugate = false;          ///< conj(W): changes complex elements alone
};

/// A factor whose values are a contiguous array of shape (a, b, c, d), the last index varying fastest.
template <Scalar T>
ButterflyFactor row_major_butterfly(const T* data, std::int64_t a, std::int64_t b, std::int64_t c,
                                    std::int64_t d) {
  return {data, scalar_type_of<T>, a, b, c, d, b * c * d, c * d, d, 1};
}

/// The transposed, conjugated and adjoint matrix, without moving a value.
constexpr ButterflyFactor transposed(ButterflyFactor factor) {
  std::swap(factor.b, factor.c);
  std::swap(factor.row_stride, factor.column_stride);
  return factor;
}
constexpr ButterflyFactor conjugated(ButterflyFactor factor) {
  factor.conjugate = !factor.conjugate;
  return factor;
}
constexpr ButterflyFactor adjoint(const ButterflyFactor& factor) { return conjugated(transposed(factor)); }

/// What to apply: scale · F1 · F2 · … · Fk · P, or with `adjoint` its adjoint.
struct ButterflyOptions {
  double scale = 1.0;  ///< finite; multiplies each result once, at the end
  int axis = -1;       ///< -rank … rank-1; negative counts from the last
  bool adjoint = false;
  /// The axis along which factors with a batch stride change.
  std::optional<int> batch_axis = {};
  /// P, as a list of indices readable where the operator runs: (P x)[i] = x[x_permutation[i]]. Each index
  /// from 0 to the number of columns of Fk - 1 must come once; on host spaces a call checks that all are in
  /// that range, on a device nothing is checked. Empty: none.
  std::span<const std::int64_t> x_permutation = {};
  Workspace workspace = {};  ///< see `butterfly_workspace_bytes`
};

}  // namespace papillon
