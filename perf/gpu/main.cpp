// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// papillon-perf-gpu: the Hadamard transform on the GPU beside plain copies of the same bytes in the same run.
// Times are medians of graph replays.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "../peer_api.hpp"
#include "copy_kernels.hpp"
#include "cuda/api.hpp"
#include "papillon/cuda.hpp"
#include "timer.hpp"

namespace {

using nlohmann::json;
using papillon::ScalarType;

using papillon::perf::require;

struct Type {
  const char* name;
  ScalarType scalar;
  int dtype;  ///< of the peers' interface; 4, int32, is ours
};
constexpr Type types[] = {{"f32", ScalarType::float32, 0},
                          {"f16", ScalarType::float16, 1},
                          {"bf16", ScalarType::bfloat16, 2},
                          {"f64", ScalarType::float64, 3},
                          {"i32", ScalarType::int32, 4}};

struct Peer {
  std::string name;
  papillon::perf::PeerFunction run = nullptr;
};

Peer load_peer(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) throw std::invalid_argument("--plugin takes NAME=path, not " + argument);
  Peer peer{argument.substr(0, equals), nullptr};
  void* library = dlopen(argument.substr(equals + 1).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  peer.run = reinterpret_cast<papillon::perf::PeerFunction>(dlsym(library, (peer.name + "_fht").c_str()));
  if (peer.run == nullptr) throw std::runtime_error("no function " + peer.name + "_fht in " + argument);
  return peer;
}

/// What a call asks for beside the plain transform of aligned rows.
struct Variant {
  const char* name = "plain";
  papillon::Signs signs = {};
  papillon::Ordering ordering = papillon::Ordering::natural;
  std::size_t shift = 0;  ///< elements that the rows start after a 16-byte boundary
};
constexpr Variant variants[] = {{"signs, seeded", {.seed = 7}},
                                {"signs on the output", {.seed = 7, .side = papillon::SignSide::output}},
                                {"sequency order", {}, papillon::Ordering::sequency},
                                {"not aligned", {}, papillon::Ordering::natural, 1}};

struct Bench : papillon::perf::Timer {
  void* x = nullptr;
  void* y = nullptr;
  void* z = nullptr;
  std::size_t capacity = 0;
  std::vector<std::int64_t> lengths;  ///< the only ones measured, if any are given
  std::vector<std::int64_t> widths;   ///< inner extents, the same
  papillon::Workspace workspace;

  explicit Bench(std::size_t bytes) : capacity(bytes) {
    require(cudaMalloc(&x, bytes));
    require(cudaMalloc(&y, bytes));
    require(cudaMalloc(&z, bytes));
    workspace.bytes = bytes;
    require(cudaMalloc(&workspace.data, bytes));
  }

  /// x as (rows, n, inner), transformed along n.
  void transform(const Type& type, void* target, std::int64_t rows, std::int64_t n, std::int64_t inner,
                 double scale, const Variant& variant) {
    const auto shift = static_cast<std::ptrdiff_t>(variant.shift * papillon::size_of(type.scalar));
    const papillon::ConstTensorDescriptor source{
        static_cast<const char*>(x) + shift, type.scalar, 3, {rows, n, inner}, {n * inner, inner, 1}};
    const papillon::TensorDescriptor result{
        static_cast<char*>(target) + shift, type.scalar, 3, {rows, n, inner}, {n * inner, inner, 1}};
    papillon::HadamardOptions options{.scale = scale, .axis = 1, .workspace = workspace};
    options.ordering = variant.ordering;
    options.signs = variant.signs;
    papillon::hadamard(stream, source, result, options);
  }

  /// Whether a peer's result in z equals ours in y: bits, or how far off.
  std::string agreement(const Type& type, std::size_t bytes) {
    const std::size_t part = std::min<std::size_t>(bytes, 1 << 22);
    std::vector<unsigned char> ours(part);
    std::vector<unsigned char> theirs(part);
    require(cudaMemcpy(ours.data(), static_cast<char*>(y) + bytes - part, part, cudaMemcpyDeviceToHost));
    require(cudaMemcpy(theirs.data(), static_cast<char*>(z) + bytes - part, part, cudaMemcpyDeviceToHost));
    if (ours == theirs) return "same bits";
    double error = 0;
    double norm = 0;
    const auto add = [&]<class T>(T) {
      for (std::size_t i = 0; i < part; i += sizeof(T)) {
        T a{};
        T b{};
        std::memcpy(&a, ours.data() + i, sizeof(T));
        std::memcpy(&b, theirs.data() + i, sizeof(T));
        const double p = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(a));
        const double q = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(b));
        error += (p - q) * (p - q);
        norm += p * p;
      }
    };
    switch (type.dtype) {
      case 1:
        add(papillon::half{});
        break;
      case 2:
        add(papillon::bfloat16{});
        break;
      case 3:
        add(double{});
        break;
      default:
        add(float{});
        break;
    }
    char text[64];
    std::snprintf(text, sizeof text, "differs by %.1e", std::sqrt(error / norm));
    return error <= 1e-4 * norm ? text : std::string("WRONG, ") + text;
  }

  /// Whether a problem was asked for.
  bool wants(std::int64_t n, std::int64_t inner) const {
    const auto among = [](const std::vector<std::int64_t>& list, std::int64_t value) {
      return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    return among(lengths, n) && among(widths, inner);
  }

  /// One problem, if it was asked for, added to `lines`: the copy, ours, and every peer that offers it.
  void measure(json& lines, const char* table, const Type& type, std::int64_t rows, std::int64_t n,
               int repeats, const std::vector<Peer>& peers, const Variant& variant = {},
               std::int64_t inner = 1) {
    if (!wants(n, inner)) return;
    const std::size_t bytes = static_cast<std::size_t>(rows * n * inner) * papillon::size_of(type.scalar);
    const double scale = type.dtype == 4 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(n));
    const double copy = fastest_copy(y, x, (bytes + 15) / 16 * 16, repeats);
    const double ours = time(repeats, [&] { transform(type, y, rows, n, inner, scale, variant); });
    std::printf("%-7s %-5s n %8lld rows %10lld inner %4lld  copy %9.2f us  ours %9.2f us  ratio %.3f", table,
                type.name, static_cast<long long>(n), static_cast<long long>(rows),
                static_cast<long long>(inner), copy, ours, copy / ours);
    if (std::strcmp(variant.name, "plain") != 0) std::printf("  %s", variant.name);
    json line = {{"table", table},      {"scalar", type.name},  {"n", n},
                 {"rows", rows},        {"bytes", bytes},       {"copy_us", copy},
                 {"papillon_us", ours}, {"ratio", copy / ours}, {"variant", variant.name},
                 {"inner", inner}};
    for (const Peer& peer : peers) {
      const auto call = [&] {
        return peer.run(x, z, static_cast<long>(rows), static_cast<int>(n), type.dtype,
                        static_cast<float>(scale), stream);
      };
      require(cudaMemsetAsync(z, 255, bytes, stream));
      if (call() != 0) continue;
      require(cudaStreamSynchronize(stream));
      const std::string agrees = agreement(type, bytes);
      const double theirs = time(repeats, [&] { call(); });
      std::printf("  %s %.2f (%.3f%s)", peer.name.c_str(), theirs, copy / theirs,
                  agrees == "same bits" ? "" : (", " + agrees).c_str());
      line["peers"][peer.name] = {{"us", theirs}, {"ratio", copy / theirs}, {"agreement", agrees}};
    }
    std::printf("\n");
    std::fflush(stdout);
    lines.push_back(std::move(line));
  }
};

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Papillon's GPU benchmark"};
  std::vector<std::string> plugins;
  std::vector<std::string> scalars;
  std::vector<std::string> tables{"cold", "hot", "batch", "orders", "options", "long", "columns"};
  std::string json_path;
  int log2_elements = 28;
  int first_k = 1;
  int last_k = 15;
  int replays = 11;
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> widths;
  app.add_option("--plugin", plugins, "a peer, NAME=path");
  app.add_option("--scalar", scalars, "f32 f16 bf16 f64 i32 (default: all)");
  app.add_option(
      "--table", tables,
      "cold (2^28 elements), hot (D = 128 bf16), batch (f32, 128 rows), orders (m 2^k), options (signs, "
      "orderings, rows that are not aligned), long (n from 2^16), columns (other axes than the last)");
  app.add_option("--json", json_path, "file to write");
  app.add_option("--log2-elements", log2_elements, "of the cold table");
  app.add_option("--first", first_k, "log2 of the smallest n");
  app.add_option("--last", last_k, "log2 of the largest n");
  app.add_option("--n", lengths, "only these lengths");
  app.add_option("--inner", widths, "only these extents behind the axis");
  app.add_option("--replays", replays, "graph replays of which the median is taken");
  CLI11_PARSE(app, argc, argv);

  const std::string why = papillon::cuda::why_unavailable();
  if (!why.empty()) throw std::runtime_error(why);
  std::vector<Peer> peers;
  for (const std::string& plugin : plugins) peers.push_back(load_peer(plugin));
  const auto wanted = [](const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
  };
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  require(cudaDriverGetVersion(&driver));
  json result = {{"card", properties.name},
                 {"multiprocessors", properties.multiProcessorCount},
                 {"driver_api", driver},
                 {"log2_elements", log2_elements},
                 {"lines", json::array()}};

  Bench bench(std::size_t{8} << log2_elements);
  bench.replays = replays;
  bench.lengths = lengths;
  bench.widths = widths;
  for (const Type& type : types) {
    if (!wanted(scalars, type.name)) continue;
    require(papillon::perf::fill_normal(bench.x, std::size_t{1} << log2_elements, type.dtype, bench.stream));
    if (wanted(tables, "cold")) {
      for (int k = first_k; k <= last_k; ++k)
        bench.measure(result["lines"], "cold", type, std::int64_t{1} << (log2_elements - k),
                      std::int64_t{1} << k, 2, peers);
    }
    if (wanted(tables, "hot") && type.dtype == 2) {
      for (const std::int64_t rows : {1, 1024, 16384, 65536, 524288, 2097152})
        bench.measure(result["lines"], "hot", type, rows, 128, rows <= 65536 ? 100 : 4, peers);
    }
    if (wanted(tables, "batch") && type.dtype == 0) {
      for (const int k : {10, 12, 14, 15})
        bench.measure(result["lines"], "batch", type, 128, std::int64_t{1} << k, 100, peers);
    }
    const std::int64_t elements = std::int64_t{1} << (log2_elements - 1);
    if (wanted(tables, "orders")) {
      for (const std::int64_t n :
           {12,  48,   192,  768,  3072,  12288, 80,   320,  1280, 5120, 20480, 112,
            448, 1792, 3584, 7168, 14336, 28672, 2304, 2816, 3328, 3840, 15360, 30720}) {
        if (type.scalar == ScalarType::float64 && n > 20480) continue;  // does not fit a block
        bench.measure(result["lines"], "orders", type, elements / n, n, 2, {});
      }
    }
    if (wanted(tables, "options")) {
      for (const Variant& variant : variants) {
        for (const int k : {4, 7, 10, 12, 13, 14, 15}) {
          if (type.scalar == ScalarType::float64 && k == 15) continue;  // does not fit a block
          const std::int64_t n = std::int64_t{1} << k;
          bench.measure(result["lines"], "options", type, elements / n - 1, n, 2, {}, variant);
        }
      }
    }
    if (wanted(tables, "long")) {
      // 128 rows of 2^16 in the cache, as far as they fit, then all elements at every length.
      bench.measure(result["lines"], "long", type, 128, 1 << 16, 20, peers);
      for (int k = 16; k <= log2_elements; k += k < 20 ? 1 : 2)
        bench.measure(result["lines"], "long", type, std::int64_t{1} << (log2_elements - k),
                      std::int64_t{1} << k, 2, peers);
    }
    if (wanted(tables, "columns")) {
      for (const std::int64_t n : {2, 8, 32, 128, 1024, 4096})
        for (const std::int64_t inner : {1, 3, 8, 16, 64, 1024})
          bench.measure(result["lines"], "columns", type, elements / (n * inner), n, 2, {}, {}, inner);
      // All of one axis, beside the same transform of the other one.
      bench.measure(result["lines"], "columns", type, 1, 65536, 2, {}, {}, 1024);
      bench.measure(result["lines"], "columns", type, 1024, 65536, 2, {});
    }
  }
  if (!json_path.empty()) std::ofstream(json_path) << result.dump(1) << "\n";
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "papillon-perf-gpu: %s\n", error.what());
  return 1;
}
