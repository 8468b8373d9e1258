// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "route.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <type_traits>

#include "api.hpp"
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
  if (fold.inner.extent != 1 || fold.outer_rank > 1) return {};
  if (fold.axis.x_stride != 1 || (ordered ? pass.place_stride : fold.axis.y_stride) != 1) return {};
  if (ordered && pass.length() != std::int64_t{1} << pass.ordering_bits) return {};
  if (!pass.plain() && (fold.axis.position_step != 1 || pass.first_position != 0)) return {};
  const std::int64_t n = pass.length();
  RowProblem rows{pass.source, pass.target, 1, n, n, pass.bits, 0, pass.factor, pass.in, pass.out};
  if (fold.outer_rank == 1 && fold.outer[0].extent > 1) {
    if (fold.outer[0].position_step != 0) return {};
    rows.rows = fold.outer[0].extent;
    rows.x_stride = fold.outer[0].x_stride;
    rows.y_stride = fold.outer[0].y_stride;
  }
  return rows;
}

/// A plain pass over 2^bits points of 2^j columns without a gap, as contiguous rows of both, where that is
/// its fastest form.
std::optional<RowProblem> rows_of_columns(const Pass& pass) {
  const Fold& fold = pass.fold;
  const std::int64_t inner = fold.inner.extent;
  if (inner < 2 || !std::has_single_bit(static_cast<std::uint64_t>(inner)) || !pass.plain()) return {};
  if (pass.source_type != pass.target_type || fold.outer_rank > 1) return {};
  if (fold.inner.x_stride != 1 || fold.inner.y_stride != 1) return {};
  if (fold.axis.x_stride != inner || fold.axis.y_stride != inner) return {};
  const int inner_bits = detail::floor_log2(static_cast<std::uint64_t>(inner));
  const auto bytes = static_cast<int>(size_of(pass.source_type));
  const auto value = static_cast<int>(detail::compute_bytes_of(pass.source_type));
  if (!sm_90::takes_inner_rows(bytes, value, pass.bits, inner_bits)) return {};
  const std::int64_t n = pass.length() * inner;
  RowProblem rows{pass.source, pass.target, 1, n, n, pass.bits + inner_bits, inner_bits, pass.factor, {}, {}};
  if (fold.outer_rank == 1) {
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

/// Whether the current device has room for the clusters of a kernel: part of a card may not. `use_of(device,
/// use)` asks for what the kernel takes; its answer is kept for each device in `known`. Without a device:
/// yes.
template <class UseOf>
bool clusters_fit(std::atomic<std::uint8_t> (&known)[64], const UseOf& use_of) {
  enum : std::uint8_t { unknown, yes, no };
  if (!why_unavailable().empty()) return true;
  const Device& device = current_device();
  const auto look_up = [&] {
    KernelUse use;
    const bool fit = use_of(device, &use) == cudaSuccess && (use.cluster == 1 || use.clusters > 0);
    cudaGetLastError();
    return fit;
  };
  if (device.index >= 64) return look_up();
  auto& answer = known[device.index];
  if (answer.load(std::memory_order_relaxed) == unknown)
    answer.store(look_up() ? yes : no, std::memory_order_relaxed);
  return answer.load(std::memory_order_relaxed) == yes;
}

bool row_clusters_fit(ScalarType scalar, const RowProblem& rows) {
  static std::atomic<std::uint8_t> known[8][longest_cluster_rows + 1][2][64];
  return clusters_fit(
      known[static_cast<std::size_t>(scalar)][rows.k][rows.first_bit > 0 ? 1 : 0],
      [&](const Device& device, KernelUse* use) { return run_rows(nullptr, device, scalar, rows, use); });
}

/// All kernels for columns of one length and compute type have clusters of like blocks.
bool column_clusters_fit(const Pass& pass) {
  static std::atomic<std::uint8_t> known[8][most_column_bits + 1][64];
  return clusters_fit(known[static_cast<std::size_t>(pass.source_type)][pass.bits],
                      [&](const Device& device, KernelUse* use) {
                        return run_columns(nullptr, device, Family::tile_columns, pass, nullptr, use);
                      });
}

}  // namespace

RowTuning tuning_of(ScalarType scalar, const RowProblem& rows, int major) {
  const auto choose = rows.first_bit > 0 ? (major >= 10 ? sm_100::inner_row_tuning : sm_90::inner_row_tuning)
                                         : (major >= 10 ? sm_100::row_tuning : sm_90::row_tuning);
  return choose(static_cast<int>(size_of(scalar)), static_cast<int>(detail::compute_bytes_of(scalar)),
                rows.k);
}

std::optional<RowProblem> as_rows(const Pass& pass) {
  if (pass.m != 1 || pass.ordering != Ordering::natural) return {};
  if (pass.source_type == ScalarType::int64 || pass.bits < 1) return {};
  auto rows = contiguous_rows(pass);
  if (!rows) rows = rows_of_columns(pass);
  if (!rows) return {};
  rows->widened = pass.source_type != pass.target_type;
  const bool narrow_source = size_of(pass.source_type) < size_of(pass.target_type);
  if (rows->widened && (!narrow_source || pass.bits != widened_row_bits)) return {};
  const std::int64_t n = std::int64_t{1} << rows->k;
  const RowTuning tuning = tuning_of(pass.source_type, *rows);
  if (tuning.family == Family::pass) return {};
  if (tuning.family == Family::cluster && !row_clusters_fit(pass.source_type, *rows)) return {};
  const auto bytes = static_cast<std::int64_t>(size_of(pass.source_type));
  const bool dense = rows->x_stride == n && rows->y_stride == n;
  const bool several = n * bytes < 16 || (tuning.family == Family::tile && tuning.cell_bits == 10);
  if (several && !dense) return {};
  if (!aligned(pass.source) || !aligned(pass.target)) return {};
  if (!aligned(pass.in.values) || !aligned(pass.out.values)) return {};
  const auto target_bytes = static_cast<std::int64_t>(size_of(pass.target_type));
  if (!dense && (rows->x_stride * bytes % 16 != 0 || rows->y_stride * target_bytes % 16 != 0)) return {};
  return rows;
}

std::optional<SharedRowProblem> as_shared_rows(const Pass& pass) {
  if (!has_shared_rows(pass.m) || pass.source_type != pass.target_type) return {};
  const auto rows = contiguous_rows(pass);
  if (!rows) return {};
  const ScalarType scalar = pass.source_type;
  if (shared_rows_bytes(static_cast<int>(size_of(scalar)), static_cast<int>(detail::compute_bytes_of(scalar)),
                        pass.m, rows->k, 1) > largest_block) {
    return {};
  }
  return SharedRowProblem{*rows, pass.m, pass.transpose, pass.ordering};
}

bool has_aligned_columns(const Pass& pass, int count) {
  const Fold& fold = pass.fold;
  const auto multiple = [&](std::int64_t x, std::int64_t y) { return x % count == 0 && y % count == 0; };
  const auto starts_aligned = [&](const void* pointer, ScalarType type) {
    return reinterpret_cast<std::uintptr_t>(pointer) % (static_cast<std::size_t>(count) * size_of(type)) == 0;
  };
  if (fold.inner.extent % count != 0 || !multiple(fold.axis.x_stride, fold.axis.y_stride)) return false;
  for (int d = 0; d < fold.outer_rank; ++d) {
    if (!multiple(fold.outer[d].x_stride, fold.outer[d].y_stride)) return false;
  }
  return starts_aligned(pass.source, pass.source_type) && starts_aligned(pass.target, pass.target_type);
}

Family column_family(const Pass& pass) {
  constexpr std::int64_t fewest = 8;         // columns that are worth lanes side by side, aligned or not
  constexpr std::int64_t sector_bytes = 32;  // that memory moves at least
  const Fold& fold = pass.fold;
  const std::int64_t inner = fold.inner.extent;
  if (pass.m != 1 || !pass.plain() || pass.bits < 1) return Family::pass;
  if (fold.inner.x_stride != 1 || fold.inner.y_stride != 1) return Family::pass;
  const std::size_t value = size_of(compute_scalar(pass.source_type));
  const std::size_t storage = std::min(size_of(pass.source_type), size_of(pass.target_type));
  const int chunk = column_chunk(size_of(pass.source_type), size_of(pass.target_type), value, pass.bits);
  const bool short_enough = pass.bits <= most_column_bits;
  const bool chunks = short_enough && has_aligned_columns(pass, chunk);
  const bool tiles = short_enough && pass.bits >= least_tile_column_bits &&
                     has_aligned_columns(pass, 16 / static_cast<int>(size_of(pass.source_type))) &&
                     column_clusters_fit(pass);
  if ((tiles || chunks) && inner * static_cast<std::int64_t>(storage) >= sector_bytes)
    return tiles ? Family::tile_columns : Family::columns;
  const std::int64_t block = pass.length() * inner;
  const bool dense = fold.axis.x_stride == inner && fold.axis.y_stride == inner &&
                     (fold.outer_rank == 0 || (fold.outer_rank == 1 && fold.outer[0].x_stride == block &&
                                               fold.outer[0].y_stride == block));
  if (dense && aligned(pass.source) && aligned(pass.target)) {
    const std::int64_t tile = packed_tile_elements(block, fold.outer_count(), value);
    const std::int64_t most = most_packed_elements(value);
    if (tile <= (inner < fewest ? most : most / 3)) return Family::packed;
  }
  if (tiles) return Family::tile_columns;
  return chunks || (short_enough && inner >= fewest) ? Family::columns : Family::pass;
}

detail::Plan plan_of(const HadamardProblem& step) {
  const auto value = static_cast<std::int64_t>(detail::compute_bytes_of(step.scalar));
  detail::Plan plan;
  for (std::size_t a = 0; a < step.axes.size(); ++a) {
    const detail::AxisTransform& axis = step.axes[a];
    const Fold fold = fold_of_axis(step, a);
    const Schedule whole = one_pass(step, axis, fold);
    // Two fast passes over columns beat one slow one.
    const bool long_columns = axis.m == 1 && fold.inner.extent > 1 && axis.log2_power > most_column_bits &&
                              step.ordering == Ordering::natural;
    const int k = axis.log2_power;
    const detail::PassEnds ends{step.x, step.scalar, step.y, step.scalar};
    const auto starts_with_rows = [&](const Schedule& schedule) {
      return step.axes.size() == 1 && as_rows(make_pass(step, axis, schedule, 0, fold, ends)).has_value();
    };
    if ((axis.index.extent <= largest_tile / value && !long_columns) || starts_with_rows(whole)) {
      plan.push_back(whole);
      continue;
    }
    const auto cut = [&](int row_bits) {
      return pass_schedule(step.scalar, axis.m, k, fold.outer_count(), fold.inner.extent,
                           cut_after_rows(k, row_bits));
    };
    if (fold.inner.extent > 1) {
      plan.push_back(cut(0));
      continue;
    }
    // 16-bit rows that leave their sums in float have a kernel for one length alone.
    const bool narrow = size_of(step.scalar) < detail::compute_bytes_of(step.scalar);
    int row_bits = std::min(k, narrow ? widened_row_bits : longest_block_rows);
    for (int bits = row_bits + 1; !narrow && bits <= std::min(k - 1, longest_cluster_rows); ++bits) {
      if (cut_after_rows(k, bits).time(k) < cut_after_rows(k, row_bits).time(k) &&
          starts_with_rows(cut(bits)))
        row_bits = bits;
    }
    plan.push_back(cut(row_bits));
  }
  return plan;
}

cudaError_t run_rows(cudaStream_t stream, const Device& device, ScalarType scalar, const RowProblem& rows,
                     KernelUse* use) {
  return for_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    if constexpr (std::is_same_v<S, std::int64_t>) {
      return cudaErrorInvalidValue;  // see as_rows
    } else if (rows.widened) {
      if constexpr (sizeof(S) == 2) return launch_widened_rows<S>(stream, device, rows, use);
      return cudaErrorInvalidValue;
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

cudaError_t run_columns(cudaStream_t stream, const Device& device, Family family, const Pass& pass,
                        const std::int8_t* base, KernelUse* use) {
  return detail::visit_storage(pass, [&]<class In, class Out>() {
    if (family == Family::columns) return launch_columns<In, Out>(stream, device, pass, use);
    if (family == Family::tile_columns) return launch_tile_columns<In, Out>(stream, device, pass, use);
    if (family == Family::packed) return launch_packed_columns<In, Out>(stream, device, pass, use);
    return launch_pass<In, Out>(stream, device, pass, base, use);
  });
}

}  // namespace papillon::cuda
