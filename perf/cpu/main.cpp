// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// papillon-perf: the transform on the CPU beside a plain in-place scale loop over the same bytes and beside
// peers, Kronecker products beside a chain of matrix products, the quantiser beside that loop, and matrix
// products beside Eigen and OpenBLAS, all in one run. Google Benchmark does the timing; perf/run_cpu.py makes
// the table.
//
//   papillon-perf [--quick] [--plugin NAME=path]... [--kokkos-num-threads=N] [--benchmark_...]
#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "cases.hpp"
#include "gemm.hpp"
#include "kronecker.hpp"
#include "limits.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/papillon.hpp"
#include "peers.hpp"
#include "quantize.hpp"

namespace {

using namespace papillon;
using perf::Buffer;
using perf::Case;

void count_bytes(benchmark::State& state, const Case& what) {
  state.SetBytesProcessed(state.iterations() * 2 * what.bytes);
  state.counters["elements_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations() * what.elements()), benchmark::Counter::kIsRate);
}

void run_papillon(benchmark::State& state, const Case& what) {
  Buffer buffer(what);
  TensorDescriptor tensor;
  tensor.data = buffer.data();
  tensor.type = what.scalar;
  tensor.rank = 2;
  tensor.extents = {what.rows(), std::int64_t{1} << what.log2_n};
  tensor.strides = {std::int64_t{1} << what.log2_n, 1};
  const Kokkos::DefaultHostExecutionSpace space;
  // H then its inverse in turn, so that the numbers neither grow nor vanish.
  HadamardOptions forward{};
  HadamardOptions back{.norm = Normalization::inverse};
  // Long 16-bit rows keep their sums in float; a caller that transforms often brings that memory.
  std::vector<std::max_align_t> workspace(
      hadamard_workspace_bytes(space, tensor, tensor) / sizeof(std::max_align_t) + 1);
  forward.workspace = back.workspace = {workspace.data(), workspace.size() * sizeof(std::max_align_t)};
  bool there = true;
  for (auto _ : state) {
    hadamard(space, tensor, tensor, there ? forward : back);
    there = !there;
    benchmark::ClobberMemory();
  }
  count_bytes(state, what);
}

void run_scale(benchmark::State& state, const Case& what, int threads) {
  Buffer buffer({ScalarType::float32, what.bytes, 4});
  float factor = 2.0F;
  for (auto _ : state) {
    perf::scale_in_place(static_cast<float*>(buffer.data()), what.bytes, factor, threads);
    factor = 1.0F / factor;
    benchmark::ClobberMemory();
  }
  count_bytes(state, what);
}

void run_peer(benchmark::State& state, const Case& what, perf::Peer& peer) {
  if (!perf::computes_hadamard(peer, what)) {
    state.SkipWithError("not offered, or not equal to the definition");
    return;
  }
  Buffer buffer(what);
  const auto run = peer.prepare(what, buffer.data());
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  count_bytes(state, what);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::unique_ptr<perf::Peer>> peers;
    bool quick = false;
    std::vector<char*> rest;
    for (int i = 0; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument == "--quick") {
        quick = true;
      } else if (argument == "--plugin" && i + 1 < argc) {
        peers.push_back(perf::plugin_peer(argv[++i]));
      } else {
        rest.push_back(argv[i]);
      }
    }
    if (auto fftw = perf::fftw_peer()) peers.push_back(std::move(fftw));
    int count = static_cast<int>(rest.size());
    const Kokkos::ScopeGuard kokkos(count, rest.data());
    benchmark::Initialize(&count, rest.data());
    if (benchmark::ReportUnrecognizedArguments(count, rest.data())) return 2;

    const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
    benchmark::AddCustomContext("papillon_version", std::string(version));
    benchmark::AddCustomContext("threads", std::to_string(threads));
    benchmark::AddCustomContext("instruction_set", simd::active_target());
    for (const Case& what : perf::cpu_cases(quick)) {
      // Best of a few repetitions: what else runs on the machine only ever adds time.
      const auto add = [&](const std::string& who, auto run) {
        benchmark::RegisterBenchmark((who + "/" + what.name()).c_str(), run)
            ->UseRealTime()
            ->MinTime(0.05)
            ->Repetitions(5);
      };
      add("scale", [=](benchmark::State& state) { run_scale(state, what, threads); });
      add("papillon", [=](benchmark::State& state) { run_papillon(state, what); });
      if (threads > 1 || what.log2_n > 24) continue;
      for (const auto& peer : peers) {
        add(peer->name(), [what, p = peer.get()](benchmark::State& state) { run_peer(state, what, *p); });
      }
    }
    perf::register_products(quick, threads);
    perf::register_quantizer(quick, threads);
    perf::register_matrix_products(quick, threads);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "papillon-perf: " << error.what() << '\n';
    return 2;
  }
}
