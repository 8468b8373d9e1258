// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// papillon-perf-gpu-gemm: matrix products, classical and by levels of Strassen, beside cuBLAS in the same
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
#include "gemm_reference.hpp"
#include "papillon/cuda.hpp"
#include "timer.hpp"

namespace {

using nlohmann::json;
using papillon::GemmAlgorithm;
using papillon::GemmBase;
using papillon::GemmOptions;
using papillon::ScalarType;
using papillon::perf::require;

struct Type {
  const char* name;
  ScalarType in;
  ScalarType out;
};
constexpr Type types[] = {{"f32", ScalarType::float32, ScalarType::float32},
                          {"f64", ScalarType::float64, ScalarType::float64},
                          {"bf16", ScalarType::bfloat16, ScalarType::bfloat16},
                          {"f16", ScalarType::float16, ScalarType::float16},
                          {"bf16 to f32", ScalarType::bfloat16, ScalarType::float32}};

struct Shape {
  std::int64_t m, n, k;
};
constexpr Shape squares[] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048},
                             {4096, 4096, 4096}, {8192, 8192, 8192}, {16384, 16384, 16384}};
constexpr Shape rectangles[] = {{8192, 8192, 64},  {8192, 8192, 256}, {64, 8192, 8192},
                                {16, 8192, 8192},  {1, 8192, 8192},   {256, 16384, 4096},
                                {512, 512, 16384}, {128, 128, 65536}, {4095, 4095, 4095}};

struct Form {
  const char* name;
  GemmAlgorithm algorithm;
  int levels;
  GemmBase base;
};
constexpr Form forms[] = {{"cublas", GemmAlgorithm::classical, 0, GemmBase::cublas},
                          {"classical", GemmAlgorithm::classical, 0, GemmBase::own},
                          {"strassen 1", GemmAlgorithm::strassen, 1, GemmBase::own},
                          {"strassen 2", GemmAlgorithm::strassen, 2, GemmBase::own},
                          {"strassen 3", GemmAlgorithm::strassen, 3, GemmBase::own},
                          {"strassen 1 over cublas", GemmAlgorithm::strassen, 1, GemmBase::cublas},
                          {"strassen 2 over cublas", GemmAlgorithm::strassen, 2, GemmBase::cublas},
                          {"strassen 3 over cublas", GemmAlgorithm::strassen, 3, GemmBase::cublas},
                          {"winograd 2", GemmAlgorithm::winograd, 2, GemmBase::own},
                          {"automatic", GemmAlgorithm::automatic, -1, GemmBase::automatic}};

/// Device memory for as long as the object lives.
class Memory {
 public:
  explicit Memory(std::size_t bytes) {
    if (bytes > 0) require(cudaMalloc(&data_, bytes));
  }
  ~Memory() { cudaFree(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

struct Run {
  papillon::perf::Timer& timer;
  std::vector<std::string> forms;
  std::int64_t least_levels_block;
};

void measure(const Run& run, const Type& type, const Shape& shape, json& lines) {
  papillon::perf::Timer& timer = run.timer;
  const auto [m, n, k] = shape;
  const std::size_t in = papillon::size_of(type.in), out = papillon::size_of(type.out);
  const Memory a(static_cast<std::size_t>(m * k) * in), b(static_cast<std::size_t>(k * n) * in),
      c(static_cast<std::size_t>(m * n) * out);
  require(papillon::perf::fill_gaussian(a.get(), type.in, static_cast<std::size_t>(m * k), 1, timer.stream));
  require(papillon::perf::fill_gaussian(b.get(), type.in, static_cast<std::size_t>(k * n), 2, timer.stream));
  const papillon::ConstTensorDescriptor a_matrix{a.get(), type.in, 2, {m, k}, {k, 1}};
  const papillon::ConstTensorDescriptor b_matrix{b.get(), type.in, 2, {k, n}, {n, 1}};
  const papillon::TensorDescriptor c_matrix{c.get(), type.out, 2, {m, n}, {n, 1}};
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int repeats = static_cast<int>(std::clamp(1e12 / flops, 1.0, 20.0));

  json line = {{"scalar", type.name}, {"m", m}, {"n", n}, {"k", k}, {"forms", json::object()}};
  std::printf("%s  %lld x %lld x %lld\n", type.name, static_cast<long long>(m), static_cast<long long>(n),
              static_cast<long long>(k));
  double cublas_time = 0;
  for (const Form& form : forms) {
    if (!run.forms.empty() && std::find(run.forms.begin(), run.forms.end(), form.name) == run.forms.end())
      continue;
    // Blocks too small for a level to pay, and 16-bit ones unless they are large.
    if (form.levels > 0 && std::min({m, n, k}) >> form.levels < (in == 2 ? 4096 : run.least_levels_block))
      continue;
    GemmOptions options{.algorithm = form.algorithm, .max_levels = form.levels, .base = form.base};
    std::string explained;
    try {
      explained = papillon::explain_gemm(timer.stream, 1.0, a_matrix, b_matrix, 0.0, c_matrix, options);
    } catch (const std::invalid_argument& error) {
      std::printf("  %-24s %s\n", form.name, error.what());
      continue;
    }
    const std::size_t bytes =
        papillon::gemm_workspace_bytes(timer.stream, 1.0, a_matrix, b_matrix, 0.0, c_matrix, options);
    const Memory workspace(bytes);
    options.workspace = {workspace.get(), bytes};
    const double time = timer.time(
        repeats, [&] { papillon::gemm(timer.stream, 1.0, a_matrix, b_matrix, 0.0, c_matrix, options); });
    const double error =
        papillon::perf::relative_error({a.get(), b.get(), c.get(), type.in, type.out, m, n, k}, timer.stream);
    if (std::string(form.name) == "cublas") cublas_time = time;
    const double speed = cublas_time > 0 ? cublas_time / time : 0;
    std::printf("  %-24s %11.2f us %8.2f TFLOP/s  times cuBLAS %.3f  error %.2e  workspace %.2f GB\n",
                form.name, time, flops / time * 1e-6, speed, error, static_cast<double>(bytes) * 1e-9);
    std::fflush(stdout);
    line["forms"][form.name] = {
        {"us", time}, {"speed", speed}, {"error", error}, {"workspace", bytes}, {"explain", explained}};
  }
  lines.push_back(line);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Papillon's benchmark of matrix products on a GPU"};
  std::vector<std::string> scalars;
  std::vector<std::int64_t> sizes;
  std::string json_path;
  bool no_rectangles = false;
  papillon::perf::Timer timer;
  Run run{timer, {}, 512};
  app.add_option("--scalar", scalars, "f32 f64 bf16 f16 (default: all)");
  app.add_option("--size", sizes, "only squares of these sizes");
  app.add_option("--form", run.forms, "only these forms");
  app.add_flag("--no-rectangles", no_rectangles, "squares alone");
  app.add_option("--least-block", run.least_levels_block, "levels are timed while blocks are as large");
  app.add_option("--json", json_path, "file to write");
  app.add_option("--replays", timer.replays, "graph replays of which the median is taken");
  CLI11_PARSE(app, argc, argv);

  const std::string why = papillon::cuda::why_unavailable();
  if (!why.empty()) throw std::runtime_error(why);
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  require(cudaDriverGetVersion(&driver));
  json result = {{"card", properties.name}, {"driver_api", driver}, {"lines", json::array()}};
  const auto wanted = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  for (const Type& type : types) {
    if (!wanted(scalars, std::string(type.name))) continue;
    for (const Shape& shape : squares)
      if (wanted(sizes, shape.m)) measure(run, type, shape, result["lines"]);
    if (no_rectangles) continue;
    for (const Shape& shape : rectangles) measure(run, type, shape, result["lines"]);
  }
  if (!json_path.empty()) std::ofstream(json_path) << result.dump(1) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "papillon-perf-gpu-gemm: %s\n", error.what());
  return 1;
}
