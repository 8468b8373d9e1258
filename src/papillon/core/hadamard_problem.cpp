// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/hadamard_problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/core/tensor_checks.hpp"
#include "papillon/orders.hpp"

namespace papillon::detail {
namespace {

constexpr std::string_view operator_name = "hadamard";

double factor_of(const HadamardOptions& options, std::int64_t n, ScalarType type) {
  if (!std::isfinite(options.scale)) {
    throw_invalid_argument(operator_name, "scale = ", options.scale, " is not finite");
  }
  double factor = options.scale;
  const auto length = static_cast<double>(n);
  switch (options.norm) {
    case Normalization::none:
      break;
    case Normalization::ortho:
      factor = options.scale / std::sqrt(length);
      break;
    case Normalization::inverse:
      factor = options.scale / length;
      break;
    default:
      throw_invalid_argument(operator_name, "norm has the unknown value ", static_cast<int>(options.norm));
  }
  if (compute_scalar(real_of(type)) == ScalarType::float32 &&
      std::abs(factor) > static_cast<double>(std::numeric_limits<float>::max())) {
    throw_invalid_argument(operator_name, "scale = ", options.scale, " and norm = ", name_of(options.norm),
                           " make the factor ", factor, ", more than a float holds, in which ", name_of(type),
                           " is multiplied");
  }
  if (is_integer(type)) {
    const double bound = type == ScalarType::int32 ? 2147483648.0 : 9223372036854775808.0;
    if (factor != std::trunc(factor) || std::abs(factor) >= bound) {
      throw_invalid_argument(operator_name, "norm = ", name_of(options.norm), " and scale = ", options.scale,
                             " make the factor ", factor, " for n = ", n, "; ", name_of(type),
                             " needs an integer factor within its range (norm = none)");
    }
  }
  return factor;
}

void check_signs(const Signs& signs, std::int64_t n, bool readable) {
  if (signs.side != SignSide::input && signs.side != SignSide::output) {
    throw_invalid_argument(operator_name, "signs.side has the unknown value ", static_cast<int>(signs.side));
  }
  if (signs.values.data() == nullptr) return;
  if (signs.seed) throw_invalid_argument(operator_name, "signs has both values and a seed; give one");
  if (static_cast<std::int64_t>(signs.values.size()) != n) {
    throw_invalid_argument(operator_name, "signs has length ", signs.values.size(),
                           " but the transform has length n = ", n);
  }
  if (!readable) return;
  for (std::size_t i = 0; i < signs.values.size(); ++i) {
    if (signs.values[i] != 1 && signs.values[i] != -1) {
      throw_invalid_argument(operator_name, "signs[", i, "] = ", static_cast<int>(signs.values[i]),
                             " is neither +1 nor -1");
    }
  }
}

/// The axes to transform, ascending, each once.
FixedVector<int, max_rank> checked_axes(const ConstTensorDescriptor& x, const HadamardOptions& options) {
  FixedVector<int, max_rank> axes;
  if (options.axes.empty()) {
    axes.push_back(checked_axis(operator_name, options.axis, "axis", x));
  } else {
    if (options.axis != -1) {
      throw_invalid_argument(operator_name, "axis = ", options.axis,
                             " and axes = ", to_text(options.axes.values()), " are both given; give one");
    }
    for (const int axis : options.axes.values()) {
      const int position = checked_axis(operator_name, axis, "axes: an entry", x);
      if (std::find(axes.begin(), axes.end(), position) != axes.end()) {
        throw_invalid_argument(operator_name, "axes = ", to_text(options.axes.values()), " names axis ",
                               position, " of shape ", to_text(x.shape()), " twice");
      }
      axes.push_back(position);
    }
    std::sort(axes.begin(), axes.end());
  }
  std::int64_t points = 1;
  for (const int axis : axes) {
    if (x.extents[static_cast<std::size_t>(axis)] == 0) {
      throw_invalid_argument(operator_name, "the transformed axis ", axis, " of shape ", to_text(x.shape()),
                             " has length n = 0");
    }
    if (__builtin_mul_overflow(points, x.extents[static_cast<std::size_t>(axis)], &points)) {
      throw_invalid_argument(operator_name, "axes = ", to_text(options.axes.values()), " of shape ",
                             to_text(x.shape()), " have more than 2^63 points");
    }
  }
  return axes;
}

void check_group(const ConstTensorDescriptor& x, std::span<const int> axes, std::int64_t group) {
  if (group != 0 && axes.size() > 1) {
    throw_invalid_argument(operator_name, "group = ", group, " is for a transform of one axis, but ",
                           axes.size(), " are given");
  }
  const std::int64_t length = x.extents[static_cast<std::size_t>(axes[0])];
  if (group < 0 || (group > 0 && length % group != 0)) {
    throw_invalid_argument(operator_name, "group = ", group, " does not divide n = ", length, " (axis ",
                           axes[0], " of shape ", to_text(x.shape()), ")");
  }
}

void check_choices(const HadamardOptions& options) {
  if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::butterfly) {
    throw_invalid_argument(operator_name, "algorithm has the unknown value ",
                           static_cast<int>(options.algorithm));
  }
  if (options.ordering != Ordering::natural && options.ordering != Ordering::sequency &&
      options.ordering != Ordering::dyadic) {
    throw_invalid_argument(operator_name, "ordering has the unknown value ",
                           static_cast<int>(options.ordering));
  }
  if (options.intermediate != Intermediate::compute && options.intermediate != Intermediate::storage) {
    throw_invalid_argument(operator_name, "intermediate has the unknown value ",
                           static_cast<int>(options.intermediate));
  }
}

/// n = m * 2^k for axis number `axis`, or an error that names the nearest orders.
AxisTransform factorized(const Dimension& index, int axis, const ConstTensorDescriptor& x,
                         const HadamardOptions& options) {
  const std::int64_t n = index.extent;
  if (std::has_single_bit(static_cast<std::uint64_t>(n))) {  // spares the look-up
    return {index, 1, std::countr_zero(static_cast<std::uint64_t>(n))};
  }
  if (!hadamard_order_exists(n)) {
    const auto [below, above] = nearest_hadamard_orders(n);
    throw_invalid_argument(operator_name, "no Hadamard matrix of order n = ", n, " (",
                           options.group > 0 ? "the group" : "the length", " of axis ", axis, " of shape ",
                           to_text(x.shape()), ") is constructed here; the nearest offered orders are ",
                           below, " and ", above);
  }
  if (options.ordering != Ordering::natural) {
    throw_invalid_argument(operator_name, "ordering = ", name_of(options.ordering),
                           " exists for powers of two only, not for n = ", n);
  }
  const HadamardFactorization factorization = hadamard_factorization(n);
  return {index, factorization.order, factorization.log2_power};
}

/// Adds an axis to those of the problem: as a factor of the one before it, where the two step as one index
/// and one after the other is what the stages of the merged index are.
void add_axis(HadamardProblem& problem, const AxisTransform& axis) {
  if (!problem.axes.empty()) {
    if (axis.index.extent == 1) return;
    AxisTransform& fast = problem.axes.back();
    if (fast.index.extent == 1) {
      fast = axis;
      return;
    }
    if (!problem.rounds_between_axes && problem.ordering == Ordering::natural && fast.m == 1 &&
        axis.index.x_stride == fast.index.extent * fast.index.x_stride &&
        axis.index.y_stride == fast.index.extent * fast.index.y_stride) {
      fast.index.extent *= axis.index.extent;
      fast.m = axis.m;
      fast.log2_power += axis.log2_power;
      return;
    }
  }
  problem.axes.push_back(axis);
}

/// The same, cut in two where results are rounded on the way.
void add_rounded_axis(HadamardProblem& problem, const AxisTransform& axis) {
  const std::int64_t n = axis.index.extent;
  if (n <= longest_unrounded_axis) {
    add_axis(problem, axis);
    return;
  }
  if (problem.ordering != Ordering::natural) {
    throw_invalid_argument(operator_name,
                           "intermediate = storage cannot be had with ordering = ", name_of(problem.ordering),
                           " for n = ", n, ", more than ", longest_unrounded_axis);
  }
  const int bits = storage_rounding_bit(n, axis.log2_power);
  const Dimension& index = axis.index;
  const std::int64_t points = std::int64_t{1} << bits;
  add_axis(problem, {{points, index.x_stride, index.y_stride, index.position_step}, 1, bits});
  add_axis(problem,
           {{n >> bits, points * index.x_stride, points * index.y_stride, points * index.position_step},
            axis.m,
            axis.log2_power - bits});
}

/// The untransformed indices and the axes' own of `problem`, as fold_around takes them.
FixedVector<Dimension, max_axes> indices_of(const HadamardProblem& problem) {
  FixedVector<Dimension, max_axes> indices;
  for (const AxisTransform& axis : problem.axes) indices.push_back(axis.index);
  return indices;
}

/// Bytes that the transforms of a batch's columns and transforms take in the compute type.
__int128 place_bytes(const HadamardProblem& step, const Batch& batch) {
  return static_cast<__int128>(step.n()) * batch.columns * batch.transforms *
         static_cast<std::int64_t>(compute_bytes_of(step.scalar));
}

}  // namespace

std::int64_t HadamardProblem::n() const {
  std::int64_t points = 1;
  for (const AxisTransform& axis : axes) points *= axis.index.extent;
  return points;
}

HadamardProblem make_hadamard_problem(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const HadamardOptions& options, bool signs_readable) {
  check_tensor(operator_name, x, "x");
  check_tensor(operator_name, y, "y");
  if (x.type != y.type) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type), " but y holds ", name_of(y.type));
  }
  if (x.rank != y.rank || !std::equal(x.shape().begin(), x.shape().end(), y.shape().begin())) {
    throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but y has shape ",
                           to_text(y.shape()));
  }
  check_choices(options);
  const auto axes = checked_axes(x, options);
  check_group(x, axes, options.group);
  const IndexSplit split = split_indices(x, y, axes, options.group);

  HadamardProblem problem;
  problem.scalar = real_of(x.type);
  problem.x = x.data;
  problem.y = y.data;
  problem.ordering = options.ordering;
  problem.workspace = options.workspace;
  problem.rounds_between_axes =
      options.intermediate == Intermediate::storage && compute_scalar(problem.scalar) != problem.scalar;
  std::int64_t points = 1;
  bool has_base = false;
  const bool plain =
      !options.signs.seed && options.signs.values.data() == nullptr && options.ordering == Ordering::natural;
  for (std::size_t a = 0; a < split.axes.size(); ++a) {
    AxisTransform axis = factorized(split.axes[a], axes[axes.size() - 1 - a], x, options);
    points *= axis.index.extent;
    has_base = has_base || axis.m > 1;
    // Positions keep indices from being merged, so they are tracked only where something depends on them.
    if (plain) axis.index.position_step = 0;
    if (problem.rounds_between_axes) {
      add_rounded_axis(problem, axis);
    } else {
      add_axis(problem, axis);
    }
  }
  problem.transpose = options.transpose && has_base;
  problem.factor = factor_of(options, points, x.type);
  check_signs(options.signs, points, signs_readable);
  problem.signs = options.signs;

  const auto shape = x.shape();
  problem.empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (problem.empty) return problem;

  check_not_repeating(operator_name, y);
  const Overlap kind = overlap(x, y);
  if (kind == Overlap::partial) {
    throw_invalid_argument(operator_name, "x at ", x.data, " and y at ", y.data, ", both of shape ",
                           to_text(x.shape()),
                           ", overlap without being the same array (same pointer, extents and strides)");
  }
  problem.in_place = kind == Overlap::same;
  problem.others = split.others;
  problem.fold = fold_around(indices_of(problem), 0, problem.others);
  return problem;
}

HadamardProblem axis_step(const HadamardProblem& problem, std::size_t axis) {
  const bool first = axis == 0;
  const bool last = axis == problem.axes.size() - 1;
  HadamardProblem step = problem;
  step.axes = {};
  step.axes.push_back(problem.axes[axis]);
  for (std::size_t a = 0; a < problem.axes.size(); ++a) {
    if (a != axis) step.others.push_back(problem.axes[a].index);
  }
  if (!first) {
    step.x = problem.y;
    step.in_place = true;
    step.axes[0].index.x_stride = step.axes[0].index.y_stride;
    for (Dimension& other : step.others) other.x_stride = other.y_stride;
  }
  if (!last) step.factor = 1.0;
  const bool keeps_signs = problem.signs.side == SignSide::input ? first : last;
  if (!keeps_signs) step.signs = {};
  if (!keeps_signs && step.ordering == Ordering::natural) {
    step.axes[0].index.position_step = 0;
    for (Dimension& other : step.others) other.position_step = 0;
  }
  step.fold = fold_around(indices_of(step), 0, step.others);
  return step;
}

Fold fold_of_axis(const HadamardProblem& problem, std::size_t axis) {
  if (axis == 0) return problem.fold;
  auto indices = indices_of(problem);
  auto others = problem.others;
  for (Dimension& index : indices) index.x_stride = index.y_stride;
  for (Dimension& other : others) other.x_stride = other.y_stride;
  return fold_around(indices, axis, others);
}

Plan make_plan(const HadamardProblem& step, Architecture architecture) {
  Plan plan;
  for (std::size_t a = 0; a < step.axes.size(); ++a) {
    const Fold fold = fold_of_axis(step, a);
    plan.add([&] {
      return make_schedule(architecture, step.scalar, step.axes[a].m, step.axes[a].log2_power,
                           fold.outer_count(), fold.inner.extent);
    });
  }
  return plan;
}

bool may_need_workspace(const HadamardProblem& problem) {
  return compute_scalar(problem.scalar) != problem.scalar || problem.ordering != Ordering::natural;
}

bool needs_workspace(const HadamardProblem& step, const Plan& plan) {
  int passes = 0;
  bool ordered_passes = false;
  for (const Schedule& schedule : plan) {
    passes += schedule.pass_count;
    if (schedule.pass_count > 1 && step.ordering != Ordering::natural) ordered_passes = true;
  }
  const bool narrow = compute_scalar(step.scalar) != step.scalar;
  return ordered_passes || (narrow && passes > 1);
}

bool needs_second_place(const HadamardProblem& step, const Plan& plan) {
  if (step.ordering == Ordering::natural) return false;
  return std::any_of(plan.begin(), plan.end() - 1,
                     [](const Schedule& schedule) { return schedule.pass_count > 1; });
}

Batch make_batch(const HadamardProblem& step, const Plan& plan) {
  constexpr std::int64_t most_columns = 64;  // enough for whole cache lines, whatever the scalar
  Batch batch;
  if (step.axes.size() == 1) {
    batch.fold = step.fold;
  } else {
    auto indices = indices_of(step);
    const auto fastest = std::min_element(
        indices.begin(), indices.end(),
        [](const Dimension& a, const Dimension& b) { return std::abs(a.y_stride) < std::abs(b.y_stride); });
    batch.fold = fold_around(std::span(fastest, 1), 0, step.others);
  }
  batch.columns = std::min(batch.fold.inner.extent, most_columns);
  if (batch.fold.outer_rank > 0) {
    const __int128 bytes = place_bytes(step, batch) * (needs_second_place(step, plan) ? 2 : 1);
    batch.transforms = std::clamp(static_cast<std::int64_t>(sweep_bytes(plan[0].architecture) / bytes),
                                  std::int64_t{1}, batch.fold.outer[batch.fold.outer_rank - 1].extent);
  }
  return batch;
}

std::size_t workspace_bytes(const HadamardProblem& step, const Plan& plan) {
  if (step.empty || !needs_workspace(step, plan)) return 0;
  const __int128 bytes = place_bytes(step, make_batch(step, plan)) * (needs_second_place(step, plan) ? 2 : 1);
  constexpr __int128 most = std::numeric_limits<std::int64_t>::max();  // no memory is larger
  return static_cast<std::size_t>(std::min(bytes, most));
}

std::size_t workspace_bytes(const HadamardProblem& problem, Architecture architecture) {
  std::size_t bytes = 0;
  if (!may_need_workspace(problem)) return 0;
  for_each_step(problem, [&](const HadamardProblem& step) {
    bytes = std::max(bytes, workspace_bytes(step, make_plan(step, architecture)));
  });
  return bytes;
}

}  // namespace papillon::detail
