// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/gpu.hpp"
#include "cli/kokkos_session.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/orders.hpp"
#include "papillon/version.hpp"

namespace papillon::cli {

namespace {

/// Name of the first host processor, where the system tells it.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::vector<std::string> execution_spaces() {
  std::vector<std::string> names;
#ifdef KOKKOS_ENABLE_SERIAL
  names.emplace_back(Kokkos::Serial::name());
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  names.emplace_back(Kokkos::OpenMP::name());
#endif
#ifdef KOKKOS_ENABLE_THREADS
  names.emplace_back(Kokkos::Threads::name());
#endif
#ifdef KOKKOS_ENABLE_CUDA
  names.emplace_back(Kokkos::Cuda::name());
#endif
#ifdef KOKKOS_ENABLE_HIP
  names.emplace_back(Kokkos::HIP::name());
#endif
#ifdef KOKKOS_ENABLE_SYCL
  names.emplace_back(Kokkos::SYCL::name());
#endif
  return names;
}

/// What the processor offers of the extensions that matter here.
std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  const auto add = [&](bool present, const char* name) {
    if (present) names.emplace_back(name);
  };
  add(__builtin_cpu_supports("sse4.2") != 0, "sse4.2");
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("f16c") != 0, "f16c");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vl") != 0, "avx512vl");
  add(__builtin_cpu_supports("avx512bf16") != 0, "avx512bf16");
#elif defined(__aarch64__)
  names.emplace_back("neon");
#endif
  return names;
}

nlohmann::ordered_json collect() {
  const KokkosSession kokkos;
  nlohmann::ordered_json info;
  info["version"] = version;
  info["kokkos"] = {
      {"version", std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) +
                      "." + std::to_string(KOKKOS_VERSION % 100)},
      {"spaces", execution_spaces()},
      {"default_host_space", Kokkos::DefaultHostExecutionSpace::name()},
      {"threads", Kokkos::num_threads()}};
  info["devices"] = nlohmann::ordered_json::array();
  info["devices"].push_back({{"kind", "cpu"}, {"name", processor_name()}});
  for (const std::string& name : gpu_names()) info["devices"].push_back({{"kind", "cuda"}, {"name", name}});
  info["instruction_sets"] = instruction_sets();
  info["vector_target"] = simd::active_target();
  info["orders"] = hadamard_orders();
  return info;
}

template <class Range>
std::string joined(const Range& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word.template get<std::string>();
  return text;
}

/// Runs of every fourth order, as "4-664": most of the list.
std::string runs_of(const std::vector<std::int64_t>& orders) {
  std::string text;
  for (std::size_t i = 0; i < orders.size();) {
    std::size_t end = i;
    while (end + 1 < orders.size() && orders[end + 1] == orders[end] + 4) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(orders[i]);
    if (end > i) text += (end == i + 1 ? ", " : "-") + std::to_string(orders[end]);
    i = end + 1;
  }
  return text;
}

void print(bool as_json) {
  const nlohmann::ordered_json info = collect();
  if (as_json) {
    std::cout << info.dump(2) << "\n";
    return;
  }
  std::cout << "papillon " << info["version"].get<std::string>() << "\n";
  std::cout << "Kokkos " << info["kokkos"]["version"].get<std::string>() << ": "
            << joined(info["kokkos"]["spaces"]) << ", " << info["kokkos"]["threads"] << " host threads\n";
  for (const auto& device : info["devices"]) {
    std::cout << "device: " << device["kind"].get<std::string>() << ", " << device["name"].get<std::string>()
              << "\n";
  }
  std::cout << "instruction sets: " << joined(info["instruction_sets"])
            << "; kernels in use: " << info["vector_target"].get<std::string>() << "\n";
  std::cout << "Hadamard orders, times any power of two (a-b: every multiple of four): "
            << runs_of(hadamard_orders()) << "\n";
}

}  // namespace

void add_info_command(CLI::App& app) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("info", "version, devices, instruction sets and offered orders");
  command->add_flag("--json", *as_json, "as JSON");
  command->callback([as_json] { print(*as_json); });
}

}  // namespace papillon::cli
