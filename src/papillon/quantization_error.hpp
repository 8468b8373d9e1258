// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "papillon/core/errors.hpp"
#include "papillon/core/tensor_checks.hpp"
#include "papillon/core/view.hpp"
#include "papillon/generic/quantization_error.hpp"
#include "papillon/quantize.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon {

/// How far dequantised values are from what was quantised. Sums are over the elements where both are finite.
struct QuantizationError {
  double relative_l2 = 0;       ///< √(Σ (x - x̂)² / Σ x²); 0 where nothing differs
  double largest_absolute = 0;  ///< max |x - x̂|
  /// 10 log10(Σ x² / Σ (x - x̂)²), in decibels; infinite where nothing differs.
  double signal_to_noise = std::numeric_limits<double>::infinity();
  std::vector<double> channel_squared_error;  ///< Σ (x - x̂)² over the rows, for each index along the axis
  std::vector<double> channel_squared_norm;   ///< Σ x² likewise
  std::uint64_t nonfinite_inputs = 0;         ///< elements of x that are NaN or infinite
  std::uint64_t nonfinite_results = 0;        ///< elements that are finite in x alone
  QuantizeStatistics statistics;              ///< of `quantize`
  QuantizedLayout layout;                     ///< how large codes and scales were
};

namespace detail {

/// The sum, pairwise: its rounding grows with the logarithm of the number of terms only.
inline generic::ErrorSums sum_pairwise(std::span<const generic::ErrorSums> terms) {
  generic::ErrorSums sum;
  if (terms.size() <= 16) {
    for (const generic::ErrorSums& term : terms) sum += term;
    return sum;
  }
  sum = sum_pairwise(terms.first(terms.size() / 2));
  sum += sum_pairwise(terms.subspan(terms.size() / 2));
  return sum;
}

/// The errors of one set of options, which are checked on the way.
template <class ExecutionSpace>
QuantizationError measure_quantization_error(const ExecutionSpace& space, const ConstTensorDescriptor& x,
                                             QuantizeOptions options) {
  using Space = typename ExecutionSpace::memory_space;
  constexpr bool host = generic::is_host_space<ExecutionSpace>;
  using generic::ErrorSums;
  constexpr std::int64_t chunk_bytes = std::int64_t{host ? 8 : 64} << 20;

  check_tensor("quantize", x, "x");
  if (options.format == BlockFormat::nvfp4 && options.global_scale_source == GlobalScaleSource::kept)
    throw_invalid_argument("quantize", "global_scale_source = kept, but no earlier call has left a scale");
  options.scale_layout = ScaleLayout::row_major;  // where scales lie changes no value
  options.workspace = {};
  options.amax = nullptr;
  const QuantizedLayout layout = quantized_layout(x.shape(), options);
  const Kokkos::View<std::uint8_t*, Space> payload("papillon::codes", layout.payload_bytes);
  const Kokkos::View<std::uint8_t*, Space> scales("papillon::scales", layout.scale_bytes);
  const Kokkos::View<float, Space> global_scale("papillon::global scale");
  const Kokkos::View<QuantizeStatistics, Space> statistics("papillon::statistics");
  options.statistics = statistics.data();
  const BlockScaledView q{
      {payload.data(), layout.payload_bytes}, {scales.data(), layout.scale_bytes}, global_scale.data()};
  const QuantizeProblem problem = make_quantize_problem(x, q, options, host);
  quantize(space, x, q, options);

  // Rows are dequantised some at a time, as the rows of a matrix of their own.
  const std::int64_t row_bytes = std::max<std::int64_t>(layout.columns, 1) * std::int64_t{sizeof(float)};
  const std::int64_t wanted = std::max<std::int64_t>(chunk_bytes / row_bytes, 1);
  const std::int64_t blocks = (std::min(layout.rows, wanted) + generic::error_rows - 1) / generic::error_rows;
  const std::int64_t chunk_rows = blocks * generic::error_rows;
  const auto room = static_cast<std::size_t>(std::min(chunk_rows, layout.rows) * layout.columns);
  const Kokkos::View<float*, Space> decoded(Kokkos::view_alloc(Kokkos::WithoutInitializing, "papillon::rows"),
                                            room);
  const Kokkos::View<ErrorSums*, Space> sums(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "papillon::errors of rows"),
      static_cast<std::size_t>(blocks * layout.columns));
  const Kokkos::View<ErrorSums*, Space> totals("papillon::errors", static_cast<std::size_t>(layout.columns));
  space.fence("papillon: memory of quantization_error");

  QuantizeOptions rows_options = options;
  rows_options.axis = 1;
  rows_options.block_shape = BlockShape::vector;  // every row has its scales
  const generic::KokkosEngine engine(space);
  for (std::int64_t first = 0; first < layout.rows && layout.columns > 0; first += chunk_rows) {
    const std::int64_t rows = std::min(chunk_rows, layout.rows - first);
    const auto part = [&](const auto& bytes, std::int64_t of_row) {
      return std::span<const std::uint8_t>(bytes.data() + first * of_row,
                                           static_cast<std::size_t>(rows * of_row));
    };
    const ConstBlockScaledView part_of_q{part(payload, layout.row_bytes),
                                         part(scales, layout.scale_columns * layout.scale_element_bytes),
                                         global_scale.data()};
    dequantize(space, part_of_q, row_major(decoded.data(), {rows, layout.columns}), rows_options);
    visit_float_scalar(problem.scalar, [&]<class S>(std::type_identity<S>) {
      engine.for_each(generic::SumErrors<S>{problem.x_rows, static_cast<const S*>(problem.x), decoded.data(),
                                            first, rows, layout.columns, sums.data()});
    });
    engine.for_each(generic::AddErrors{sums.data(), (rows + generic::error_rows - 1) / generic::error_rows,
                                       layout.columns, totals.data()});
  }
  space.fence("papillon: quantization_error");

  const auto columns = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, totals);
  QuantizationError error;
  error.statistics = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, statistics)();
  error.layout = layout;
  const ErrorSums all = sum_pairwise({columns.data(), columns.extent(0)});
  for (std::size_t c = 0; c < columns.extent(0); ++c) {
    error.channel_squared_error.push_back(columns(c).squared_error);
    error.channel_squared_norm.push_back(columns(c).squared_norm);
  }
  error.largest_absolute = all.largest;
  error.nonfinite_inputs = all.nonfinite_inputs;
  error.nonfinite_results = all.nonfinite_results;
  if (all.squared_error > 0) {
    error.relative_l2 = std::sqrt(all.squared_error / all.squared_norm);
    error.signal_to_noise = 10 * std::log10(all.squared_norm / all.squared_error);
  }
  return error;
}

}  // namespace detail

/// Quantises and dequantises x with each of the option sets and says how far off the results are: what to
/// decide by whether to rotate, and which format to take.
///
/// x is what `quantize` takes; it is not written. For each set the whole tensor is quantised (with the scale
/// of the whole tensor, for NVFP4) and dequantised in parts, the rotation undone, to float32: values are not
/// rounded to x's type. So a set takes memory for the codes and scales of x, and for 8 MiB of rows at a time
/// (64 MiB on a device; 16 rows, where that is more), and for their sums as much again. `scale_layout`
/// changes nothing here; `amax`, `statistics` and `workspace` of the options are not used.
///
/// Errors and their squares are formed in double. Elements that are NaN or infinite are counted and left out
/// of all sums, before or after; a rotation spreads them over their group, whose other errors count.
///
/// An analysis, not a kernel to be called in a loop: it waits for `space` and returns on the host. Results do
/// not depend on threads: 16 rows at a time are summed for each channel, then these sums in
/// their order, then the channels pairwise.
///
/// Throws std::invalid_argument as `quantize` does, naming the set: "options[2]: …".
template <class ExecutionSpace>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
std::vector<QuantizationError> quantization_error(const ExecutionSpace& space, const ConstTensorDescriptor& x,
                                                  std::span<const QuantizeOptions> options) {
  std::vector<QuantizationError> errors;
  for (std::size_t i = 0; i < options.size(); ++i) {
    try {
      errors.push_back(detail::measure_quantization_error(space, x, options[i]));
    } catch (const std::invalid_argument& error) {
      throw_invalid_argument("quantization_error", "options[", i, "]: ", error.what());
    }
  }
  return errors;
}

/// As above for a Kokkos View.
template <class ExecutionSpace, KokkosView XView>
  requires Kokkos::is_execution_space_v<ExecutionSpace>
std::vector<QuantizationError> quantization_error(const ExecutionSpace& space, const XView& x,
                                                  std::span<const QuantizeOptions> options) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename XView::memory_space>::accessible,
                "papillon::quantization_error: the execution space cannot reach the memory of x");
  return quantization_error(space, ConstTensorDescriptor(describe_view(x)), options);
}

}  // namespace papillon
