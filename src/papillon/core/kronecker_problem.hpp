// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/fold.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon::detail {

/// Factors of a product at most.
inline constexpr std::size_t max_factors = 32;

/// Bytes of scratch memory at most for a tile: what one factor reads and writes, in the type that sums are
/// formed in. (Kokkos gives a team of a host space 20 MiB.)
inline constexpr std::int64_t most_tile_bytes = std::int64_t{16} << 20;

/// Bytes of a value that sums of `scalar` are formed in.
constexpr std::size_t sum_bytes(ScalarType scalar) {
  return is_complex(scalar) ? size_of(scalar) : compute_bytes_of(scalar);
}

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

/// A checked call of `kronecker`: y[…, :, …] = scale · (F1 ⊗ … ⊗ Fk) x[…, :, …].
struct KroneckerProblem {
  ScalarType scalar = ScalarType::float32;
  const void* x = nullptr;
  void* y = nullptr;
  double scale = 1.0;
  std::int64_t x_length = 1;                        ///< of the axis: the product of the columns
  std::int64_t y_length = 1;                        ///< the product of the rows
  FixedVector<AppliedFactor, max_factors> factors;  ///< F1, whose index varies slowest, first
  /// Every index but the axis is an outer one, in the order in which tiles take them, the batch's with a
  /// position step of 1. Of the axis, whose lengths differ, there are the strides alone.
  Fold fold;
  std::int64_t batches = 1;  ///< of the factors that have a batch stride
  Workspace workspace = {};
  bool empty = false;  ///< y has no elements
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
struct KroneckerPass {
  int first = 0;                ///< factor
  int count = 0;                ///< of factors
  int order[max_factors] = {};  ///< the pass' factors, counted from `first`, in the order they are applied
  std::int64_t source = 1;      ///< points of the pass' index before it
  std::int64_t target = 1;      ///< and after
  std::int64_t largest = 1;     ///< the most on the way
  std::int64_t outer = 1;       ///< points of the axis' slower indices during the pass
  std::int64_t inner = 1;       ///< and of its faster ones
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

/// What lies between passes: for `columns` columns at a time, which go through all passes, buffers of
/// `points` points a column, in the type that sums are formed in.
struct KroneckerBuffers {
  std::int64_t columns = 1;
  std::int64_t points = 0;
  int count = 0;  ///< of buffers: one for two passes, two for more

  std::size_t bytes(std::size_t value) const {
    return static_cast<std::size_t>(columns * points * count) * value;
  }
};
KroneckerBuffers buffers_of(const KroneckerProblem& problem, const KroneckerPlan& plan,
                            Architecture architecture);

}  // namespace papillon::detail
