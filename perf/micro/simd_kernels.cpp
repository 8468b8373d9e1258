// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vector kernels alone, one thread, in place and unnormalised, beside a plain loop that scales the same
// data in place: what memory allows. "ratio" is the kernel's rate as a share of that loop's, measured just
// before it.
//
//   papillon-perf-simd --benchmark_filter=rows/f32 --benchmark_counters_tabular=true
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "papillon/generic/simd/kernels.hpp"

namespace {

namespace simd = papillon::simd;
using papillon::bfloat16;
using papillon::compute_type;
using papillon::half;

/// Memory on huge pages where the system gives them, filled with values that stay finite.
template <class S>
class Buffer {
 public:
  explicit Buffer(std::int64_t count) : count_(count) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(S);
    data_ = static_cast<S*>(::operator new(bytes, huge_page));
#if defined(__linux__)
    madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    for (std::int64_t i = 0; i < count; ++i) data_[i] = static_cast<S>(compute_type<S>{0});
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::operator delete(data_, huge_page); }
  S* data() { return data_; }
  std::int64_t size() const { return count_; }

 private:
  static constexpr std::align_val_t huge_page{std::size_t{1} << 21};
  S* data_;
  std::int64_t count_;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Bytes read and written a second by the fastest of several runs of the scaling loop.
template <class S>
double scale_loop_rate(Buffer<S>& buffer) {
  using C = compute_type<S>;
  C factor{1};
  benchmark::DoNotOptimize(factor);
  const double bytes = 2.0 * static_cast<double>(sizeof(S)) * static_cast<double>(buffer.size());
  const int repeats = std::max(1, static_cast<int>(4e6 / bytes));
  double best = 1e9;
  for (int run = 0; run < 12; ++run) {
    const double start = seconds();
    for (int k = 0; k < repeats; ++k) {
      S* x = buffer.data();
      for (std::int64_t i = 0; i < buffer.size(); ++i) x[i] = static_cast<S>(static_cast<C>(x[i]) * factor);
      benchmark::ClobberMemory();
    }
    best = std::min(best, (seconds() - start) / repeats);
  }
  return bytes / best;
}

/// Runs `transform` and reports the rate of the fastest call beside the scaling loop's.
template <class S, class Transform>
void measure(benchmark::State& state, Buffer<S>& buffer, const Transform& transform) {
  const double bytes = 2.0 * static_cast<double>(sizeof(S)) * static_cast<double>(buffer.size());
  const double limit = scale_loop_rate(buffer);
  const int repeats = std::max(1, static_cast<int>(4e6 / bytes));
  double best = 1e9;
  for (auto _ : state) {
    const double start = seconds();
    for (int k = 0; k < repeats; ++k) transform();
    const double time = (seconds() - start) / repeats;
    best = std::min(best, time);
    state.SetIterationTime(time);
  }
  state.counters["GB/s"] = bytes / best / 1e9;
  state.counters["scale GB/s"] = limit / 1e9;
  state.counters["ratio"] = bytes / best / limit;
}

/// Contiguous rows of 2^log2_n that fill `bytes`.
template <class S>
void rows(benchmark::State& state, std::int64_t bytes, int log2_n) {
  using C = compute_type<S>;
  Buffer<S> buffer(bytes / static_cast<std::int64_t>(sizeof(S)));
  std::vector<C> scratch(simd::hadamard_rows_scratch_elements<S, S>(log2_n));
  const std::int64_t n = std::int64_t{1} << log2_n;
  measure(state, buffer, [&] {
    simd::hadamard_rows(buffer.data(), n, buffer.data(), n, buffer.size() >> log2_n, log2_n, 0, C{1},
                        scratch.data());
  });
}

/// Transforms along the first axis of matrices of 2^log2_n rows and 2^log2_columns columns that fill `bytes`.
template <class S>
void columns(benchmark::State& state, std::int64_t bytes, int log2_n, int log2_columns) {
  using C = compute_type<S>;
  Buffer<S> buffer(bytes / static_cast<std::int64_t>(sizeof(S)));
  std::vector<C> scratch(simd::hadamard_columns_scratch_elements<S, S>(log2_n));
  const std::int64_t width = std::int64_t{1} << log2_columns;
  measure(state, buffer, [&] {
    for (std::int64_t start = 0; start < buffer.size(); start += width << log2_n) {
      S* x = buffer.data() + start;
      simd::hadamard_columns(x, width, x, width, width, log2_n, C{1}, scratch.data());
    }
  });
}

/// Products with a matrix of m * m signs, for matrices of m rows and `width` columns.
template <class S>
void signed_matrix(benchmark::State& state, int m, std::int64_t width) {
  using C = compute_type<S>;
  Buffer<S> buffer(m * width);
  std::vector<C> scratch(simd::signed_matrix_scratch_elements<S, S>(m));
  std::vector<C> signs;
  for (int k = 0; k < m * m; ++k) signs.push_back(k % 3 == 0 ? C{-1} : C{1});
  measure(state, buffer, [&] {
    simd::signed_matrix_columns(signs.data(), m, buffer.data(), width, buffer.data(), width, width, C{1},
                                scratch.data());
  });
}

template <class S>
void add_type(const std::string& type) {
  constexpr std::int64_t kib = 1024;
  for (const std::int64_t bytes : {64 * kib, 2048 * kib, 65536 * kib}) {
    for (const int log2_n : {2, 4, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24}) {
      const std::int64_t row = static_cast<std::int64_t>(sizeof(S)) << log2_n;
      if (row > bytes) continue;
      const std::string name =
          "rows/" + type + "/" + std::to_string(bytes / kib) + "KiB/2^" + std::to_string(log2_n);
      benchmark::RegisterBenchmark(name.c_str(), rows<S>, bytes, log2_n)->UseManualTime();
    }
  }
  for (const int log2_n : {3, 4, 6, 10}) {
    for (const int log2_columns : {6, 10, 14}) {
      if ((static_cast<std::int64_t>(sizeof(S)) << (log2_n + log2_columns)) > 65536 * kib) continue;
      const std::string name =
          "columns/" + type + "/65536KiB/2^" + std::to_string(log2_n) + "x2^" + std::to_string(log2_columns);
      benchmark::RegisterBenchmark(name.c_str(), columns<S>, 65536 * kib, log2_n, log2_columns)
          ->UseManualTime();
    }
  }
  for (const int m : {12, 20, 28}) {
    for (const std::int64_t width : {4, 64, 256, 16384}) {
      const std::string name =
          "signed_matrix/" + type + "/" + std::to_string(m) + "x" + std::to_string(width);
      benchmark::RegisterBenchmark(name.c_str(), signed_matrix<S>, m, width)->UseManualTime();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::AddCustomContext("instruction set", simd::active_target());
  add_type<float>("f32");
  add_type<double>("f64");
  add_type<half>("f16");
  add_type<bfloat16>("bf16");
  add_type<std::int32_t>("i32");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
