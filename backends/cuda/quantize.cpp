// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "api.hpp"
#include "kernels/quantize/float_scales.hpp"
#include "kernels/quantize/stage.hpp"
#include "papillon/core/quantize_steps.hpp"
#include "power_of_two.hpp"
#include "stream_workspace.hpp"
#include "visit_row_scalar.hpp"

namespace papillon::cuda {

using detail::DequantizeProblem;
using detail::QuantizeProblem;

namespace {

/// Rows in the workspace that stay in the L2 cache.
constexpr std::int64_t staged_bytes = std::int64_t{24} << 20;

/// Contiguous rows that kernels read.
struct DenseRows {
  const void* x = nullptr;  ///< element (0, 0)
  ScalarType scalar = ScalarType::float32;
  std::int64_t stride = 0;
  int group_bits = 0;  ///< of the rotation that is left to do
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

/// Bits of a rotation that the row kernels make; 0 for none, -1 for another.
int row_group_bits(const QuantizeProblem& problem) {
  if (problem.group == 0) return 0;
  const int bits = bit_of(problem.group);
  return bits >= 4 && bits <= most_group_bits ? bits : -1;
}

/// Whether the formats, blocks and lengths are those of a row kernel that rotates groups of 2^group_bits.
bool has_row_kernel(const QuantizeProblem& problem, int group_bits) {
  const detail::QuantizedRows& q = problem.q;
  const std::int64_t n = q.layout.columns;
  if (problem.statistics != nullptr || q.square_rows > 0) return false;
  if (detail::has_float_scales(q.scaling.format))
    return group_bits == 0 && n % 8 == 0 && q.layout.block % 8 == 0;
  if (problem.stochastic && detail::element_format(q.scaling.format) != detail::ElementFormat::e2m1)
    return false;
  const std::int64_t strip = std::int64_t{1} << strip_bits(group_bits);
  const std::int64_t strips = n / strip * q.layout.rows;
  return n % strip == 0 && strips <= std::numeric_limits<std::uint32_t>::max();
}

bool has_readable_rows(const QuantizeProblem& problem) {
  const auto bytes = static_cast<std::int64_t>(size_of(problem.scalar));
  const detail::RowIndex& rows = problem.x_rows;
  return rows.element_stride == 1 && rows.outer_rank <= 1 &&
         reinterpret_cast<std::uintptr_t>(problem.x) % 16 == 0 &&
         (rows.outer_rank == 0 || rows.strides[0] * bytes % 16 == 0);
}

/// Whether chunks are rotated in the workspace, by `hadamard`, and so are float32.
bool rotates_staged(const QuantizeProblem& problem) {
  return problem.group > 0 &&
         (detail::has_float_scales(problem.q.scaling.format) || row_group_bits(problem) < 0 ||
          !has_row_kernel(problem, row_group_bits(problem)));
}

std::int64_t staged_row_bytes(const QuantizeProblem& problem) {
  const auto bytes =
      static_cast<std::int64_t>(rotates_staged(problem) ? sizeof(float) : size_of(problem.scalar));
  return problem.q.layout.columns * bytes;
}

/// Rows of a chunk; a multiple of 128 where they are more, so that swizzled tiles are not shared.
std::int64_t staged_rows(const QuantizeProblem& problem) {
  const std::int64_t rows = std::max<std::int64_t>(staged_bytes / staged_row_bytes(problem), 1);
  return std::min(rows >= 128 ? rows / 128 * 128 : rows, problem.q.layout.rows);
}

void check_outputs(const QuantizeProblem& problem, const Device& device) {
  if (!problem.empty) {
    check_pointer("quantize", problem.x, "x", device);
    check_pointer("quantize", problem.payload, "q.payload", device);
    check_pointer("quantize", problem.scales, "q.scales", device);
  }
  if (problem.global_scale != nullptr)
    check_pointer("quantize", problem.global_scale, "q.global_scale", device);
  if (problem.amax != nullptr) check_pointer("quantize", problem.amax, "amax", device);
  if (problem.statistics != nullptr) check_pointer("quantize", problem.statistics, "statistics", device);
  if (problem.group > 0 && problem.signs.values.data() != nullptr)
    check_pointer("quantize", problem.signs.values.data(), "signs", device);
}

/// Row kernels of one call: what is the same for each chunk.
class RowRun {
 public:
  RowRun(cudaStream_t stream, const Device& device, const QuantizeProblem& problem, void* workspace)
      : stream_(stream), device_(device), problem_(problem) {
    amax_bits_ = reinterpret_cast<std::uint32_t*>(problem.amax != nullptr ? problem.amax
                                                                          : static_cast<float*>(workspace));
    if (problem.amax != nullptr || problem.computes_global())
      check(cudaMemsetAsync(amax_bits_, 0, sizeof(float), stream), "quantize: clearing the amax");
  }

  void find_amax(const DenseRows& rows) const {
    check(visit_row_scalar(rows.scalar,
                           [&]<class S>(std::type_identity<S>) {
                             return launch_find_row_amax<S>(stream_, device_, strips_of(rows));
                           }),
          "quantize: launching the amax kernel");
  }

  /// Writes rows rotated to `target`, densely.
  void rotate(const DenseRows& rows, float* target) const {
    check(visit_row_scalar(rows.scalar,
                           [&]<class S>(std::type_identity<S>) {
                             return launch_rotate_rows<S>(stream_, device_, strips_of(rows), target);
                           }),
          "quantize: launching the rotation");
  }

  void quantize(const DenseRows& rows) const {
    if (detail::has_float_scales(problem_.q.scaling.format)) {
      check(launch_float_scales(stream_, device_, float_scales_of(rows), rows.scalar),
            "quantize: launching the kernel of float scales");
      return;
    }
    check(visit_row_scalar(rows.scalar,
                           [&]<class S>(std::type_identity<S>) {
                             return launch_quantize_rows<S>(stream_, device_, strips_of(rows), nullptr);
                           }),
          "quantize: launching the row kernel");
  }

 private:
  bool finds_amax() const { return problem_.amax != nullptr && !problem_.computes_global(); }

  FloatScaleRows float_scales_of(const DenseRows& rows) const {
    FloatScaleRows r;
    r.x = rows.x;
    r.x_stride = rows.stride;
    r.first_row = rows.first_row;
    r.rows = rows.rows;
    r.scaling = problem_.q.scaling;
    r.layout = problem_.q.layout;
    r.payload = problem_.payload;
    r.scales = reinterpret_cast<float*>(problem_.scales);
    r.stochastic = problem_.stochastic;
    r.random = problem_.random;
    if (finds_amax()) r.amax_bits = amax_bits_;
    return r;
  }

  RowQuantization strips_of(const DenseRows& rows) const {
    const QuantizedLayout& layout = problem_.q.layout;
    const std::int64_t strip = std::int64_t{1} << strip_bits(rows.group_bits);
    RowQuantization r;
    r.x = rows.x;
    r.x_stride = rows.stride;
    r.dense = rows.stride == layout.columns;
    r.row_strips = static_cast<std::uint32_t>(layout.columns / strip);
    r.first_strip = rows.first_row * (layout.columns / strip);
    r.strips = r.first_strip + rows.rows * (layout.columns / strip);
    r.group_bits = rows.group_bits;
    if (rows.group_bits > 0) {
      r.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem_.group)));
      r.signs.values = problem_.signs.values.data();
      r.signs.seeded = problem_.signs.seed.has_value();
      r.signs.seed = problem_.signs.seed.value_or(0);
    }
    r.scaling = problem_.q.scaling;
    r.payload = problem_.payload;
    r.scales = problem_.scales;
    r.swizzled_columns = layout.scale_layout == ScaleLayout::swizzled ? layout.scale_columns : 0;
    r.stochastic = problem_.stochastic;
    r.random = problem_.random;
    r.global_source = problem_.global_source;
    r.given_scale = problem_.given_scale;
    r.global_scale = problem_.global_scale;
    r.amax_bits = amax_bits_;
    r.finds_amax = finds_amax();
    return r;
  }

  cudaStream_t stream_;
  const Device& device_;
  const QuantizeProblem& problem_;
  std::uint32_t* amax_bits_;
};

/// The rows of x, where kernels may read them.
DenseRows rows_of_x(const QuantizeProblem& problem, std::int64_t first, std::int64_t rows) {
  const std::int64_t stride =
      problem.x_rows.outer_rank > 0 ? problem.x_rows.strides[0] : problem.q.layout.columns;
  return {problem.x, problem.scalar, stride, row_group_bits(problem), first, rows};
}

/// Whether rotate_rows takes x as it is.
bool rotates_rows_of_x(const QuantizeProblem& problem) {
  const int bits = row_group_bits(problem);
  if (bits < 4 || !has_readable_rows(problem)) return false;
  const std::int64_t strip = std::int64_t{1} << strip_bits(bits);
  const QuantizedLayout& layout = problem.q.layout;
  return layout.columns % strip == 0 &&
         layout.columns / strip * layout.rows <= std::numeric_limits<std::uint32_t>::max();
}

/// Calls run(rows) for x itself, or for each chunk of it in the workspace.
template <class Run>
void for_each_dense(cudaStream_t stream, const QuantizeProblem& problem, const RowRun& row_run, void* staged,
                    const Run& run) {
  const QuantizedLayout& layout = problem.q.layout;
  if (route_of(problem) == QuantizeRoute::rows) {
    run(rows_of_x(problem, 0, layout.rows));
    return;
  }
  const bool rotates = rotates_staged(problem);
  const std::int64_t step = staged_rows(problem);
  const ScalarType scalar = rotates ? ScalarType::float32 : problem.scalar;
  RowStaging staging;
  staging.x = problem.x;
  staging.x_rows = problem.x_rows;
  staging.columns = layout.columns;
  staging.target = staged;
  const int fastest = problem.x_rows.outer_rank - 1;
  staging.along_rows =
      fastest >= 0 && std::llabs(problem.x_rows.strides[fastest]) < std::llabs(problem.x_rows.element_stride);
  for (std::int64_t first = 0; first < layout.rows; first += step) {
    staging.first_row = first;
    staging.rows = std::min(step, layout.rows - first);
    if (rotates && rotates_rows_of_x(problem)) {
      row_run.rotate(rows_of_x(problem, first, staging.rows), static_cast<float*>(staged));
    } else {
      check(launch_stage_rows(stream, staging, problem.scalar, rotates), "quantize: bringing rows together");
    }
    if (rotates && !rotates_rows_of_x(problem)) {
      const TensorDescriptor matrix = row_major(static_cast<float*>(staged), {staging.rows, layout.columns});
      hadamard(stream,
               detail::make_hadamard_problem(
                   matrix, matrix, detail::rotation_options(problem.group, problem.signs, false), false));
    }
    // The kernels count rows from the tensor's first.
    const std::int64_t offset = first * staged_row_bytes(problem);
    run(DenseRows{static_cast<const char*>(staged) - offset, scalar, layout.columns,
                  rotates ? 0 : std::max(row_group_bits(problem), 0), first, staging.rows});
  }
}

void run_rows(cudaStream_t stream, const Device& device, const QuantizeProblem& problem, void* workspace) {
  const RowRun rows(stream, device, problem, workspace);
  void* const staged = static_cast<char*>(workspace) + detail::state_bytes;
  if (problem.computes_global())
    for_each_dense(stream, problem, rows, staged, [&](const DenseRows& dense) { rows.find_amax(dense); });
  for_each_dense(stream, problem, rows, staged, [&](const DenseRows& dense) { rows.quantize(dense); });
  const QuantizedLayout& layout = problem.q.layout;
  if (layout.scale_rows != layout.rows || layout.scale_columns != layout.blocks)
    check(launch_clear_scale_padding(stream, layout, problem.scales), "quantize: clearing padding");
}

}  // namespace

QuantizeRoute route_of(const QuantizeProblem& problem) {
  if (problem.empty || problem.scalar == ScalarType::float64) return QuantizeRoute::plain;
  const int bits = row_group_bits(problem);
  if (bits >= 0 && has_row_kernel(problem, bits) && has_readable_rows(problem)) return QuantizeRoute::rows;
  const bool staged =
      rotates_staged(problem) ? has_row_kernel(problem, 0) : bits >= 0 && has_row_kernel(problem, bits);
  return staged ? QuantizeRoute::staged : QuantizeRoute::plain;
}

namespace {

void run(cudaStream_t stream, const Device& device, const QuantizeProblem& problem, void* workspace) {
  if (route_of(problem) == QuantizeRoute::plain) {
    run_plain_quantize(stream, problem, workspace);
  } else {
    run_rows(stream, device, problem, workspace);
  }
}

}  // namespace

void quantize(cudaStream_t stream, const QuantizeProblem& problem) {
  const Device& device = current_device();
  check_outputs(problem, device);
  const StreamWorkspace workspace(stream, "quantize", problem.workspace, workspace_bytes(problem));
  run(stream, device, problem, workspace.data());
}

void quantize(cudaStream_t stream, const detail::QuantizePair& pair) {
  const Device& device = current_device();
  check_outputs(pair.first, device);
  check_outputs(pair.second, device);
  const StreamWorkspace workspace(stream, "quantize", pair.first.workspace,
                                  std::max(workspace_bytes(pair.first), workspace_bytes(pair.second)));
  run(stream, device, pair.first, workspace.data());
  run(stream, device, pair.second, workspace.data());
}

std::size_t workspace_bytes(const QuantizeProblem& problem) {
  switch (route_of(problem)) {
    case QuantizeRoute::rows:
      return problem.computes_global() && problem.amax == nullptr ? detail::state_bytes : 0;
    case QuantizeRoute::staged:
      return detail::state_bytes + static_cast<std::size_t>(staged_rows(problem) * staged_row_bytes(problem));
    case QuantizeRoute::plain:
      break;
  }
  return plain_workspace_bytes(problem);
}

void dequantize(cudaStream_t stream, const DequantizeProblem& problem) {
  const Device& device = current_device();
  if (problem.empty) return;
  check_pointer("dequantize", problem.payload, "q.payload", device);
  check_pointer("dequantize", problem.scales, "q.scales", device);
  if (problem.global_scale != nullptr)
    check_pointer("dequantize", problem.global_scale, "q.global_scale", device);
  check_pointer("dequantize", problem.y, "y", device);
  if (problem.group > 0 && problem.signs.values.data() != nullptr)
    check_pointer("dequantize", problem.signs.values.data(), "signs", device);
  const StreamWorkspace workspace(stream, "dequantize", problem.workspace, workspace_bytes(problem));
  run_plain_dequantize(stream, problem, workspace.data());
}

std::size_t workspace_bytes(const DequantizeProblem& problem) { return plain_workspace_bytes(problem); }

}  // namespace papillon::cuda
