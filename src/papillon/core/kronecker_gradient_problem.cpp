// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/kronecker_gradient_problem.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "papillon/core/errors.hpp"
#include "papillon/core/mode_product.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::detail {
namespace {

constexpr std::string_view operator_name = "kronecker_factor_gradient";

void check_gradient(const KroneckerGradientProblem& problem, const Factor& factor,
                    const TensorDescriptor& gradient) {
  constexpr std::string_view name = "gradient";
  check_tensor(operator_name, gradient, name);
  if (gradient.type != problem.scalar) {
    throw_invalid_argument(operator_name, "gradient holds ", name_of(gradient.type), " but x holds ",
                           name_of(problem.scalar));
  }
  std::vector<std::int64_t> expected = {factor.rows, factor.columns};
  if (problem.batch_wise) expected.insert(expected.begin(), problem.batches);
  if (!std::ranges::equal(gradient.shape(), expected)) {
    throw_invalid_argument(operator_name, "gradient has shape ", to_text(gradient.shape()), " but factors[",
                           problem.number, "] has ", to_text(expected),
                           problem.batch_wise ? ", the batch first" : "");
  }
}

AppliedFactor adjoint_of(AppliedFactor factor, ScalarType scalar) {
  std::swap(factor.rows, factor.columns);
  std::swap(factor.row_stride, factor.column_stride);
  factor.conjugate = factor.conjugate != is_complex(scalar);
  return factor;
}

/// The factors of a step as they are applied.
void add_factors(KroneckerProblem& product, const KroneckerGradientProblem& problem, bool from_x, int first,
                 int count) {
  product.scalar = problem.scalar;
  product.x_length = product.y_length = 1;
  for (int f = first; f < first + count; ++f) {
    AppliedFactor factor = problem.factors[static_cast<std::size_t>(f)];
    if (!from_x) factor = adjoint_of(factor, problem.scalar);
    product.factors.push_back(factor);
    product.x_length *= factor.columns;
    product.y_length *= factor.rows;
  }
}

/// One way to compute the gradient, and its cost.
KroneckerGradientPlan way(const KroneckerGradientProblem& problem, bool from_x, bool outer_first) {
  KroneckerGradientPlan plan;
  plan.from_x = from_x;
  const auto number = static_cast<int>(problem.number);
  const auto after = static_cast<int>(problem.factors.size()) - number - 1;
  KroneckerProblem before_it, after_it;
  add_factors(before_it, problem, from_x, 0, number);
  add_factors(after_it, problem, from_x, number + 1, after);
  const AppliedFactor& factor = problem.factor();
  SplitAxis axis = {before_it.x_length, from_x ? factor.columns : factor.rows, after_it.x_length};
  for (const bool outer : {outer_first, !outer_first}) {
    KroneckerGradientStep step{outer ? 0 : number + 1, outer ? number : after, outer, axis, axis};
    if (step.count == 0) continue;
    const KroneckerProblem& product = outer ? before_it : after_it;
    (outer ? step.target.outer : step.target.inner) = product.y_length;
    const auto around =
        static_cast<double>(axis.middle) * static_cast<double>(outer ? axis.inner : axis.outer);
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    plan.multiply_adds += around * cost_of(product, plan_kronecker(product, any)).multiply_adds;
    plan.steps.push_back(step);
    axis = step.target;
  }
  plan.outer = axis.outer;
  plan.inner = axis.inner;
  plan.multiply_adds += static_cast<double>(problem.pairs()) * static_cast<double>(axis.outer) *
                        static_cast<double>(axis.inner);
  return plan;
}

void cut_into_chunks(const KroneckerGradientProblem& problem, KroneckerGradientPlan& plan) {
  const AppliedFactor& factor = problem.factor();
  std::int64_t points = plan.outer * std::max(factor.rows, factor.columns) * plan.inner;
  for (const KroneckerGradientStep& step : plan.steps) points = std::max(points, step.target.points());
  const auto element = static_cast<std::int64_t>(size_of(problem.scalar));
  std::int64_t most = std::max<std::int64_t>(KroneckerGradientPlan::chunk_bytes / element / points, 1);

  const Fold& fold = problem.fold;
  std::int64_t rest = fold.outer_count();  // columns of one index of all dimensions up to the split
  plan.chunk_count = 1;
  for (plan.split = 0; plan.split < fold.outer_rank; ++plan.split) {
    const std::int64_t extent = fold.outer[plan.split].extent;
    rest /= extent;
    const bool batch = problem.batch_wise && plan.split == 0;
    std::int64_t at_most = most / rest;
    if (batch) at_most = std::min(at_most, KroneckerGradientPlan::chunk_bytes / element / problem.pairs());
    if (at_most > 0 || plan.split + 1 == fold.outer_rank) {
      plan.chunk_extent = std::clamp<std::int64_t>(at_most, 1, extent);
      plan.chunk_count *= (extent + plan.chunk_extent - 1) / plan.chunk_extent;
      plan.chunk_columns = plan.chunk_extent * rest;
      if (batch) plan.chunk_batches = plan.chunk_extent;
      break;
    }
    plan.chunk_count *= extent;
  }
  const std::int64_t terms = plan.chunk_columns / plan.chunk_batches * plan.outer * plan.inner;
  plan.chunk_blocks = (terms + KroneckerGradientPlan::block_terms - 1) / KroneckerGradientPlan::block_terms;
}

}  // namespace

KroneckerGradientProblem make_kronecker_gradient_problem(std::span<const Factor> factors, std::size_t number,
                                                         const ConstTensorDescriptor& x,
                                                         const ConstTensorDescriptor& dy,
                                                         const TensorDescriptor& gradient,
                                                         const KroneckerOptions& options) {
  const KroneckerProblem product = read_kronecker_call(operator_name, factors, x, dy, "dy", options);
  if (number >= factors.size()) {
    throw_invalid_argument(operator_name, "number = ", number, " but there are ", factors.size(),
                           " factors, counted from 0");
  }
  const Factor& factor = factors[number];
  const std::int64_t batches = checked_mode_axes(operator_name, x, options.axis, options.batch_axis).batches;
  KroneckerGradientProblem problem;
  problem.scalar = product.scalar;
  problem.x = x.data;
  problem.dy = dy.data;
  problem.scale = product.scale;
  problem.factors = product.factors;
  problem.number = number;
  problem.batch_wise = factor.batch_stride != 0;
  problem.batches = problem.batch_wise ? batches : 1;
  problem.workspace = product.workspace;
  check_gradient(problem, factor, gradient);

  const std::size_t matrix = problem.batch_wise ? 1 : 0;
  problem.gradient = {gradient.data, gradient.strides[matrix], gradient.strides[matrix + 1],
                      problem.batch_wise ? gradient.strides[0] : 0, problem.factor().conjugate};
  if ((options.vectors == VectorSide::left) != options.adjoint)
    std::swap(problem.gradient.row_stride, problem.gradient.column_stride);
  problem.empty = problem.pairs() == 0 || problem.batches == 0;
  if (problem.empty) return problem;

  problem.fold = product.fold;
  problem.batch_wise = problem.batches > 1;  // a fold has no indices of extent 1
  if (problem.batch_wise) {
    Dimension* const end = problem.fold.outer + problem.fold.outer_rank;
    Dimension* const batch =
        std::find_if(problem.fold.outer, end, [](const Dimension& d) { return d.position_step == 1; });
    std::rotate(problem.fold.outer, batch, batch + 1);
  }
  problem.without_terms = problem.fold.outer_count() == 0 || product.x_length == 0 || product.y_length == 0;
  check_not_repeating(operator_name, gradient, "gradient");
  check_apart(operator_name, "x", x, "gradient", gradient);
  check_apart(operator_name, "dy", dy, "gradient", gradient);
  check_apart_from_factors(operator_name, factors, batches, gradient, "gradient");
  return problem;
}

KroneckerGradientPlan plan_kronecker_gradient(const KroneckerGradientProblem& problem) {
  KroneckerGradientPlan best = way(problem, true, true);
  for (const auto& [from_x, outer_first] : {std::pair{true, false}, {false, true}, {false, false}}) {
    const KroneckerGradientPlan other = way(problem, from_x, outer_first);
    if (other.multiply_adds < best.multiply_adds) best = other;
  }
  cut_into_chunks(problem, best);
  return best;
}

KroneckerGradientChunk chunk_of(const KroneckerGradientProblem& problem, const KroneckerGradientPlan& plan,
                                std::int64_t index) {
  KroneckerGradientChunk chunk;
  chunk.fold = problem.fold;
  const std::int64_t of_a_gradient =
      problem.batch_wise && plan.split > 0 ? plan.chunk_count / problem.batches : plan.chunk_count;
  const bool whole = problem.batch_wise && plan.split == 0;  // a chunk has all terms of its gradients
  chunk.first = whole || index % of_a_gradient == 0;
  chunk.last = whole || index % of_a_gradient == of_a_gradient - 1;
  for (int d = std::min(plan.split, problem.fold.outer_rank - 1); d >= 0; --d) {
    Dimension& dimension = chunk.fold.outer[d];
    const std::int64_t size = d == plan.split ? plan.chunk_extent : 1;
    const std::int64_t count = (dimension.extent + size - 1) / size;
    const std::int64_t begin = index % count * size;
    index /= count;
    chunk.x += begin * dimension.x_stride;
    chunk.dy += begin * dimension.y_stride;
    chunk.batch += begin * dimension.position_step;
    dimension.extent = std::min(size, dimension.extent - begin);
  }
  chunk.batches = problem.batch_wise ? chunk.fold.outer[0].extent : 1;
  return chunk;
}

void set_column_strides(const KroneckerGradientChunk& chunk, const KroneckerGradientEnd& end,
                        std::int64_t (&strides)[Fold::max_outer]) {
  std::int64_t dense = end.column_points;
  for (int d = chunk.fold.outer_rank - 1; d >= 0; --d) {
    const Dimension& dimension = chunk.fold.outer[d];
    strides[d] = end.place == KroneckerGradientEnd::Place::x    ? dimension.x_stride
                 : end.place == KroneckerGradientEnd::Place::dy ? dimension.y_stride
                                                                : dense;
    dense *= dimension.extent;
  }
}

KroneckerProblem product_of(const KroneckerGradientProblem& problem, const KroneckerGradientPlan& plan,
                            const KroneckerGradientStep& step, const KroneckerGradientChunk& chunk,
                            const KroneckerGradientEnd& source, const KroneckerGradientEnd& target) {
  KroneckerProblem product;
  add_factors(product, problem, plan.from_x, step.first, step.count);
  const auto element = static_cast<std::int64_t>(size_of(problem.scalar));
  for (AppliedFactor& factor : product.factors)
    factor.data = static_cast<const std::byte*>(factor.data) + chunk.batch * factor.batch_stride * element;
  product.x = source.data;
  product.y = target.data;
  std::int64_t x_strides[Fold::max_outer], y_strides[Fold::max_outer];
  set_column_strides(chunk, source, x_strides);
  set_column_strides(chunk, target, y_strides);
  for (int d = 0; d < chunk.fold.outer_rank; ++d) {
    const Dimension& dimension = chunk.fold.outer[d];
    product.fold.add_outer({dimension.extent, x_strides[d], y_strides[d], dimension.position_step});
  }
  const SplitAxis& from = step.source;
  const SplitAxis& to = step.target;
  if (step.outer) {
    product.fold.axis = {1, from.middle * from.inner * source.stride, to.middle * to.inner * target.stride};
    product.fold.add_outer({from.middle, from.inner * source.stride, to.inner * target.stride});
    product.fold.add_outer({from.inner, source.stride, target.stride});
  } else {
    product.fold.axis = {1, source.stride, target.stride};
    product.fold.add_outer(
        {from.outer, from.middle * from.inner * source.stride, to.middle * to.inner * target.stride});
    product.fold.add_outer({from.middle, from.inner * source.stride, to.inner * target.stride});
  }
  return product;
}

}  // namespace papillon::detail
