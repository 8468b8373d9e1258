// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// papillon-perf-gpu-kronecker: Kronecker and butterfly products on the GPU beside a plain copy of x in the
// same run.
#include <CLI/CLI.hpp>
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
using papillon::perf::require;

struct Type {
  const char* name;
  papillon::ScalarType scalar;
  int fill;  ///< of fill_normal
};
constexpr Type types[] = {{"f32", papillon::ScalarType::float32, 0},
                          {"bf16", papillon::ScalarType::bfloat16, 2},
                          {"f16", papillon::ScalarType::float16, 1},
                          {"f64", papillon::ScalarType::float64, 3}};

struct Shape {
  std::int64_t rows;
  std::int64_t size;  ///< of each factor, square
  int count;          ///< of factors

  std::int64_t points() const {
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) product *= size;
    return product;
  }
};
/// The table of the project's goals.
constexpr Shape shapes[] = {{1024, 2, 10}, {65536, 2, 10}, {1024, 4, 6},  {1024, 8, 5},   {1024, 16, 4},
                            {1024, 32, 3}, {65536, 32, 2}, {1024, 64, 3}, {65536, 64, 2}, {320, 128, 3}};

/// Butterflies of 2 x 2 blocks with values of their own, on rows of 2^k points, as long as `elements` lasts.
void measure_butterfly(papillon::perf::Timer& timer, const Type& type, int k, std::size_t elements,
                       json& lines) {
  const std::size_t n = std::size_t{1} << k;
  const std::size_t bytes = elements * papillon::size_of(type.scalar);
  const std::size_t values = 2 * n;  // of a factor
  void *x = nullptr, *y = nullptr, *entries = nullptr;
  require(cudaMalloc(&x, bytes));
  require(cudaMalloc(&y, bytes));
  const std::size_t factor_bytes = values * static_cast<std::size_t>(k) * papillon::size_of(type.scalar);
  require(cudaMalloc(&entries, factor_bytes));
  require(papillon::perf::fill_normal(x, elements, type.fill, timer.stream));
  require(
      papillon::perf::fill_normal(entries, values * static_cast<std::size_t>(k), type.fill, timer.stream));
  std::vector<papillon::ButterflyFactor> factors;
  for (int bit = 0; bit < k; ++bit) {
    auto factor = papillon::row_major_butterfly<float>(nullptr, std::int64_t{1} << (k - 1 - bit), 2, 2,
                                                       std::int64_t{1} << bit);
    factor.type = type.scalar;
    factor.data = static_cast<char*>(entries) +
                  factor_bytes / static_cast<std::size_t>(k) * static_cast<std::size_t>(bit);
    factors.push_back(factor);
  }
  const auto rows = static_cast<std::int64_t>(elements / n);
  const auto points = static_cast<std::int64_t>(n);
  const papillon::ConstTensorDescriptor source{x, type.scalar, 2, {rows, points}, {points, 1}};
  const papillon::TensorDescriptor target{y, type.scalar, 2, {rows, points}, {points, 1}};
  const double copy = timer.fastest_copy(y, x, bytes, 2);
  const double ours =
      timer.time(2, [&] { papillon::butterfly(timer.stream, factors, source, target, {.scale = 0.001}); });
  // The limit reads and writes the array once, and reads the factors once.
  const double limit = copy * (1 + static_cast<double>(factor_bytes) / static_cast<double>(2 * bytes));
  std::printf(
      "%-5s butterfly 2 x 2, n = %5zu, %8lld rows: copy and factors %9.2f us  ours %9.2f us  ratio %.3f\n",
      type.name, n, static_cast<long long>(rows), limit, ours, limit / ours);
  std::fflush(stdout);
  lines.push_back({{"table", "butterfly"},
                   {"scalar", type.name},
                   {"n", n},
                   {"rows", rows},
                   {"limit_us", limit},
                   {"papillon_us", ours},
                   {"ratio", limit / ours}});
  require(cudaFree(x));
  require(cudaFree(y));
  require(cudaFree(entries));
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Papillon's benchmark of Kronecker products on a GPU"};
  std::vector<std::string> scalars;
  std::vector<std::int64_t> sizes;
  std::string json_path;
  papillon::perf::Timer timer;
  app.add_option("--scalar", scalars, "f32 bf16 f16 f64 (default: all)");
  app.add_option("--size", sizes, "only factors of these sizes");
  app.add_option("--json", json_path, "file to write");
  app.add_option("--replays", timer.replays, "graph replays of which the median is taken");
  CLI11_PARSE(app, argc, argv);

  const std::string why = papillon::cuda::why_unavailable();
  if (!why.empty()) throw std::runtime_error(why);
  const auto wanted = [](const auto& list, const auto& value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  require(cudaDriverGetVersion(&driver));
  json result = {{"card", properties.name}, {"driver_api", driver}, {"lines", json::array()}};

  for (const Type& type : types) {
    if (!wanted(scalars, std::string(type.name))) continue;
    for (const int k : {10, 12})
      if (wanted(sizes, std::int64_t{2}))
        measure_butterfly(timer, type, k, std::size_t{1} << 27, result["lines"]);
    for (const Shape& shape : shapes) {
      if (!wanted(sizes, shape.size)) continue;
      const std::int64_t n = shape.points();
      const auto elements = static_cast<std::size_t>(shape.rows * n);
      const std::size_t bytes = elements * papillon::size_of(type.scalar);
      const auto factor_elements = static_cast<std::size_t>(shape.size * shape.size);
      void *x = nullptr, *y = nullptr, *entries = nullptr;
      require(cudaMalloc(&x, bytes));
      require(cudaMalloc(&y, bytes));
      require(cudaMalloc(&entries, (factor_elements + 3) / 4 * 4 * papillon::size_of(type.scalar)));
      require(papillon::perf::fill_normal(x, elements, type.fill, timer.stream));
      require(papillon::perf::fill_normal(entries, (factor_elements + 3) / 4 * 4, type.fill, timer.stream));
      const papillon::Factor factor{entries, type.scalar, shape.size, shape.size, shape.size, 1};
      const std::vector<papillon::Factor> factors(static_cast<std::size_t>(shape.count), factor);
      const papillon::ConstTensorDescriptor source{x, type.scalar, 2, {shape.rows, n}, {n, 1}};
      const papillon::TensorDescriptor target{y, type.scalar, 2, {shape.rows, n}, {n, 1}};
      papillon::KroneckerOptions options{.scale = 0.001};
      options.workspace.bytes = papillon::kronecker_workspace_bytes(timer.stream, factors, source, target);
      if (options.workspace.bytes > 0) require(cudaMalloc(&options.workspace.data, options.workspace.bytes));
      const int repeats = bytes < (std::size_t{64} << 20) ? 20 : 2;
      const double copy = timer.fastest_copy(y, x, bytes, repeats);
      const double ours =
          timer.time(repeats, [&] { papillon::kronecker(timer.stream, factors, source, target, options); });
      const double operations =
          2.0 * static_cast<double>(elements) * static_cast<double>(shape.size * shape.count);
      std::printf("%-5s %6lld x %4lld^%-2d copy %9.2f us  ours %9.2f us  time / copy %6.2f  %6.2f TFLOP/s\n",
                  type.name, static_cast<long long>(shape.rows), static_cast<long long>(shape.size),
                  shape.count, copy, ours, ours / copy, operations / ours * 1e-6);
      std::fflush(stdout);
      result["lines"].push_back({{"table", "kronecker"},
                                 {"scalar", type.name},
                                 {"rows", shape.rows},
                                 {"size", shape.size},
                                 {"count", shape.count},
                                 {"bytes", bytes},
                                 {"copy_us", copy},
                                 {"papillon_us", ours},
                                 {"over_copy", ours / copy},
                                 {"tflops", operations / ours * 1e-6}});
      require(cudaFree(x));
      require(cudaFree(y));
      require(cudaFree(entries));
      require(cudaFree(options.workspace.data));
    }
  }
  if (!json_path.empty()) std::ofstream(json_path) << result.dump(1) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "papillon-perf-gpu-kronecker: %s\n", error.what());
  return 1;
}
