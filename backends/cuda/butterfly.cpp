// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "butterfly.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "aligned_rows.hpp"
#include "api.hpp"
#include "papillon/core/errors.hpp"
#include "power_of_two.hpp"
#include "stream_workspace.hpp"
#include "visit_product.hpp"

namespace papillon::cuda {

using detail::ButterflyPlan;
using detail::ButterflyProblem;

namespace {

/// Shared memory of a block, the same on compute capability 9.0 and 10.0.
constexpr std::int64_t block_bytes = 227 << 10;
/// Of a tile of several lines, so that several blocks share a multiprocessor.
constexpr std::int64_t wanted_bytes = 64 << 10;
constexpr int most_lines = 256;

struct Stage {
  ButterflyTile tile;
  bool direct = false;
};

Stage make_stage(const ButterflyProblem& problem, const ButterflyPlan& plan,
                 const detail::TileBuffers& buffers, std::size_t index, std::int64_t first,
                 std::int64_t count, void* workspace) {
  const detail::ButterflyPass& pass = plan[index];
  const auto bytes = static_cast<int>(detail::sum_bytes(problem.scalar));
  Stage stage;
  ButterflyTile& tile = stage.tile;
  tile.shape = pass;
  tile.fold = problem.fold;
  tile.first_column = first;
  tile.column_count = count;
  tile.columns_first = detail::takes_columns_first(problem, pass);
  tile.lines = count * pass.outer * pass.inner;
  tile.count = pass.count;
  for (int f = 0; f < pass.count; ++f)
    tile.factors[f] = detail::tile_factor(
        problem.factors[static_cast<std::size_t>(pass.first) + static_cast<std::size_t>(f)], pass);
  const auto buffer = [&](std::size_t number) {
    const std::int64_t offset = number % 2 == 0 || buffers.count < 2 ? 0 : buffers.columns * buffers.points;
    return ButterflyEnd{static_cast<char*>(workspace) + offset * bytes, 1, buffers.points};
  };
  const bool last = index + 1 == plan.size();
  tile.source =
      index == 0 ? ButterflyEnd{const_cast<void*>(problem.x), problem.fold.axis.x_stride} : buffer(index - 1);
  tile.target = last ? ButterflyEnd{problem.y, problem.fold.axis.y_stride} : buffer(index);
  if (!problem.permutes_result && index == 0) tile.source.permutation = problem.permutation;
  if (problem.permutes_result && last) tile.target.permutation = problem.permutation;
  tile.scale = last ? problem.scale : 1.0;
  const std::int64_t points = std::max<std::int64_t>(pass.largest, 1);
  tile.width = static_cast<int>(
      std::clamp<std::int64_t>(std::min(wanted_bytes / (2 * points * bytes), tile.lines), 1, most_lines));
  stage.direct = butterfly_shared_bytes(tile, bytes) > block_bytes;
  return stage;
}

}  // namespace

ButterflyPlan plan_of(const ButterflyProblem& problem) {
  return detail::plan_butterfly(problem,
                                wanted_bytes / static_cast<std::int64_t>(detail::sum_bytes(problem.scalar)));
}

std::optional<PairProblem> as_pairs(const ButterflyProblem& problem) {
  if (is_complex(problem.scalar) || problem.permutation != nullptr || problem.x_length != problem.y_length ||
      problem.factors.size() > std::size_t{most_pair_factors} || !has_aligned_rows(problem, false))
    return std::nullopt;
  PairProblem pairs;
  pairs.k = bit_of(problem.x_length);
  if (pairs.k < least_pair_bits || pairs.k > most_pair_bits) return std::nullopt;
  int bits[most_pair_factors];
  const auto count = static_cast<int>(problem.factors.size());
  for (int f = 0; f < count; ++f) {
    const ButterflyFactor& factor = problem.factors[static_cast<std::size_t>(f)];
    bits[f] = bit_of(factor.d);
    if (factor.b != 2 || factor.c != 2 || bits[f] < 0 || factor.batch_stride != 0) return std::nullopt;
    const bool contiguous = factor.repeat_stride == 1 && factor.column_stride == factor.d &&
                            factor.row_stride == 2 * factor.d && factor.block_stride == 4 * factor.d &&
                            reinterpret_cast<std::uintptr_t>(factor.data) % 16 == 0;
    pairs.factors[f] = {factor.data,          factor.block_stride,  factor.row_stride,
                        factor.column_stride, factor.repeat_stride, contiguous};
  }
  // Runs of neighbouring bits, in rounds of three; what is left over goes where the bits are highest, so that
  // a thread of the round of the lowest ones has neighbouring points.
  for (int first = 0; first < count;) {
    const int step = first + 1 < count && bits[first + 1] == bits[first] - 1 ? -1 : 1;
    int end = first + 1;
    while (end < count && bits[end] == bits[end - 1] + step) ++end;
    while (first < end) {
      const int left = end - first;
      const int taken = step < 0 && left % 3 != 0 ? left % 3 : std::min(left, 3);
      pairs.rounds[pairs.round_count++] = {first, taken, std::min(bits[first], bits[first + taken - 1]),
                                           step < 0};
      first += taken;
    }
  }
  const Fold& fold = problem.fold;
  pairs.rows.x = problem.x;
  pairs.rows.y = problem.y;
  pairs.rows.lines = fold.outer_count();
  pairs.rows.x_stride = fold.outer_rank > 0 ? fold.outer[0].x_stride : problem.x_length;
  pairs.rows.y_stride = fold.outer_rank > 0 ? fold.outer[0].y_stride : problem.y_length;
  pairs.rows.scale = problem.scale;
  return pairs;
}

void butterfly(cudaStream_t stream, const ButterflyProblem& problem) {
  const Device& device = current_device();
  if (problem.empty) return;
  if (problem.x_length > 0) check_pointer("butterfly", problem.x, "x", device);
  check_pointer("butterfly", problem.y, "y", device);
  for (const ButterflyFactor& factor : problem.factors)
    if (factor.a > 0 && factor.b > 0 && factor.c > 0 && factor.d > 0)
      check_pointer("butterfly", factor.data, "a factor", device);
  if (problem.permutation != nullptr)
    check_pointer("butterfly", problem.permutation, "x_permutation", device);
  if (const auto pairs = as_pairs(problem)) {
    visit_real(problem.scalar, [&]<class S>(std::type_identity<S>) {
      check(launch_pairs<S>(stream, device, *pairs, nullptr), "butterfly: launching the kernel of pairs");
    });
    return;
  }
  const ButterflyPlan plan = plan_of(problem);
  const detail::TileBuffers buffers = detail::buffers_of(problem, plan, Architecture::device);
  const std::size_t bytes = buffers.bytes(detail::sum_bytes(problem.scalar));
  if (plan.size() == 1 && problem.x == static_cast<const void*>(problem.y) &&
      make_stage(problem, plan, buffers, 0, 0, 1, nullptr).direct) {
    throw_invalid_argument("butterfly", "a factor has blocks of ", problem.factors[0].b, " x ",
                           problem.factors[0].c, " elements of ", name_of(problem.scalar),
                           ", too many to work in place on a GPU; y must be another array than x");
  }
  const StreamWorkspace workspace(stream, "butterfly", problem.workspace, bytes);
  const std::int64_t columns = problem.fold.outer_count();
  const std::int64_t step = plan.size() > 1 ? buffers.columns : columns;
  for (std::int64_t first = 0; first < columns; first += step) {
    for (std::size_t p = 0; p < plan.size(); ++p) {
      const Stage stage =
          make_stage(problem, plan, buffers, p, first, std::min(step, columns - first), workspace.data());
      visit_storage(problem.scalar, p > 0, p + 1 < plan.size(),
                    [&]<class In, class Out, class S>(std::type_identity<In>, std::type_identity<Out>,
                                                      std::type_identity<S>) {
                      check(launch_butterfly<In, Out, S>(stream, device, stage.tile, stage.direct, nullptr),
                            "butterfly: launching a kernel");
                    });
    }
  }
}

std::size_t workspace_bytes(const ButterflyProblem& problem) {
  if (problem.empty || as_pairs(problem)) return 0;
  const ButterflyPlan plan = plan_of(problem);
  return detail::buffers_of(problem, plan, Architecture::device).bytes(detail::sum_bytes(problem.scalar));
}

}  // namespace papillon::cuda
