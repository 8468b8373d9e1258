// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations with outlier channels: whether to rotate them, measured, and then NVFP4 and back.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <papillon/papillon.hpp>
#include <random>
#include <vector>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 256, 64), y("y", 256, 64);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 256; ++i)
    for (int c = 0; c < 64; ++c) x(i, c) = normal(engine) * (c == 3 || c == 19 || c == 40 ? 20.0f : 1.0f);

  // [measure]
  const std::vector<papillon::QuantizeOptions> candidates = {
      {.format = papillon::BlockFormat::nvfp4},
      {.format = papillon::BlockFormat::nvfp4, .rotation = 16},
      {.format = papillon::BlockFormat::nvfp4, .rotation = papillon::whole_axis, .signs = {.seed = 1}}};
  const auto errors = papillon::quantization_error(space, x, candidates);
  for (const auto& error : errors)
    std::printf("relative L2 %.4f, %.1f dB\n", error.relative_l2, error.signal_to_noise);
  // [measure]

  // [quantize]
  const papillon::QuantizeOptions options = candidates[0];
  const std::vector<std::int64_t> shape{256, 64};
  const papillon::QuantizedLayout layout = papillon::quantized_layout(shape, options);
  const Kokkos::View<std::uint8_t*, Kokkos::HostSpace> payload("payload", layout.payload_bytes);
  const Kokkos::View<std::uint8_t*, Kokkos::HostSpace> scales("scales", layout.scale_bytes);
  const Kokkos::View<float, Kokkos::HostSpace> global_scale("global scale");
  const papillon::BlockScaledView q{
      {payload.data(), payload.size()}, {scales.data(), scales.size()}, global_scale.data()};
  papillon::quantize(space, x, q, options);
  papillon::dequantize(space, {q.payload, q.scales, q.global_scale}, y, options);
  // [quantize]
  space.fence();

  double squared_error = 0, norm = 0;
  for (int i = 0; i < 256; ++i) {
    for (int c = 0; c < 64; ++c) {
      squared_error += double(x(i, c) - y(i, c)) * double(x(i, c) - y(i, c));
      norm += double(x(i, c)) * double(x(i, c));
    }
  }
  const double measured = errors[0].relative_l2 * errors[0].relative_l2;
  const bool same = std::abs(squared_error / norm - measured) < 1e-6 * measured;
  return same && errors[1].relative_l2 > errors[0].relative_l2 && layout.payload_bytes == 256 * 32 ? 0 : 1;
}
