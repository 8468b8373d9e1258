// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "papillon/core/fold.hpp"
#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/ordering.hpp"
#include "papillon/core/schedule.hpp"

namespace papillon::detail {

/// A diagonal of ±1 along the transformed axis, as kernels read it.
struct SignVector {
  const std::int8_t* values = nullptr;
  std::uint64_t seed = 0;
  bool seeded = false;

  PAPILLON_FUNCTION bool any() const { return seeded || values != nullptr; }
  PAPILLON_FUNCTION bool negative(std::int64_t position) const {
    return seeded ? random_sign_is_negative(seed, position) : values[position] < 0;
  }
};

/// One pass over the data, ready to run: target[o, place(p), i] = factor * out(p) * sum over the axis of
/// (H_m ⊗ H_{2^bits})[p, q] * in(q) * source[o, q, i], where `fold.axis` has m * 2^bits points, the strides
/// called x are those of the source and the strides called y those of the target.
struct Pass {
  Fold fold;
  std::int64_t m = 1;
  int bits = 0;
  bool transpose = false;  ///< of the order-m matrix
  ScalarType source_type = ScalarType::float32;
  ScalarType target_type = ScalarType::float32;
  const void* source = nullptr;
  void* target = nullptr;
  double factor = 1.0;
  std::int64_t columns = 1;  ///< neighbouring transforms that the schedule puts into one tile
  SignVector in;
  SignVector out;
  Ordering ordering = Ordering::natural;
  int ordering_bits = 0;            ///< of the whole axis
  int position_shift = 0;           ///< bits of a position below those of the axis
  std::int64_t first_position = 0;  ///< of the first element
  std::int64_t place_stride = 0;    ///< target elements from one place of the whole axis to the next

  /// Neither signs nor an order: elements need not know where on the axis they are.
  PAPILLON_FUNCTION bool plain() const { return !in.any() && !out.any() && ordering == Ordering::natural; }
  PAPILLON_FUNCTION std::int64_t length() const { return fold.axis.extent; }

  /// Target offset of an element whose offsets within the pass are `offset` and natural position `position`.
  PAPILLON_FUNCTION std::int64_t target_offset(std::int64_t offset, std::int64_t position) const {
    return ordering == Ordering::natural ? offset : offset + axis_place(position) * place_stride;
  }
  /// Where on the axis, in the order asked for, stands the output of natural position `position`.
  PAPILLON_FUNCTION std::int64_t axis_place(std::int64_t position) const {
    return ordered_place(ordering, natural_place(position), ordering_bits);
  }
  /// The position that the sign of an output belongs to: its place in the order asked for.
  PAPILLON_FUNCTION std::int64_t output_position(std::int64_t position) const {
    if (ordering == Ordering::natural) return position;
    return position + ((axis_place(position) - natural_place(position)) << position_shift);
  }

 private:
  PAPILLON_FUNCTION std::int64_t natural_place(std::int64_t position) const {
    return (position >> position_shift) & ((std::int64_t{1} << ordering_bits) - 1);
  }
};

/// visit.operator()<In, Out>() for the storage types of a pass: equal ones, or a 16-bit type on one side and
/// float on the other.
template <class Visit>
auto visit_storage(const Pass& pass, const Visit& visit) {
  const auto narrow = [&]<class S>(std::type_identity<S>) {
    if (pass.source_type == pass.target_type) return visit.template operator()<S, S>();
    if (pass.target_type == ScalarType::float32) return visit.template operator()<S, float>();
    return visit.template operator()<float, S>();
  };
  const bool narrow_target = size_of(pass.target_type) < size_of(pass.source_type);
  switch (narrow_target ? pass.target_type : pass.source_type) {
    case ScalarType::float32:
      return visit.template operator()<float, float>();
    case ScalarType::float64:
      return visit.template operator()<double, double>();
    case ScalarType::int32:
      return visit.template operator()<std::int32_t, std::int32_t>();
    case ScalarType::int64:
      return visit.template operator()<std::int64_t, std::int64_t>();
    case ScalarType::float16:
      return narrow(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return narrow(std::type_identity<bfloat16>{});
    case ScalarType::complex64:
    case ScalarType::complex128:
      break;  // folded into reals before passes are made
  }
  throw std::logic_error("papillon: a pass over a scalar that is not real");
}

/// Where a pass reads and writes.
struct PassEnds {
  const void* source = nullptr;
  ScalarType source_type = ScalarType::float32;
  void* target = nullptr;
  ScalarType target_type = ScalarType::float32;
  bool first = true;  ///< of all passes: where input signs apply
  bool last = true;   ///< where the factor and output signs do
  std::int64_t first_position = 0;
};

/// Cuts pass number `index` of the axis' schedule out of `whole`, the fold of the whole axis with the
/// source's and the target's strides.
Pass make_pass(const HadamardProblem& problem, const AxisTransform& axis, const Schedule& schedule, int index,
               const Fold& whole, const PassEnds& ends);

template <class Pointer>
Pointer advanced(Pointer data, std::int64_t elements, ScalarType type) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return static_cast<Byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

/// The passes of a step, over all axes. Sizes of 64 bits leave room for no more.
using Passes = FixedVector<Pass, 32>;

/// The passes of a step that needs no workspace: the first goes from x to y, the others work in place on y.
Passes make_passes(const HadamardProblem& step, const Plan& plan);

/// The passes of a step that does, for the transforms of `transforms` indices of the batch's fastest outer
/// index and `width` inner ones, which start at `x`, `y` and `first_position`: intermediate results lie in
/// `workspace`, densely, in the compute type.
Passes make_workspace_passes(const HadamardProblem& step, const Plan& plan, const Batch& batch, const void* x,
                             void* y, std::int64_t first_position, std::int64_t transforms,
                             std::int64_t width, void* workspace);

/// The passes of the first sweep, as for_each_sweep makes them.
Passes first_sweep(const HadamardProblem& step, const Plan& plan, void* workspace);

/// What a transform moves through memory, caches not counted.
struct Traffic {
  int passes = 0;
  std::int64_t element_bytes = 0;  ///< read and written for each real element, over all passes

  void add(std::span<const Pass> sweep) {
    for (const Pass& pass : sweep) {
      ++passes;
      element_bytes += static_cast<std::int64_t>(size_of(pass.source_type) + size_of(pass.target_type));
    }
  }
};

/// Calls `run(passes)` for every sweep of a step: passes that follow one another over the same data. Without
/// need of a workspace there is one sweep; with one, a sweep does the transforms that the workspace has room
/// for, the intermediate results staying in `workspace`.
template <class Run>
void for_each_sweep(const HadamardProblem& step, const Plan& plan, void* workspace, Run&& run) {
  if (!needs_workspace(step, plan)) {
    const Passes passes = make_passes(step, plan);
    run(std::span<const Pass>(passes));
    return;
  }
  const Batch batch = make_batch(step, plan);
  const Dimension& column = batch.fold.inner;
  const std::int64_t fastest =
      batch.fold.outer_rank > 0 ? batch.fold.outer[batch.fold.outer_rank - 1].extent : 1;
  const std::int64_t outer = batch.fold.outer_count();
  std::int64_t transforms = 1;
  for (std::int64_t o = 0; o < outer; o += transforms) {
    transforms = std::min(batch.transforms, fastest - o % fastest);
    const Offset offset = batch.fold.outer_offset(o);
    for (std::int64_t i = 0; i < column.extent; i += batch.columns) {
      const Passes passes = make_workspace_passes(
          step, plan, batch, advanced(step.x, offset.x + i * column.x_stride, step.scalar),
          advanced(step.y, offset.y + i * column.y_stride, step.scalar),
          offset.position + i * column.position_step, transforms, std::min(batch.columns, column.extent - i),
          workspace);
      run(std::span<const Pass>(passes));
    }
  }
}

/// Calls `run(pass)` for every pass of a step, in order.
template <class Run>
void for_each_pass(const HadamardProblem& step, const Plan& plan, void* workspace, Run&& run) {
  for_each_sweep(step, plan, workspace, [&](std::span<const Pass> passes) {
    for (const Pass& pass : passes) run(pass);
  });
}

}  // namespace papillon::detail
