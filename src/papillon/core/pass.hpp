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
  int ordering_bits = 0;          ///< of the whole axis
  std::int64_t place_stride = 0;  ///< target elements from one place of the whole axis to the next

  /// Neither signs nor an order: elements need not know where on the axis they are.
  PAPILLON_FUNCTION bool plain() const { return !in.any() && !out.any() && ordering == Ordering::natural; }
  PAPILLON_FUNCTION std::int64_t length() const { return fold.axis.extent; }

  /// Target offset of an element whose offsets within the pass are `offset` and natural position `position`.
  PAPILLON_FUNCTION std::int64_t target_offset(std::int64_t offset, std::int64_t position) const {
    return ordering == Ordering::natural
               ? offset
               : offset + ordered_place(ordering, position, ordering_bits) * place_stride;
  }
  /// The position that the sign of an output belongs to: its place in the order asked for.
  PAPILLON_FUNCTION std::int64_t output_position(std::int64_t position) const {
    return ordered_place(ordering, position, ordering_bits);
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

/// Cuts pass number `index` of `schedule` out of `whole`, the fold of the whole axis with the source's and
/// the target's strides.
Pass make_pass(const HadamardProblem& problem, const Schedule& schedule, int index, const Fold& whole,
               const void* source, ScalarType source_type, void* target, ScalarType target_type);

template <class Pointer>
Pointer advanced(Pointer data, std::int64_t elements, ScalarType type) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return static_cast<Byte*>(data) + elements * static_cast<std::int64_t>(size_of(type));
}

/// Calls `run(passes)` for every sweep of the problem: passes that follow one another over the same data.
/// Without need of a workspace there is one sweep; its first pass goes from x to y and the others work in
/// place on y. With one, transforms are done one outer index (and one group of inner columns) a sweep, the
/// intermediate results staying in `workspace` in the compute type.
template <class Run>
void for_each_sweep(const HadamardProblem& problem, const Schedule& schedule, void* workspace, Run&& run) {
  const ScalarType scalar = problem.scalar;
  const auto count = static_cast<std::size_t>(schedule.pass_count);
  Pass passes[Schedule::max_passes];
  if (!needs_workspace(problem, schedule)) {
    Fold fold = problem.fold;
    const void* source = problem.x;
    for (std::size_t p = 0; p < count; ++p) {
      passes[p] = make_pass(problem, schedule, static_cast<int>(p), fold, source, scalar, problem.y, scalar);
      source = problem.y;
      fold.axis.x_stride = fold.axis.y_stride;
      fold.inner.x_stride = fold.inner.y_stride;
      for (Dimension& dimension : fold.outer) dimension.x_stride = dimension.y_stride;
    }
    run(std::span<const Pass>(passes, count));
    return;
  }
  const ScalarType compute = compute_scalar(scalar);
  const std::int64_t inner = problem.fold.inner.extent;
  const std::int64_t step = workspace_columns(problem);
  const std::int64_t outer = problem.fold.outer_count();
  for (std::int64_t o = 0; o < outer; ++o) {
    const Offset offset = problem.fold.outer_offset(o);
    for (std::int64_t i = 0; i < inner; i += step) {
      const std::int64_t width = std::min(step, inner - i);
      const Dimension& axis = problem.fold.axis;
      const Dimension& column = problem.fold.inner;
      const void* x = advanced(problem.x, offset.x + i * column.x_stride, scalar);
      void* y = advanced(problem.y, offset.y + i * column.y_stride, scalar);
      for (std::size_t p = 0; p < count; ++p) {
        const bool first = p == 0;
        const bool last = p == count - 1;
        Fold fold;
        fold.axis = {axis.extent, first ? axis.x_stride : width, last ? axis.y_stride : width, 1};
        fold.inner = {width, first ? column.x_stride : 1, last ? column.y_stride : 1, 0};
        passes[p] = make_pass(problem, schedule, static_cast<int>(p), fold, first ? x : workspace,
                              first ? scalar : compute, last ? y : workspace, last ? scalar : compute);
      }
      run(std::span<const Pass>(passes, count));
    }
  }
}

/// Calls `run(pass)` for every pass of the problem, in order.
template <class Run>
void for_each_pass(const HadamardProblem& problem, const Schedule& schedule, void* workspace, Run&& run) {
  for_each_sweep(problem, schedule, workspace, [&](std::span<const Pass> passes) {
    for (const Pass& pass : passes) run(pass);
  });
}

}  // namespace papillon::detail
