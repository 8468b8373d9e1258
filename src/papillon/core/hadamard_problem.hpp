// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/fixed_vector.hpp"
#include "papillon/core/fold.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/core/tensor_checks.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::detail {

/// H_m ⊗ H_{2^log2_power} along one index: an axis, neighbouring axes that step as one, or the lower or upper
/// bits of an axis.
struct AxisTransform {
  Dimension index;
  std::int64_t m = 1;
  int log2_power = 0;
};

/// A checked call of `hadamard`, without types: what every backend starts from.
struct HadamardProblem {
  ScalarType scalar = ScalarType::float32;  ///< real: complex arrays have an inner index of extent 2
  const void* x = nullptr;
  void* y = nullptr;
  FixedVector<AxisTransform, max_axes> axes;       ///< in the order in which they are transformed
  FixedVector<Dimension, Fold::max_outer> others;  ///< the indices that are not transformed
  Fold fold;                                       ///< around axes[0]
  bool transpose = false;                          ///< of the order-m matrices; the rest is symmetric
  double factor = 1.0;                             ///< normalisation times scale
  Ordering ordering = Ordering::natural;           ///< of each axis
  Signs signs;
  bool in_place = false;
  bool empty = false;                ///< nothing to do
  bool rounds_between_axes = false;  ///< to the scalar, which is then a 16-bit one
  Workspace workspace;

  /// Points of a transform.
  std::int64_t n() const;
  bool has_signs() const { return signs.seed.has_value() || !signs.values.empty(); }
};

/// Checks every argument of a call and folds it. Throws std::invalid_argument naming the argument and its
/// value; touches no element. `signs_readable` says whether the host may read the sign vector.
HadamardProblem make_hadamard_problem(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const HadamardOptions& options, bool signs_readable);

/// The longest axis that `Intermediate::storage` transforms without rounding on the way.
inline constexpr std::int64_t longest_unrounded_axis = std::int64_t{1} << 19;

/// Of a longer axis of n points, the number of lower bits after whose stages `Intermediate::storage` rounds.
/// It does not depend on the backend, so the bits do not either: lengths that rows and columns are fast for.
constexpr int storage_rounding_bit(std::int64_t n, int log2_power) {
  const int bits = floor_log2(static_cast<std::uint64_t>(n));
  const int low = bits > 30 ? bits - 15 : bits > 26 ? 15 : bits > 24 ? bits - 11 : 13;
  return low < log2_power ? low : log2_power;
}

/// The problem that transforms axes[axis] alone, from x where it is the first and else in place in y.
HadamardProblem axis_step(const HadamardProblem& problem, std::size_t axis);

/// Calls `run(step)` for each problem that a call consists of: itself, or a problem an axis where results are
/// rounded between axes.
template <class Run>
void for_each_step(const HadamardProblem& problem, Run&& run) {
  if (problem.empty) return;
  if (!problem.rounds_between_axes || problem.axes.size() == 1) {
    run(problem);
    return;
  }
  for (std::size_t axis = 0; axis < problem.axes.size(); ++axis) run(axis_step(problem, axis));
}

/// The schedules of the axes of a step, in order.
using Plan = FixedVector<Schedule, max_axes>;

/// The fold around axes[axis], of y where a transform of another axis has already written it.
Fold fold_of_axis(const HadamardProblem& problem, std::size_t axis);

Plan make_plan(const HadamardProblem& step, Architecture architecture);

/// Whether some plan of the problem could need a workspace; most calls are spared asking one.
bool may_need_workspace(const HadamardProblem& problem);

/// Whether intermediate results need memory beyond y: several passes with 16-bit scalars (sums stay in float
/// between passes) or several passes of an axis with an order of outputs that only its last pass can write.
bool needs_workspace(const HadamardProblem& step, const Plan& plan);

/// Whether the outputs of some axis but the last need a place of their own: they are put in order by the last
/// of several passes.
bool needs_second_place(const HadamardProblem& step, const Plan& plan);

/// How a step is worked on through a workspace: the transforms of `transforms` indices of the fastest outer
/// index and of `columns` inner ones at a time. The fold is that of the untransformed indices, its axis the
/// transformed one that varies fastest.
struct Batch {
  Fold fold;
  std::int64_t transforms = 1;
  std::int64_t columns = 1;
};
Batch make_batch(const HadamardProblem& step, const Plan& plan);

/// Bytes of workspace for a step; 0 when none is needed. At most `sweep_bytes`, or what one transform of up
/// to 64 neighbouring columns takes.
std::size_t workspace_bytes(const HadamardProblem& step, const Plan& plan);

/// The same for a whole call, whose steps use one memory after the other.
std::size_t workspace_bytes(const HadamardProblem& problem, Architecture architecture);

}  // namespace papillon::detail
