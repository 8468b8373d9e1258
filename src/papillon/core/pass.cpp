// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/pass.hpp"

namespace papillon::detail {

Pass make_pass(const HadamardProblem& problem, const Schedule& schedule, int index, const Fold& whole,
               const void* source, ScalarType source_type, void* target, ScalarType target_type) {
  const PassSchedule& part = schedule.passes[static_cast<std::size_t>(index)];
  const bool first = index == 0;
  const bool last = index == schedule.pass_count - 1;

  Pass pass;
  pass.bits = part.bits;
  pass.m = part.base_factor ? problem.m : 1;
  pass.transpose = problem.transpose;
  pass.source = source;
  pass.source_type = source_type;
  pass.target = target;
  pass.target_type = target_type;
  pass.factor = last ? problem.factor : 1.0;
  pass.columns = part.columns;
  const SignVector signs{problem.signs.values.data(), problem.signs.seed.value_or(0),
                         problem.signs.seed.has_value()};
  if (first && problem.signs.side == SignSide::input) pass.in = signs;
  if (last && problem.signs.side == SignSide::output) pass.out = signs;
  if (last) pass.ordering = problem.ordering;
  pass.ordering_bits = problem.log2_power;
  pass.place_stride = whole.axis.y_stride;

  // Positions along the axis keep neighbouring indices from being merged, so they are tracked only where a
  // sign or an order depends on them.
  const std::int64_t position = pass.plain() ? 0 : 1;
  // In an order other than the natural one the place decides where an element goes, not its strides.
  const std::int64_t y_stride = pass.ordering == Ordering::natural ? whole.axis.y_stride : 0;
  const std::int64_t low = std::int64_t{1} << part.first_bit;
  const std::int64_t x_stride = whole.axis.x_stride;
  pass.fold = whole;
  pass.fold.axis = {part.length, low * x_stride, low * whole.axis.y_stride, low * position};
  const std::int64_t block = low * part.length;
  pass.fold.add_outer({whole.axis.extent / block, block * x_stride, block * y_stride, block * position});
  pass.fold.add_outer({low, x_stride, y_stride, position});
  pass.fold.normalize();
  if (pass.ordering != Ordering::natural) pass.fold.axis.y_stride = 0;
  return pass;
}

}  // namespace papillon::detail
