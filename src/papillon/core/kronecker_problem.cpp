// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/kronecker_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::detail {
namespace {

constexpr std::string_view kronecker_name = "kronecker";

std::string factor_name(std::size_t number) { return "factors[" + std::to_string(number) + "]"; }

/// The factor as an array, for the checks and for the overlap with what is written.
ConstTensorDescriptor as_tensor(const Factor& factor, std::int64_t batches) {
  return {factor.data,
          factor.type,
          3,
          {factor.batch_stride == 0 ? 1 : batches, factor.rows, factor.columns},
          {factor.batch_stride, factor.row_stride, factor.column_stride}};
}

void check_factor(std::string_view operator_name, const Factor& factor, std::size_t number,
                  const ConstTensorDescriptor& x, const KroneckerOptions& options, std::int64_t batches) {
  const std::string name = factor_name(number);
  if (factor.type != x.type) {
    throw_invalid_argument(operator_name, name, " holds ", name_of(factor.type), " but x holds ",
                           name_of(x.type));
  }
  if (factor.batch_stride != 0 && !options.batch_axis) {
    throw_invalid_argument(operator_name, name, " has the batch stride ", factor.batch_stride,
                           " but no batch_axis is given");
  }
  const std::int64_t most = most_tile_bytes / 2 / static_cast<std::int64_t>(sum_bytes(x.type));
  if (factor.rows > most || factor.columns > most) {
    throw_invalid_argument(operator_name, name, " has ", factor.rows, " x ", factor.columns, " elements of ",
                           name_of(x.type), "; at most ", most, " rows and columns are taken");
  }
  check_tensor(operator_name, as_tensor(factor, batches), name);
}

/// The factor as it multiplies a column.
AppliedFactor applied(Factor factor, const KroneckerOptions& options) {
  if ((options.vectors == VectorSide::left) != options.adjoint) factor = transposed(factor);
  if (options.adjoint) factor = conjugated(factor);
  return {factor.data,
          factor.rows,
          factor.columns,
          factor.row_stride,
          factor.column_stride,
          factor.batch_stride,
          factor.conjugate && is_complex(factor.type)};
}

/// The product of one of the factors' extents, which must be the length of the axis of `tensor`.
template <class Extent>
std::int64_t checked_length(std::string_view operator_name, const KroneckerProblem& problem,
                            const ConstTensorDescriptor& tensor, std::size_t axis, std::string_view name,
                            std::string_view what, const Extent& extent) {
  std::int64_t length = 1;
  bool too_long = false;
  std::string extents;
  for (const AppliedFactor& factor : problem.factors) {
    extents += (extents.empty() ? "" : " * ") + std::to_string(extent(factor));
    too_long = too_long || __builtin_mul_overflow(length, extent(factor), &length);
  }
  if (too_long || length != tensor.extents[axis]) {
    throw_invalid_argument(operator_name, "the factors have ", extents, " ", what, " but axis ", axis, " of ",
                           name, " of shape ", to_text(tensor.shape()), " has length ", tensor.extents[axis]);
  }
  return length;
}

double order_key(std::int64_t rows, std::int64_t columns) {
  return 1.0 / static_cast<double>(rows) - 1.0 / static_cast<double>(columns);
}

/// The pass over `count` factors from `first` on: their order, and the points on the way.
KroneckerPass pass_over(const KroneckerProblem& problem, int first, int count) {
  KroneckerPass pass;
  pass.first = first;
  pass.count = count;
  const auto factor = [&](int i) { return problem.factors[static_cast<std::size_t>(first + i)]; };
  for (int i = 0; i < count; ++i) pass.order[i] = i;
  std::stable_sort(pass.order, pass.order + count, [&](int a, int b) {
    return order_key(factor(a).rows, factor(a).columns) > order_key(factor(b).rows, factor(b).columns);
  });
  for (int i = 0; i < count; ++i) {
    pass.source *= factor(i).columns;
    pass.target *= factor(i).rows;
  }
  // Extents may be 0, so that points are products, never quotients.
  std::int64_t extents[max_factors];
  for (int i = 0; i < count; ++i) extents[i] = factor(i).columns;
  pass.largest = pass.source;
  for (int i = 0; i < count; ++i) {
    extents[pass.order[i]] = factor(pass.order[i]).rows;
    pass.largest = std::max(pass.largest,
                            std::accumulate(extents, extents + count, std::int64_t{1}, std::multiplies<>()));
  }
  return pass;
}

}  // namespace

KroneckerProblem read_kronecker_call(std::string_view operator_name, std::span<const Factor> factors,
                                     const ConstTensorDescriptor& x, const ConstTensorDescriptor& y,
                                     std::string_view y_name, const KroneckerOptions& options) {
  check_tensor(operator_name, x, "x");
  check_tensor(operator_name, y, y_name);
  if (x.type != y.type) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type), " but ", y_name, " holds ",
                           name_of(y.type));
  }
  if (is_integer(x.type)) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type),
                           "; products of real and complex numbers are offered");
  }
  if (x.rank != y.rank) {
    throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but ", y_name, " has shape ",
                           to_text(y.shape()));
  }
  if (factors.empty() || factors.size() > max_factors) {
    throw_invalid_argument(operator_name, "factors has ", factors.size(), " entries; 1 to ", max_factors,
                           " are taken");
  }
  if (!std::isfinite(options.scale)) {
    throw_invalid_argument(operator_name, "scale = ", options.scale, " is not finite");
  }
  if (options.vectors != VectorSide::right && options.vectors != VectorSide::left) {
    throw_invalid_argument(operator_name, "vectors has the unknown value ",
                           static_cast<int>(options.vectors));
  }
  const auto axis = static_cast<std::size_t>(checked_axis(operator_name, options.axis, "axis", x));
  KroneckerProblem problem;
  auto batch_axis = static_cast<std::size_t>(max_rank);
  if (options.batch_axis) {
    batch_axis = static_cast<std::size_t>(checked_axis(operator_name, *options.batch_axis, "batch_axis", x));
    if (batch_axis == axis) {
      throw_invalid_argument(operator_name, "batch_axis = ", *options.batch_axis,
                             " and axis = ", options.axis, " are one axis of shape ", to_text(x.shape()));
    }
    problem.batches = x.extents[batch_axis];
  }
  problem.scalar = x.type;
  problem.x = x.data;
  problem.scale = options.scale;
  problem.workspace = options.workspace;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    check_factor(operator_name, factors[f], f, x, options, problem.batches);
    problem.factors.push_back(applied(factors[f], options));
  }
  const bool turned = (options.vectors == VectorSide::left) != options.adjoint;
  problem.x_length = checked_length(operator_name, problem, x, axis, "x", turned ? "rows" : "columns",
                                    [](const AppliedFactor& factor) { return factor.columns; });
  problem.y_length = checked_length(operator_name, problem, y, axis, y_name, turned ? "columns" : "rows",
                                    [](const AppliedFactor& factor) { return factor.rows; });
  problem.fold.axis = {1, x.strides[axis], y.strides[axis]};
  problem.empty = problem.y_length == 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(x.rank); ++d) {
    if (d == axis) continue;
    if (x.extents[d] != y.extents[d]) {
      throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but ", y_name,
                             " has shape ", to_text(y.shape()), ": axis ", d,
                             " is not the transformed one and must agree");
    }
    problem.empty = problem.empty || x.extents[d] == 0;
    problem.fold.add_outer({x.extents[d], x.strides[d], y.strides[d], d == batch_axis ? 1 : 0});
  }
  return problem;
}

void check_apart_from_factors(std::string_view operator_name, std::span<const Factor> factors,
                              std::int64_t batches, const ConstTensorDescriptor& written,
                              std::string_view name) {
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (overlap(as_tensor(factors[f], batches), written) != Overlap::none) {
      throw_invalid_argument(operator_name, factor_name(f), " at ", factors[f].data, " and ", name, " at ",
                             written.data, " overlap");
    }
  }
}

KroneckerProblem make_kronecker_problem(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                                        const TensorDescriptor& y, const KroneckerOptions& options) {
  KroneckerProblem problem = read_kronecker_call(kronecker_name, factors, x, y, "y", options);
  problem.y = y.data;
  check_apart_from_factors(kronecker_name, factors, problem.batches, y, "y");
  if (problem.empty) return problem;
  // Neighbouring columns are neighbours in memory, whatever the order of the indices.
  std::stable_sort(
      problem.fold.outer, problem.fold.outer + problem.fold.outer_rank,
      [](const Dimension& a, const Dimension& b) { return std::llabs(a.x_stride) > std::llabs(b.x_stride); });
  check_not_repeating(kronecker_name, y);
  // Of one shape x and y may be one array: a tile is read before it is written.
  const Overlap kind = overlap(x, y);
  if (kind == Overlap::partial) {
    throw_invalid_argument(kronecker_name, "x at ", x.data, " of shape ", to_text(x.shape()), " and y at ",
                           y.data, " of shape ", to_text(y.shape()),
                           " overlap without being the same array (same pointer, extents and strides)");
  }
  return problem;
}

KroneckerPlan plan_kronecker(const KroneckerProblem& problem, std::int64_t tile_points) {
  KroneckerPlan plan;
  // From the fastest index on, so that the first passes work on neighbouring points.
  for (int end = static_cast<int>(problem.factors.size()); end > 0;) {
    int first = end - 1;
    while (first > 0 && pass_over(problem, first - 1, end - first + 1).largest <= tile_points) --first;
    plan.push_back(pass_over(problem, first, end - first));
    end = first;
  }
  std::stable_sort(plan.begin(), plan.end(), [](const KroneckerPass& a, const KroneckerPass& b) {
    return order_key(a.target, a.source) > order_key(b.target, b.source);
  });
  for (std::size_t p = 0; p < plan.size(); ++p) {
    for (std::size_t other = 0; other < plan.size(); ++other) {
      const std::int64_t points = other < p ? plan[other].target : plan[other].source;
      if (plan[other].first < plan[p].first) plan[p].outer *= points;
      if (plan[other].first > plan[p].first) plan[p].inner *= points;
    }
  }
  return plan;
}

KroneckerCost cost_of(const KroneckerProblem& problem, const KroneckerPlan& plan) {
  KroneckerCost cost;
  for (const KroneckerPass& pass : plan) {
    const double around = static_cast<double>(pass.outer) * static_cast<double>(pass.inner);
    cost.points += around * static_cast<double>(pass.source + pass.target);
    for (int i = 0; i < pass.count; ++i) {
      double operations = 1;  // extents of the factors applied before, of this one both, and of those after
      for (int other = 0; other < pass.count; ++other) {
        const AppliedFactor& factor =
            problem.factors[static_cast<std::size_t>(pass.first + pass.order[other])];
        if (other <= i) operations *= static_cast<double>(factor.rows);
        if (other >= i) operations *= static_cast<double>(factor.columns);
      }
      cost.multiply_adds += around * operations;
    }
  }
  return cost;
}

KroneckerBuffers buffers_of(const KroneckerProblem& problem, const KroneckerPlan& plan,
                            Architecture architecture) {
  KroneckerBuffers buffers;
  if (plan.size() < 2) return buffers;
  for (std::size_t p = 0; p + 1 < plan.size(); ++p)
    buffers.points =
        std::max({buffers.points, plan[p].outer * plan[p].target * plan[p].inner, std::int64_t{1}});
  buffers.count = plan.size() == 2 ? 1 : 2;
  const auto bytes = static_cast<std::int64_t>(sum_bytes(problem.scalar));
  buffers.columns = std::clamp(sweep_bytes(architecture) / buffers.count / bytes / buffers.points,
                               std::int64_t{1}, problem.fold.outer_count());
  return buffers;
}

}  // namespace papillon::detail
