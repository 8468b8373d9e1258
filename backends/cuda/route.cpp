// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "route.hpp"

#include <type_traits>

#include "tuning/sm_100.hpp"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {
namespace {

using detail::HadamardProblem;
using detail::Pass;

/// Shared memory that a block has on every architecture these kernels run on.
constexpr std::int64_t largest_block = 227 << 10;
/// The same less a reserve: what the pass kernel takes for a tile.
constexpr std::int64_t largest_tile = 220 << 10;

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

/// The pass as contiguous rows, if its axis is that, whole where outputs are put in order, and no more than
/// one index is left beside it, on which no sign depends.
std::optional<RowProblem> contiguous_rows(const Pass& pass) {
  const Fold& fold = pass.fold;
  const bool ordered = pass.ordering != Ordering::natural;
  if (pass.source_type != pass.target_type || fold.inner.extent != 1 || fold.outer_rank > 1) return {};
  if (fold.axis.x_stride != 1 || (ordered ? pass.place_stride : fold.axis.y_stride) != 1) return {};
  if (ordered && pass.length() != std::int64_t{1} << pass.ordering_bits) return {};
  if (!pass.plain() && fold.axis.position_step != 1) return {};
  const std::int64_t n = pass.length();
  RowProblem rows{pass.source, pass.target, 1, n, n, pass.bits, pass.factor, pass.in, pass.out};
  if (fold.outer_rank == 1 && fold.outer[0].extent > 1) {
    if (fold.outer[0].position_step != 0) return {};
    rows.rows = fold.outer[0].extent;
    rows.x_stride = fold.outer[0].x_stride;
    rows.y_stride = fold.outer[0].y_stride;
  }
  return rows;
}

/// A schedule of one pass over the whole axis.
Schedule one_pass(const HadamardProblem& step, const detail::AxisTransform& axis, const Fold& fold) {
  Schedule schedule{Architecture::device,
                    step.scalar,
                    axis.m,
                    axis.log2_power,
                    fold.outer_count(),
                    fold.inner.extent,
                    {},
                    1,
                    {}};
  PassSchedule& pass = schedule.passes[0];
  pass.bits = axis.log2_power;
  pass.base_factor = axis.m > 1;
  pass.length = axis.index.extent;
  pass.tile_bytes = static_cast<std::size_t>(pass.length) * detail::compute_bytes_of(step.scalar);
  return schedule;
}

/// launch(std::type_identity<S>{}) for the real scalar S.
template <class Launch>
cudaError_t for_scalar(ScalarType scalar, const Launch& launch) {
  switch (scalar) {
    case ScalarType::float32:
      return launch(std::type_identity<float>{});
    case ScalarType::float64:
      return launch(std::type_identity<double>{});
    case ScalarType::float16:
      return launch(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return launch(std::type_identity<bfloat16>{});
    case ScalarType::int32:
      return launch(std::type_identity<std::int32_t>{});
    case ScalarType::int64:
      return launch(std::type_identity<std::int64_t>{});
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

RowTuning tuning_of(ScalarType scalar, int k, int major) {
  const auto choose = major >= 10 ? sm_100::row_tuning : sm_90::row_tuning;
  return choose(static_cast<int>(size_of(scalar)), static_cast<int>(detail::compute_bytes_of(scalar)), k);
}

std::optional<RowProblem> as_rows(const Pass& pass) {
  if (pass.m != 1 || pass.ordering != Ordering::natural) return {};
  if (pass.source_type == ScalarType::int64 || pass.bits < 1) return {};
  const auto rows = contiguous_rows(pass);
  if (!rows) return {};
  const std::int64_t n = pass.length();
  const RowTuning tuning = tuning_of(pass.source_type, pass.bits);
  if (tuning.family == Family::pass) return {};
  const auto bytes = static_cast<std::int64_t>(size_of(pass.source_type));
  const bool dense = rows->x_stride == n && rows->y_stride == n;
  const bool several = n * bytes < 16 || (tuning.family == Family::tile && tuning.cell_bits == 10);
  if (several && !dense) return {};
  if (!aligned(pass.source) || !aligned(pass.target)) return {};
  if (!aligned(pass.in.values) || !aligned(pass.out.values)) return {};
  if (!dense && (rows->x_stride * bytes % 16 != 0 || rows->y_stride * bytes % 16 != 0)) return {};
  return rows;
}

std::optional<SharedRowProblem> as_shared_rows(const Pass& pass) {
  if (!has_shared_rows(pass.m)) return {};
  const auto rows = contiguous_rows(pass);
  if (!rows) return {};
  const ScalarType scalar = pass.source_type;
  if (shared_rows_bytes(static_cast<int>(size_of(scalar)), static_cast<int>(detail::compute_bytes_of(scalar)),
                        pass.m, rows->k, 1) > largest_block) {
    return {};
  }
  return SharedRowProblem{*rows, pass.m, pass.transpose, pass.ordering};
}

detail::Plan plan_of(const HadamardProblem& step) {
  const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(step.scalar));
  detail::Plan plan;
  for (std::size_t a = 0; a < step.axes.size(); ++a) {
    const detail::AxisTransform& axis = step.axes[a];
    const Fold fold = fold_of_axis(step, a);
    const Schedule whole = one_pass(step, axis, fold);
    bool fits = axis.index.extent <= largest_tile / value;
    if (!fits && step.axes.size() == 1) {
      fits = as_rows(make_pass(step, axis, whole, 0, fold, {step.x, step.scalar, step.y, step.scalar}))
                 .has_value();
    }
    plan.push_back(fits ? whole
                        : make_schedule(Architecture::device, step.scalar, axis.m, axis.log2_power,
                                        fold.outer_count(), fold.inner.extent));
  }
  return plan;
}

cudaError_t run_rows(cudaStream_t stream, const Device& device, ScalarType scalar, const RowProblem& rows,
                     KernelUse* use) {
  return for_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    if constexpr (std::is_same_v<S, std::int64_t>) {
      return cudaErrorInvalidValue;  // see as_rows
    } else {
      return launch_rows<S>(stream, device, rows, use);
    }
  });
}

cudaError_t run_shared_rows(cudaStream_t stream, const Device& device, ScalarType scalar,
                            const SharedRowProblem& rows, KernelUse* use) {
  return for_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    return launch_shared_rows<S>(stream, device, rows, use);
  });
}

cudaError_t run_any_pass(cudaStream_t stream, const Device& device, const Pass& pass, const std::int8_t* base,
                         KernelUse* use) {
  return detail::visit_storage(
      pass, [&]<class In, class Out>() { return launch_pass<In, Out>(stream, device, pass, base, use); });
}

}  // namespace papillon::cuda
