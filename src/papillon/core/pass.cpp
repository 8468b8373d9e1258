// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/pass.hpp"

#include <array>

namespace papillon::detail {

Pass make_pass(const HadamardProblem& problem, const AxisTransform& axis, const Schedule& schedule, int index,
               const Fold& whole, const PassEnds& ends) {
  const PassSchedule& part = schedule.passes[static_cast<std::size_t>(index)];
  const bool last_of_axis = index == schedule.pass_count - 1;

  Pass pass;
  pass.bits = part.bits;
  pass.m = part.base_factor ? axis.m : 1;
  pass.transpose = problem.transpose;
  pass.source = ends.source;
  pass.source_type = ends.source_type;
  pass.target = ends.target;
  pass.target_type = ends.target_type;
  pass.factor = ends.last ? problem.factor : 1.0;
  pass.columns = part.columns;
  const SignVector signs{problem.signs.values.data(), problem.signs.seed.value_or(0),
                         problem.signs.seed.has_value()};
  if (ends.first && problem.signs.side == SignSide::input) pass.in = signs;
  if (ends.last && problem.signs.side == SignSide::output) pass.out = signs;
  if (last_of_axis) pass.ordering = problem.ordering;
  pass.ordering_bits = axis.log2_power;
  pass.place_stride = whole.axis.y_stride;
  pass.first_position = ends.first_position;
  const std::int64_t step = whole.axis.position_step;
  if (step > 1) pass.position_shift = floor_log2(static_cast<std::uint64_t>(step));

  // Positions keep neighbouring indices from being merged, so they are tracked only where a sign or an order
  // depends on them.
  pass.fold = whole;
  const std::int64_t tracked = pass.plain() ? 0 : 1;
  pass.fold.inner.position_step *= tracked;
  for (Dimension& other : pass.fold.outer) other.position_step *= tracked;
  // In an order other than the natural one the place decides where an element goes, not its strides.
  const std::int64_t y_stride = pass.ordering == Ordering::natural ? whole.axis.y_stride : 0;
  const std::int64_t low = std::int64_t{1} << part.first_bit;
  const std::int64_t x_stride = whole.axis.x_stride;
  const std::int64_t position = step * tracked;
  pass.fold.axis = {part.length, low * x_stride, low * whole.axis.y_stride, low * position};
  const std::int64_t block = low * part.length;
  pass.fold.add_outer({whole.axis.extent / block, block * x_stride, block * y_stride, block * position});
  pass.fold.add_outer({low, x_stride, y_stride, position});
  pass.fold.normalize();
  if (pass.ordering != Ordering::natural) pass.fold.axis.y_stride = 0;
  return pass;
}

namespace {

int pass_count(const Plan& plan) {
  int count = 0;
  for (const Schedule& schedule : plan) count += schedule.pass_count;
  return count;
}

}  // namespace

Passes make_passes(const HadamardProblem& step, const Plan& plan) {
  Passes passes;
  const int count = pass_count(plan);
  for (std::size_t a = 0; a < plan.size(); ++a) {
    Fold fold = fold_of_axis(step, a);
    for (int p = 0; p < plan[a].pass_count; ++p) {
      const bool first = passes.empty();
      const bool last = static_cast<int>(passes.size()) == count - 1;
      passes.add([&] {
        return make_pass(step, step.axes[a], plan[a], p, fold,
                         {first ? step.x : step.y, step.scalar, step.y, step.scalar, first, last});
      });
      if (!first) continue;
      fold.axis.x_stride = fold.axis.y_stride;
      fold.inner.x_stride = fold.inner.y_stride;
      for (Dimension& dimension : fold.outer) dimension.x_stride = dimension.y_stride;
    }
  }
  return passes;
}

Passes make_workspace_passes(const HadamardProblem& step, const Plan& plan, const Batch& batch, const void* x,
                             void* y, std::int64_t first_position, std::int64_t transforms,
                             std::int64_t width, void* workspace) {
  const ScalarType compute = compute_scalar(step.scalar);
  const std::int64_t place_elements = step.n() * width * transforms;
  void* const places[2] = {workspace, advanced(workspace, place_elements, compute)};
  int here = 0;  // the place that holds the results so far

  Passes passes;
  const int count = pass_count(plan);
  for (std::size_t a = 0; a < plan.size(); ++a) {
    for (int p = 0; p < plan[a].pass_count; ++p) {
      const bool first = passes.empty();
      const bool last = static_cast<int>(passes.size()) == count - 1;
      // The last of several passes that puts an axis in order writes where other passes have yet to read.
      const bool moves =
          step.ordering != Ordering::natural && plan[a].pass_count > 1 && p == plan[a].pass_count - 1;
      void* const source = places[here];
      if (moves && !last) here = 1 - here;
      std::array<Dimension, max_axes> indices;
      std::int64_t stride = width;
      for (std::size_t b = 0; b < step.axes.size(); ++b) {
        const Dimension& index = step.axes[b].index;
        indices[b] = {index.extent, first ? index.x_stride : stride, last ? index.y_stride : stride,
                      index.position_step};
        stride *= index.extent;
      }
      const Dimension& column = batch.fold.inner;
      std::array<Dimension, 2> others{
          Dimension{width, first ? column.x_stride : 1, last ? column.y_stride : 1, column.position_step},
          Dimension{}};
      if (transforms > 1) {
        const Dimension& outer = batch.fold.outer[batch.fold.outer_rank - 1];
        others[1] = {transforms, first ? outer.x_stride : stride, last ? outer.y_stride : stride,
                     outer.position_step};
      }
      const Fold fold = fold_around(std::span<const Dimension>(indices.data(), step.axes.size()), a, others);
      passes.add([&] {
        return make_pass(step, step.axes[a], plan[a], p, fold,
                         {first ? x : source, first ? step.scalar : compute, last ? y : places[here],
                          last ? step.scalar : compute, first, last, first_position});
      });
    }
  }
  return passes;
}

Passes first_sweep(const HadamardProblem& step, const Plan& plan, void* workspace) {
  if (!needs_workspace(step, plan)) return make_passes(step, plan);
  const Batch batch = make_batch(step, plan);
  return make_workspace_passes(step, plan, batch, step.x, step.y, 0, batch.transforms, batch.columns,
                               workspace);
}

}  // namespace papillon::detail
