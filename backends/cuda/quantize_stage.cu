// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <type_traits>

#include "kernels/quantize/float_scales.cuh"
#include "kernels/quantize/stage.cuh"
#include "launch_kernel.cuh"
#include "quantize.hpp"
#include "visit_row_scalar.hpp"

namespace papillon::cuda {
namespace {

template <class S, class C>
cudaError_t launch_stage(cudaStream_t stream, const RowStaging& staging) {
  const std::int64_t tiles =
      ((staging.rows + stage_tile - 1) / stage_tile) * ((staging.columns + stage_tile - 1) / stage_tile);
  constexpr int bytes =
      stage_tile * (stage_tile + 4 / static_cast<int>(sizeof(C))) * static_cast<int>(sizeof(C));
  return launch<&stage_rows<S, C>>(stream, tiles, stage_threads, bytes, staging);
}

}  // namespace

cudaError_t launch_stage_rows(cudaStream_t stream, const RowStaging& staging, ScalarType scalar,
                              bool widened) {
  return visit_row_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    if (widened && !std::is_same_v<S, float>) return launch_stage<S, float>(stream, staging);
    // Bits are copied as they are.
    if constexpr (sizeof(S) == 2) {
      return launch_stage<std::uint16_t, std::uint16_t>(stream, staging);
    } else {
      return launch_stage<float, float>(stream, staging);
    }
  });
}

cudaError_t launch_float_scales(cudaStream_t stream, const Device& device, const FloatScaleRows& problem,
                                ScalarType scalar) {
  return visit_row_scalar(scalar, [&]<class S>(std::type_identity<S>) {
    const auto run = [&]<int Threads>(std::integral_constant<int, Threads>) {
      constexpr int together = 256 / Threads;
      const std::int64_t wanted = (problem.rows * problem.layout.blocks + together - 1) / together;
      const std::int64_t most = std::int64_t{device.multiprocessors} * 32;
      return launch<&quantize_float_scales<S, Threads>>(stream, std::min(wanted, most), 256, 64, problem);
    };
    if (problem.layout.block <= 1024) return run(std::integral_constant<int, 32>{});
    return run(std::integral_constant<int, 256>{});
  });
}

}  // namespace papillon::cuda
