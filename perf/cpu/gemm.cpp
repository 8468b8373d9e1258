// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm.hpp"

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "papillon/papillon.hpp"

namespace papillon::perf {
namespace {

/// Three matrices of a case.
class Matrices {
 public:
  explicit Matrices(const GemmCase& what)
      : what_(what), a_(buffer(what)), b_(buffer(what)), c_(buffer(what)) {}

  GemmArrays arrays() { return {a_.data(), b_.data(), c_.data()}; }
  ConstTensorDescriptor a() { return matrix(a_); }
  ConstTensorDescriptor b() { return matrix(b_); }
  TensorDescriptor c() { return matrix(c_); }

  /// |C - A B| / |A B| in the Frobenius norm, over some rows.
  double error() {
    return what_.scalar == ScalarType::float32 ? error_of<float, double>() : error_of<double, long double>();
  }

 private:
  static Case buffer(const GemmCase& what) {
    return {what.scalar, what.n * what.n * static_cast<std::int64_t>(size_of(what.scalar)), 0};
  }
  TensorDescriptor matrix(Buffer& buffer) const {
    return row_major_matrix(buffer.data(), what_.scalar, what_.n, what_.n, what_.n);
  }

  template <class T, class Wide>
  double error_of() {
    constexpr std::int64_t rows = 8;
    const std::int64_t n = what_.n;
    const auto* a = static_cast<const T*>(a_.data());
    const auto* b = static_cast<const T*>(b_.data());
    const auto* c = static_cast<const T*>(c_.data());
    Wide difference = 0, size = 0;
    std::vector<Wide> exact(static_cast<std::size_t>(n));
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = r * (n - 1) / (rows - 1);
      std::fill(exact.begin(), exact.end(), Wide{0});
      for (std::int64_t l = 0; l < n; ++l) {
        const Wide x = a[row * n + l];
        for (std::int64_t j = 0; j < n; ++j) exact[static_cast<std::size_t>(j)] += x * b[l * n + j];
      }
      for (std::int64_t j = 0; j < n; ++j) {
        const Wide value = exact[static_cast<std::size_t>(j)];
        difference += (c[row * n + j] - value) * (c[row * n + j] - value);
        size += value * value;
      }
    }
    return static_cast<double>(std::sqrt(difference / size));
  }

  GemmCase what_;
  Buffer a_, b_, c_;
};

using Product = std::function<void()>;

void run_product(benchmark::State& state, const GemmCase& what, Matrices& matrices, const Product& product) {
  if (!product) {
    state.SkipWithError("not there");
    return;
  }
  for (auto _ : state) {
    product();
    benchmark::ClobberMemory();
  }
  state.counters["gemm_operations_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * what.operations(), benchmark::Counter::kIsRate);
  state.counters["relative_error"] = matrices.error();
}

void run_papillon(benchmark::State& state, const GemmCase& what, GemmAlgorithm algorithm) {
  Matrices matrices(what);
  const Kokkos::DefaultHostExecutionSpace space;
  GemmOptions options;
  options.algorithm = algorithm;
  run_product(state, what, matrices,
              [&] { gemm(space, 1.0, matrices.a(), matrices.b(), 0.0, matrices.c(), options); });
  const detail::GemmProblem problem =
      detail::make_gemm_problem(1.0, matrices.a(), matrices.b(), 0.0, matrices.c(), options);
  using Space = Kokkos::DefaultHostExecutionSpace;
  state.counters["levels"] = static_cast<double>(generic::make_gemm_plan<Space>(problem).levels.size());
}

}  // namespace

std::vector<GemmCase> gemm_cases(bool quick) {
  std::vector<GemmCase> cases;
  for (const ScalarType scalar : {ScalarType::float32, ScalarType::float64}) {
    for (const std::int64_t n : {512, 1024, 2048, 4096}) {
      if (!quick || n == 512) cases.push_back({scalar, n});
    }
  }
  return cases;
}

void register_matrix_products(bool quick, int threads) {
  for (const GemmCase& what : gemm_cases(quick)) {
    const auto add = [&](const std::string& who, const auto& run) {
      benchmark::RegisterBenchmark((who + "/" + what.name()).c_str(), run)
          ->UseRealTime()
          ->MinTime(0.05)
          ->Repetitions(5);
    };
    add("gemm_classical",
        [=](benchmark::State& state) { run_papillon(state, what, GemmAlgorithm::classical); });
    add("gemm_automatic",
        [=](benchmark::State& state) { run_papillon(state, what, GemmAlgorithm::automatic); });
    const auto add_peer = [&](const std::string& who, auto product) {
      add(who, [=](benchmark::State& state) {
        Matrices matrices(what);
        run_product(state, what, matrices, product(what, matrices.arrays(), threads));
      });
    };
    add_peer("gemm_eigen", eigen_product);
    add_peer("gemm_openblas", openblas_product);
  }
}

}  // namespace papillon::perf
