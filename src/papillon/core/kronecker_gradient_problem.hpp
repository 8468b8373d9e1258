// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/fold.hpp"
#include "papillon/core/kronecker_problem.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon::detail {

/// Where the gradient of a factor goes, as that factor multiplies a column: sides and adjoints are resolved.
struct AppliedGradient {
  void* data = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  bool conjugate = false;
};

/// A checked call of `kronecker_factor_gradient`.
struct KroneckerGradientProblem {
  ScalarType scalar = ScalarType::float32;
  const void* x = nullptr;
  const void* dy = nullptr;
  double scale = 1.0;
  FixedVector<AppliedFactor, max_factors> factors;
  std::size_t number = 0;  ///< of the factor
  AppliedGradient gradient;
  bool batch_wise = false;   ///< a gradient for each batch entry
  std::int64_t batches = 1;  ///< gradients
  /// As in KroneckerProblem, y being dy; in the caller's order, but the batch's index first where there is a
  /// gradient for each.
  Fold fold;
  Workspace workspace = {};
  bool empty = false;          ///< the gradient has no elements
  bool without_terms = false;  ///< it is a sum over nothing

  const AppliedFactor& factor() const { return factors[number]; }
  std::int64_t pairs() const { return factor().rows * factor().columns; }
};

/// Checks every argument. Throws std::invalid_argument that names it and its value.
KroneckerGradientProblem make_kronecker_gradient_problem(std::span<const Factor> factors, std::size_t number,
                                                         const ConstTensorDescriptor& x,
                                                         const ConstTensorDescriptor& dy,
                                                         const TensorDescriptor& gradient,
                                                         const KroneckerOptions& options);

/// The axis seen from the factor: slower indices, its own, and faster ones.
struct SplitAxis {
  std::int64_t outer = 1;
  std::int64_t middle = 1;
  std::int64_t inner = 1;

  std::int64_t points() const { return outer * middle * inner; }
};

/// The products of all factors before the one asked for, or of all after it, applied to every column of a
/// chunk.
struct KroneckerGradientStep {
  int first = 0;  ///< factor
  int count = 0;
  bool outer = false;  ///< the factors before
  SplitAxis source;
  SplitAxis target;
};

/// How a gradient is computed. With w the product of all other factors times x, or their adjoint times dy,
/// G[a, b] is the sum of dy[o, a, i] conj(w[o, b, i]), or of w[o, a, i] conj(x[o, b, i]), over all columns, o
/// and i: whichever takes fewer operations. It goes through the columns in chunks, which are the same for
/// every architecture, so that the bits are.
struct KroneckerGradientPlan {
  static constexpr std::int64_t chunk_bytes = std::int64_t{16} << 20;  ///< of a buffer; a column at least
  static constexpr std::int64_t block_terms = 4096;                    ///< of a sum that one team forms

  bool from_x = true;  ///< whether the others are applied to x
  FixedVector<KroneckerGradientStep, 2> steps;
  std::int64_t outer = 1;  ///< of both arrays of the final sum
  std::int64_t inner = 1;
  double multiply_adds = 0;  ///< for each column

  // Chunks: one index of each dimension of the fold before `split`, `chunk_extent` of that, all of the rest.
  int split = 0;
  std::int64_t chunk_extent = 1;
  std::int64_t chunk_count = 1;
  std::int64_t chunk_columns = 1;  ///< at most
  std::int64_t chunk_batches = 1;  ///< at most, of gradients
  std::int64_t chunk_blocks = 1;   ///< at most, of a gradient's terms

  /// Points of the two buffers, for all columns of a chunk.
  std::int64_t buffer_points(std::size_t buffer) const {
    return buffer < steps.size() ? chunk_columns * steps[buffer].target.points() : 0;
  }
};
KroneckerGradientPlan plan_kronecker_gradient(const KroneckerGradientProblem& problem);

/// Some columns of a gradient's problem.
struct KroneckerGradientChunk {
  Fold fold;           ///< of the problem, with the chunk's extents
  std::int64_t x = 0;  ///< offsets of its first column, in elements
  std::int64_t dy = 0;
  std::int64_t batch = 0;    ///< its first
  std::int64_t batches = 1;  ///< gradients that it adds to
  bool first = true;         ///< of those gradients' chunks
  bool last = true;
};
KroneckerGradientChunk chunk_of(const KroneckerGradientProblem& problem, const KroneckerGradientPlan& plan,
                                std::int64_t index);

/// One end of a step or of the final sum: a part of an array whose columns lie where the fold says, or a
/// buffer, whose columns follow each other.
struct KroneckerGradientEnd {
  enum class Place { x, dy, buffer };
  Place place = Place::buffer;
  void* data = nullptr;            ///< the first column
  std::int64_t stride = 1;         ///< of the axis
  std::int64_t column_points = 0;  ///< of a buffer
};

/// Strides of the chunk's columns at one end.
void set_column_strides(const KroneckerGradientChunk& chunk, const KroneckerGradientEnd& end,
                        std::int64_t (&strides)[Fold::max_outer]);

/// A step as a product, ready to run.
KroneckerProblem product_of(const KroneckerGradientProblem& problem, const KroneckerGradientPlan& plan,
                            const KroneckerGradientStep& step, const KroneckerGradientChunk& chunk,
                            const KroneckerGradientEnd& source, const KroneckerGradientEnd& target);

}  // namespace papillon::detail
