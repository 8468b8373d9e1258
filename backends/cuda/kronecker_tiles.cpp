// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker_tiles.hpp"

#include <algorithm>
#include <cstdint>

#include "papillon/core/errors.hpp"

namespace papillon::cuda {
namespace {

using detail::AppliedFactor;
using detail::KroneckerPass;
using detail::KroneckerProblem;

/// Shared memory of a block, the same on compute capability 9.0 and 10.0.
constexpr std::int64_t block_bytes = 227 << 10;
/// Of values, that a tile of several factors may have.
constexpr std::int64_t fused_bytes = 128 << 10;
/// Of values, that a tile of several lines should have, so that several blocks share a multiprocessor.
constexpr std::int64_t wanted_bytes = 64 << 10;
/// Of factors that are all there at once, and else of the columns of one.
constexpr std::int64_t most_factor_bytes = 64 << 10;
constexpr std::int64_t chunk_bytes = 32 << 10;

bool is_square(const AppliedFactor& factor) {
  return factor.rows == factor.columns && factor.batch_stride == 0;
}

std::int64_t fused_points(const KroneckerProblem& problem) {
  const bool in_place = std::all_of(problem.factors.begin(), problem.factors.end(), is_square);
  return fused_bytes / (in_place ? 1 : 2) / static_cast<std::int64_t>(detail::sum_bytes(problem.scalar));
}

/// Whether the index that varies fastest in memory is one of the columns'.
bool columns_fastest(const KroneckerProblem& problem, bool arrays) {
  if (!arrays || problem.fold.outer_rank == 0) return false;
  const Dimension& last = problem.fold.outer[problem.fold.outer_rank - 1];
  const auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  return size(last.x_stride) < size(problem.fold.axis.x_stride);
}

/// The factors of the pass in the order they are applied; what they need in shared memory.
void add_steps(KroneckerTile& tile, const KroneckerProblem& problem, const KroneckerPass& pass, int bytes) {
  std::int64_t extents[detail::max_factors];
  const auto factor_of = [&](int i) -> const AppliedFactor& {
    return problem.factors[static_cast<std::size_t>(pass.first + i)];
  };
  for (int i = 0; i < pass.count; ++i) extents[i] = factor_of(i).columns;
  std::int64_t all_factors = 0, largest_chunk = 0;
  for (int s = 0; s < pass.count; ++s) {
    const int f = pass.order[s];
    const AppliedFactor& factor = factor_of(f);
    TileStep& step = tile.steps[s];
    step.data = factor.data;
    step.row_stride = factor.row_stride;
    step.column_stride = factor.column_stride;
    step.batch_stride = factor.batch_stride;
    step.rows = static_cast<int>(factor.rows);
    step.columns = static_cast<int>(factor.columns);
    step.conjugate = factor.conjugate;
    std::int64_t run = tile.lanes, others = tile.groups;
    for (int other = 0; other < pass.count; ++other)
      if (other != f) (other < f ? others : run) *= extents[other];
    step.run = static_cast<int>(run);
    step.run_divisor = Divisor(std::max<std::int64_t>(run, 1));
    step.vectors = static_cast<int>(others * run);
    step.access = run == 1 ? TileAccess::points : TileAccess::lanes;
    const std::int64_t whole_word = 16 / bytes;
    step.factor_place = static_cast<int>(all_factors);
    extents[f] = factor.rows;
    if (factor.batch_stride != 0) continue;
    const std::int64_t padded = padded_rows(bytes, step.rows);
    all_factors += (padded * factor.columns + whole_word - 1) / whole_word * whole_word;
    const std::int64_t columns =
        std::max(std::min(chunk_bytes / bytes / padded, factor.columns) / whole_word, std::int64_t{1}) *
        whole_word;
    largest_chunk = std::max(largest_chunk, padded * columns);
  }
  tile.step_count = pass.count;
  tile.factors_stay = all_factors * bytes <= most_factor_bytes;
  const std::int64_t word = 16 / bytes;
  tile.factor_values =
      static_cast<int>(((tile.factors_stay ? all_factors : largest_chunk) + word - 1) / word * word);
}

void set_end(KroneckerTile& tile, TileEnd& end, std::int64_t points, int bytes, bool aligned_lines) {
  const int word = 16 / bytes;
  end.points = static_cast<int>(points);
  end.words = aligned_lines && (tile.lanes == 1 ? points % word == 0 : tile.lanes % word == 0);
  end.points_first = !end.words && tile.lanes > 1 && tile.inner == 1 && !tile.columns_fastest;
  const std::int64_t chunks = tile.lanes == 1 || end.points_first ? points : tile.lanes;
  end.chunk_divisor = Divisor(std::max<std::int64_t>(end.words ? chunks / word : chunks, 1));
}

bool multiple_of(std::int64_t value, std::int64_t of) { return value % of == 0; }

/// Whether every run of `word` values that a chunk covers is contiguous and aligned in the array or buffer.
bool has_aligned_lines(const KroneckerTile& tile, const TileEnd& end, std::int64_t length, bool source,
                       int bytes) {
  const std::int64_t word = 16 / bytes;
  if (reinterpret_cast<std::uintptr_t>(end.data) % 16 != 0) return false;
  const int rank = tile.fold.outer_rank;
  const auto stride = [&](int d) {
    return source ? tile.fold.outer[d].x_stride : tile.fold.outer[d].y_stride;
  };
  const auto others_aligned = [&](int count) {
    if (end.buffer_points > 0) return multiple_of(end.buffer_points, word);
    for (int d = 0; d < count; ++d)
      if (!multiple_of(stride(d), word)) return false;
    return true;
  };
  if (tile.columns_fastest) {  // lanes are neighbouring columns
    return end.buffer_points == 0 && rank > 0 && stride(rank - 1) == 1 &&
           multiple_of(tile.fold.outer[rank - 1].extent, word) && multiple_of(tile.column_count, word) &&
           multiple_of(tile.first_column, word) && others_aligned(rank - 1) &&
           multiple_of(end.axis_stride, word);
  }
  if (end.axis_stride != 1 || !others_aligned(rank)) return false;
  // Lanes are neighbouring inner indices, or chunks are neighbouring points.
  return tile.lanes > 1 ? multiple_of(tile.inner, word) : tile.inner == 1 && multiple_of(length, word);
}

}  // namespace

KroneckerStages make_stages(const KroneckerProblem& problem) {
  KroneckerStages stages;
  stages.plan = detail::plan_kronecker(problem, fused_points(problem));
  const bool same_points = std::all_of(stages.plan.begin(), stages.plan.end(),
                                       [](const KroneckerPass& pass) { return pass.source == pass.target; });
  const bool sums_stored = detail::sum_bytes(problem.scalar) == size_of(problem.scalar);
  stages.through_y = same_points && sums_stored;
  // What no tile takes is read while it is written.
  for (std::size_t p = 0; p < stages.plan.size(); ++p) {
    if (!stages.stage(problem, p, 0, 1, nullptr).direct) continue;
    stages.through_y = false;
    if (stages.plan.size() > 1 || problem.x != static_cast<const void*>(problem.y)) continue;
    const AppliedFactor& factor = problem.factors[static_cast<std::size_t>(stages.plan[p].first)];
    throw_invalid_argument("kronecker", "factors[", stages.plan[p].first, "] has ", factor.rows, " x ",
                           factor.columns, " elements of ", name_of(problem.scalar),
                           ", too many to work in place on a GPU; y must be another array than x");
  }
  if (stages.plan.size() > 1 && !stages.through_y) {
    stages.buffers = detail::buffers_of(problem, stages.plan, Architecture::device);
    stages.workspace_bytes = stages.buffers.bytes(detail::sum_bytes(problem.scalar));
  }
  return stages;
}

KroneckerStage KroneckerStages::stage(const KroneckerProblem& problem, std::size_t index, std::int64_t first,
                                      std::int64_t count, void* workspace) const {
  const KroneckerPass& pass = plan[index];
  const bool reads_array = index == 0 || through_y;
  const bool writes_array = index + 1 == plan.size() || through_y;
  const ScalarType sums = is_complex(problem.scalar) ? problem.scalar : compute_scalar(problem.scalar);
  const auto bytes = static_cast<int>(size_of(sums));
  KroneckerStage stage;
  stage.scalar = problem.scalar;
  stage.source_type = reads_array ? problem.scalar : sums;
  stage.target_type = writes_array ? problem.scalar : sums;

  KroneckerTile& tile = stage.tile;
  tile.fold = problem.fold;
  if (index > 0 && through_y) {
    tile.fold.axis.x_stride = tile.fold.axis.y_stride;
    for (int d = 0; d < tile.fold.outer_rank; ++d) tile.fold.outer[d].x_stride = tile.fold.outer[d].y_stride;
  }
  tile.first_column = first;
  tile.column_count = count;
  tile.outer = pass.outer;
  tile.inner = pass.inner;
  tile.lines = count * pass.outer * pass.inner;
  tile.columns_fastest = columns_fastest(problem, reads_array && writes_array);
  tile.scale = index + 1 == plan.size() ? problem.scale : 1.0;
  const auto buffer = [&](std::size_t number) {
    const std::int64_t offset = number % 2 == 0 || buffers.count < 2 ? 0 : buffers.columns * buffers.points;
    return static_cast<char*>(workspace) + offset * bytes;
  };
  const auto set = [&](TileEnd& end, bool array, const void* data, std::int64_t stride, std::size_t number) {
    end.data = array ? const_cast<void*>(data) : buffer(number);
    end.axis_stride = array ? stride : 1;
    end.buffer_points = array ? 0 : buffers.points;
  };
  set(tile.source, reads_array, index == 0 ? problem.x : problem.y, tile.fold.axis.x_stride, index + 1);
  set(tile.target, writes_array, problem.y, tile.fold.axis.y_stride, index);

  // One lane where the fastest index of memory is the pass' own and its last factor has whole words of rows.
  const AppliedFactor& last = problem.factors[static_cast<std::size_t>(pass.first + pass.count - 1)];
  const std::int64_t points = std::max<std::int64_t>({pass.largest, pass.source, pass.target, 1});
  const bool by_points = tile.inner == 1 && !tile.columns_fastest && tile.source.axis_stride == 1 &&
                         tile.target.axis_stride == 1 && is_square(last) && last.columns % 4 == 0 &&
                         last.columns >= 8 && pass.source > 0;
  for (int f = 0; f < pass.count; ++f) {
    const AppliedFactor& factor = problem.factors[static_cast<std::size_t>(pass.first + f)];
    tile.two_tiles = tile.two_tiles || !is_square(factor) ||
                     row_groups(bytes, static_cast<int>(factor.rows)) > most_tile_threads;
    tile.batched = tile.batched || factor.batch_stride != 0;
  }
  const std::int64_t word = 16 / bytes;
  if (by_points) {
    tile.pad_every = static_cast<int>(last.columns);
    tile.pad_divisor = Divisor(last.columns);
    tile.groups = static_cast<int>(std::clamp<std::int64_t>(
        wanted_bytes / bytes / points, 1, std::min<std::int64_t>(most_tile_lines, tile.lines)));
  } else {
    const std::int64_t wanted = std::min<std::int64_t>(wanted_bytes / bytes / points, tile.lines);
    const std::int64_t multiple = wanted >= 32 ? 32 : word;
    tile.lanes =
        static_cast<int>(std::clamp<std::int64_t>(wanted / multiple * multiple, word, most_tile_lines));
  }
  const std::int64_t values = points * tile.groups * tile.lanes;
  tile.tile_values = static_cast<int>(tile.pad_every > 0 ? values + values / tile.pad_every * word : values);
  add_steps(tile, problem, pass, bytes);
  const auto end_bytes = [&](ScalarType type) { return static_cast<int>(size_of(type)); };
  set_end(tile, tile.source, pass.source, end_bytes(stage.source_type),
          has_aligned_lines(tile, tile.source, pass.source, true, end_bytes(stage.source_type)));
  set_end(tile, tile.target, pass.target, end_bytes(stage.target_type),
          has_aligned_lines(tile, tile.target, pass.target, false, end_bytes(stage.target_type)));
  stage.direct = kronecker_shared_bytes(tile, bytes) > block_bytes;
  return stage;
}

}  // namespace papillon::cuda
