// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// papillon-perf-gpu-quantize: the quantiser on the GPU beside a kernel that moves the same bytes, in the same
// run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cuda/api.hpp"
#include "papillon/cuda.hpp"
#include "timer.hpp"

namespace {

using nlohmann::json;
using namespace papillon;
using papillon::perf::require;

struct Type {
  const char* name;
  ScalarType scalar;
  int fill;  ///< of fill_normal
};
constexpr Type types[] = {
    {"bf16", ScalarType::bfloat16, 2}, {"f32", ScalarType::float32, 0}, {"f16", ScalarType::float16, 1}};

struct Shape {
  std::int64_t rows;
  std::int64_t n;
};

/// Buffers of one shape.
struct Buffers {
  void* x = nullptr;
  void* payload = nullptr;
  void* scales = nullptr;
  void* global = nullptr;

  Buffers(std::size_t x_bytes, const QuantizedLayout& layout) {
    require(cudaMalloc(&x, x_bytes));
    require(cudaMalloc(&payload, layout.payload_bytes + layout.scale_bytes));
    require(cudaMalloc(&scales, layout.scale_bytes));
    require(cudaMalloc(&global, sizeof(float)));
  }
  ~Buffers() {
    cudaFree(x);
    cudaFree(payload);
    cudaFree(scales);
    cudaFree(global);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

void measure(perf::Timer& timer, const Type& type, const Shape& shape, const QuantizeOptions& options,
             json& lines) {
  const std::array<std::int64_t, 2> extents = {shape.rows, shape.n};
  const QuantizedLayout layout = quantized_layout(extents, options);
  const auto elements = static_cast<std::size_t>(shape.rows * shape.n);
  const std::size_t read = elements * size_of(type.scalar);
  const std::size_t written = layout.payload_bytes + layout.scale_bytes;
  const bool hot = read + written < (std::size_t{40} << 20);
  const int repeats = hot ? 20 : 2;
  const Buffers buffers(read, layout);
  require(perf::fill_normal(buffers.x, elements, type.fill, timer.stream));
  const double copy = timer.fastest_reduction(buffers.payload, buffers.x, read, written, repeats);
  const ConstTensorDescriptor x{buffers.x, type.scalar, 2, {shape.rows, shape.n}, {shape.n, 1}};
  const BlockScaledView q{{static_cast<std::uint8_t*>(buffers.payload), layout.payload_bytes},
                          {static_cast<std::uint8_t*>(buffers.scales), layout.scale_bytes},
                          static_cast<float*>(buffers.global)};
  QuantizeOptions used = options;
  used.workspace.bytes = quantize_workspace_bytes(timer.stream, x, q, used);
  if (used.workspace.bytes > 0) require(cudaMalloc(&used.workspace.data, used.workspace.bytes));
  const double ours = timer.time(repeats, [&] { quantize(timer.stream, x, q, used); });
  require(cudaFree(used.workspace.data));
  const bool two_passes =
      options.format == BlockFormat::nvfp4 && options.global_scale_source == GlobalScaleSource::computed;
  const double bytes = static_cast<double>(read + written + (two_passes ? read : 0));
  const double limit = copy * bytes / static_cast<double>(read + written);
  const std::string rotation = options.rotation == whole_axis ? "row" : std::to_string(options.rotation);
  std::printf(
      "%-5s %8lld x %-6lld %-10s rotation %-4s %-8s %-10s %-9s limit %9.2f us  ours %9.2f us  over limit "
      "%6.3f\n",
      type.name, static_cast<long long>(shape.rows), static_cast<long long>(shape.n),
      name_of(options.format).data(), rotation.c_str(),
      two_passes ? "computed" : name_of(options.global_scale_source).data(), name_of(options.rounding).data(),
      name_of(options.scale_layout).data(), limit, ours, ours / limit);
  std::fflush(stdout);
  lines.push_back({{"table", "quantize"},
                   {"scalar", type.name},
                   {"rows", shape.rows},
                   {"n", shape.n},
                   {"format", name_of(options.format)},
                   {"rule", name_of(options.scale_rule)},
                   {"rotation", rotation},
                   {"axis", options.axis},
                   {"global_scale", name_of(options.global_scale_source)},
                   {"rounding", name_of(options.rounding)},
                   {"layout", name_of(options.scale_layout)},
                   {"read_bytes", read},
                   {"written_bytes", written},
                   {"limit_us", limit},
                   {"papillon_us", ours},
                   {"over_limit", ours / limit}});
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Papillon's benchmark of the quantiser on a GPU"};
  std::vector<std::string> scalars;
  std::string json_path;
  bool brief = false;
  perf::Timer timer;
  app.add_option("--scalar", scalars, "bf16 f32 f16 (default: all)");
  app.add_option("--json", json_path, "file to write");
  app.add_option("--replays", timer.replays, "graph replays of which the median is taken");
  app.add_flag("--brief", brief, "NVFP4 with a given scale alone");
  CLI11_PARSE(app, argc, argv);
  const std::string why = cuda::why_unavailable();
  if (!why.empty()) throw std::runtime_error(why);
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  require(cudaDriverGetVersion(&driver));
  json result = {{"card", properties.name}, {"driver_api", driver}, {"lines", json::array()}};

  constexpr Shape large{std::int64_t{1} << 16, 4096};
  constexpr Shape small{1024, 4096};
  for (const Type& type : types) {
    if (!scalars.empty() && std::find(scalars.begin(), scalars.end(), type.name) == scalars.end()) continue;
    QuantizeOptions options;
    options.global_scale_source = GlobalScaleSource::given;
    options.global_scale = 2e-3f;
    const auto run = [&](const Shape& shape) { measure(timer, type, shape, options, result["lines"]); };
    for (const Shape& shape : {large, small}) {
      for (const std::int64_t rotation : {0, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}) {
        options.rotation = rotation;
        run(shape);
      }
      options.global_scale_source = GlobalScaleSource::computed;
      for (const std::int64_t rotation : {0, 16, 128, 4096}) {
        options.rotation = rotation;
        run(shape);
      }
      options.global_scale_source = GlobalScaleSource::given;
    }
    if (brief) continue;
    options.rotation = 16;
    options.scale_layout = ScaleLayout::swizzled;
    run(large);
    options.scale_layout = ScaleLayout::row_major;
    options.rounding = Rounding::stochastic;
    run(large);
    options.rounding = Rounding::nearest_even;
    options.scale_rule = ScaleRule::transformer_engine;
    run(large);
    options.scale_rule = ScaleRule::automatic;
    for (const BlockFormat format : {BlockFormat::mxfp4, BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2,
                                     BlockFormat::fp8_e4m3, BlockFormat::int8, BlockFormat::int4}) {
      options.format = format;
      for (const std::int64_t rotation : {0, 16, 128}) {
        options.rotation = rotation;
        run(large);
      }
    }
    options.format = BlockFormat::nvfp4;
    options.axis = 0;
    for (const std::int64_t rotation : {0, 16}) {
      options.rotation = rotation;
      run(large);
    }
  }
  if (!json_path.empty()) std::ofstream(json_path) << result.dump(1) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "papillon-perf-gpu-quantize: %s\n", error.what());
  return 1;
}
