// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quantize.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "api.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/quantize_steps.hpp"
#include "stream_workspace.hpp"

namespace papillon::cuda {

using detail::DequantizeProblem;
using detail::QuantizeProblem;

namespace {

/// The exponent of a power of two, or -1.
int bit_of(std::int64_t value) {
  for (int bit = 0; bit < 63; ++bit)
    if (value == std::int64_t{1} << bit) return bit;
  return -1;
}

/// run(std::type_identity<S>) for the scalars that the row kernels take.
template <class Run>
cudaError_t visit_row_scalar(ScalarType scalar, const Run& run) {
  switch (scalar) {
    case ScalarType::float16:
      return run(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return run(std::type_identity<bfloat16>{});
    default:
      return run(std::type_identity<float>{});
  }
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

void run_rows(cudaStream_t stream, const Device& device, const QuantizeProblem& problem, RowQuantization rows,
              void* workspace) {
  rows.amax_bits = reinterpret_cast<std::uint32_t*>(problem.amax != nullptr ? problem.amax
                                                                            : static_cast<float*>(workspace));
  rows.finds_amax = problem.amax != nullptr && !problem.computes_global();
  if (problem.amax != nullptr || problem.computes_global())
    check(cudaMemsetAsync(rows.amax_bits, 0, sizeof(float), stream), "quantize: clearing the amax");
  check(visit_row_scalar(problem.scalar,
                         [&]<class S>(std::type_identity<S>) {
                           if (problem.computes_global()) {
                             const cudaError_t error = launch_find_row_amax<S>(stream, device, rows);
                             if (error != cudaSuccess) return error;
                           }
                           return launch_quantize_rows<S>(stream, device, rows, nullptr);
                         }),
        "quantize: launching the row kernel");
  const QuantizedLayout& layout = problem.q.layout;
  if (layout.scale_rows != layout.rows || layout.scale_columns != layout.blocks)
    check(launch_clear_scale_padding(stream, layout, problem.scales), "quantize: clearing padding");
}

/// Whether a call needs memory beyond its arguments.
std::size_t row_workspace_bytes(const QuantizeProblem& problem) {
  return problem.computes_global() && problem.amax == nullptr ? detail::state_bytes : 0;
}

}  // namespace

std::optional<RowQuantization> as_rows(const QuantizeProblem& problem) {
  const detail::QuantizedRows& q = problem.q;
  const std::int64_t n = q.layout.columns;
  if (problem.empty || problem.scalar == ScalarType::float64 || problem.statistics != nullptr ||
      q.square_rows > 0 || detail::has_float_scales(q.scaling.format))
    return std::nullopt;
  if (problem.stochastic && detail::element_format(q.scaling.format) != detail::ElementFormat::e2m1)
    return std::nullopt;
  int group_bits = 0;
  if (problem.group > 0) {
    group_bits = bit_of(problem.group);
    if (group_bits < 4 || group_bits > most_group_bits) return std::nullopt;
  }
  const std::int64_t strip = std::int64_t{1} << strip_bits(group_bits);
  if (n % strip != 0 || problem.x_rows.element_stride != 1 || problem.x_rows.outer_rank > 1)
    return std::nullopt;
  RowQuantization rows;
  rows.x = problem.x;
  rows.x_stride = problem.x_rows.outer_rank > 0 ? problem.x_rows.strides[0] : n;
  const auto bytes = static_cast<std::int64_t>(size_of(problem.scalar));
  if (reinterpret_cast<std::uintptr_t>(problem.x) % 16 != 0 || rows.x_stride * bytes % 16 != 0)
    return std::nullopt;
  rows.dense = rows.x_stride == n || q.layout.rows == 1;
  rows.row_strips = static_cast<std::uint32_t>(n / strip);
  rows.strips = q.layout.rows * (n / strip);
  const bool swizzled = q.layout.scale_layout == ScaleLayout::swizzled;
  if ((!rows.dense || swizzled) && rows.strips > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  rows.group_bits = group_bits;
  if (problem.group > 0) {
    rows.factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.group)));
    rows.signs.values = problem.signs.values.data();
    rows.signs.seeded = problem.signs.seed.has_value();
    rows.signs.seed = problem.signs.seed.value_or(0);
  }
  rows.scaling = q.scaling;
  rows.payload = problem.payload;
  rows.scales = problem.scales;
  rows.swizzled_columns = swizzled ? q.layout.scale_columns : 0;
  rows.stochastic = problem.stochastic;
  rows.random = problem.random;
  rows.global_source = problem.global_source;
  rows.given_scale = problem.given_scale;
  rows.global_scale = problem.global_scale;
  return rows;
}

void quantize(cudaStream_t stream, const QuantizeProblem& problem) {
  const Device& device = current_device();
  check_outputs(problem, device);
  const StreamWorkspace workspace(stream, "quantize", problem.workspace, workspace_bytes(problem));
  if (const auto rows = as_rows(problem)) {
    run_rows(stream, device, problem, *rows, workspace.data());
    return;
  }
  run_plain_quantize(stream, problem, workspace.data());
}

void quantize(cudaStream_t stream, const detail::QuantizePair& pair) {
  quantize(stream, pair.first);
  quantize(stream, pair.second);
}

std::size_t workspace_bytes(const QuantizeProblem& problem) {
  return as_rows(problem) ? row_workspace_bytes(problem) : plain_workspace_bytes(problem);
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
