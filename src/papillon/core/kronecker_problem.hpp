// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/mode_product.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/core/tile.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon::detail {

/// Factors of a product at most.
inline constexpr std::size_t max_factors = 32;

/// A factor as it multiplies a column: sides and adjoints are resolved.
struct AppliedFactor {
  const void* data = nullptr;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  bool conjugate = false;
};

/// A checked call of `kronecker`: y[…, :, …] = scale · (F1 ⊗ … ⊗ Fk) x[…, :, …]. The axis has the product of
/// the factors' columns in x and that of their rows in y.
struct KroneckerProblem : ModeProduct {
  FixedVector<AppliedFactor, max_factors> factors;  ///< F1, whose index varies slowest, first
};

/// Checks what a call reads: the factors, x, and of y, which `y_name` names in messages, the shape. `y` of
/// the result is null, and its fold has the indices in the caller's order.
KroneckerProblem read_kronecker_call(std::string_view operator_name, std::span<const Factor> factors,
                                     const ConstTensorDescriptor& x, const ConstTensorDescriptor& y,
                                     std::string_view y_name, const KroneckerOptions& options);

/// No factor shares an element with an array that is written.
void check_apart_from_factors(std::string_view operator_name, std::span<const Factor> factors,
                              std::int64_t batches, const ConstTensorDescriptor& written,
                              std::string_view name);

/// Checks every argument. Throws std::invalid_argument that names it and its value.
KroneckerProblem make_kronecker_problem(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                                        const TensorDescriptor& y, const KroneckerOptions& options);

/// Consecutive factors that are applied one after the other to a tile near the processor.
struct KroneckerPass : TileShape {
  int first = 0;                ///< factor
  int count = 0;                ///< of factors
  int order[max_factors] = {};  ///< the pass' factors, counted from `first`, in the order they are applied
};
using KroneckerPlan = FixedVector<KroneckerPass, max_factors>;

/// The passes of a product, in order. Pure.
///
/// A pass takes as many consecutive factors as leave no more than `tile_points` points on the way, one at
/// least. Factors are applied in the order of falling 1/rows - 1/columns, which takes the fewest operations
/// (two neighbours are exchanged with gain until they stand so): within a pass, and passes in turn by their
/// products.
KroneckerPlan plan_kronecker(const KroneckerProblem& problem, std::int64_t tile_points);

/// What a product costs for each column of x: multiply-adds, and points that the passes read and write.
struct KroneckerCost {
  double multiply_adds = 0;
  double points = 0;
};
KroneckerCost cost_of(const KroneckerProblem& problem, const KroneckerPlan& plan);

TileBuffers buffers_of(const KroneckerProblem& problem, const KroneckerPlan& plan, Architecture architecture);

}  // namespace papillon::detail
