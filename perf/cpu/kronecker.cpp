// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker.hpp"

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>

#include "papillon/papillon.hpp"

namespace papillon::perf {
namespace {

std::vector<float> random_floats(std::size_t count, float size) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

/// Floats that start at a page.
class Floats {
 public:
  explicit Floats(std::size_t count) : memory_(static_cast<float*>(std::aligned_alloc(4096, bytes(count)))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::fill_n(memory_.get(), count, 0.0F);
  }
  explicit Floats(const std::vector<float>& values) : Floats(values.size()) {
    std::copy(values.begin(), values.end(), memory_.get());
  }
  float* data() const { return memory_.get(); }

 private:
  static std::size_t bytes(std::size_t count) { return (count * sizeof(float) + 4095) / 4096 * 4096; }

  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
};

/// What all ways to make a product work on.
struct Arrays {
  explicit Arrays(const ProductCase& what)
      : count(static_cast<std::size_t>(what.rows * what.length())),
        factors(product_factors(what)),
        x(random_floats(count, 1.0F)),
        y(count),
        spare(count) {}
  std::size_t count;
  Floats factors, x, y, spare;
};

void run_kronecker(const ProductCase& what, Arrays& arrays) {
  std::vector<Factor> factors;
  const std::int64_t entries = std::int64_t{what.extent} * what.extent;
  for (int i = 0; i < what.count; ++i)
    factors.push_back(row_major_factor(arrays.factors.data() + i * entries, what.extent, what.extent));
  const Kokkos::DefaultHostExecutionSpace space;
  const auto x = row_major(arrays.x.data(), {what.rows, what.length()});
  const auto y = row_major(arrays.y.data(), {what.rows, what.length()});
  KroneckerOptions options;
  const std::size_t bytes = kronecker_workspace_bytes(space, factors, x, y);
  options.workspace = {arrays.spare.data(), std::min(bytes, arrays.count * sizeof(float))};
  kronecker(space, factors, x, y, options);
}

/// Whether the chain computes what Papillon does.
bool agrees(const ProductCase& what, Arrays& arrays, const std::function<void()>& chain) {
  run_kronecker(what, arrays);
  const std::vector<float> expected(arrays.y.data(), arrays.y.data() + arrays.count);
  std::fill_n(arrays.y.data(), arrays.count, 0.0F);
  chain();
  for (std::size_t i = 0; i < arrays.count; ++i)
    if (!(std::abs(expected[i] - arrays.y.data()[i]) < 1e-3F)) return false;
  return true;
}

void count_operations(benchmark::State& state, const ProductCase& what) {
  state.counters["operations_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * what.operations(), benchmark::Counter::kIsRate);
}

}  // namespace

std::int64_t ProductCase::length() const {
  std::int64_t length = 1;
  for (int i = 0; i < count; ++i) length *= extent;
  return length;
}

double ProductCase::operations() const { return 2.0 * static_cast<double>(rows * length()) * extent * count; }

std::string ProductCase::name() const {
  return "float32/" + std::to_string(rows) + "/" + std::to_string(extent) + "^" + std::to_string(count);
}

std::vector<ProductCase> product_cases(bool quick) {
  if (quick) return {{1024, 2, 10}, {16, 8, 5}, {10, 128, 2}};
  return {{1024, 2, 10}, {1024, 4, 6}, {16, 8, 5},  {256, 8, 5},
          {320, 16, 4},  {256, 32, 3}, {16, 64, 3}, {10, 128, 2}};
}

std::vector<float> product_factors(const ProductCase& what) {
  return random_floats(static_cast<std::size_t>(what.count * what.extent * what.extent),
                       1.0F / std::sqrt(static_cast<float>(what.extent)));
}

void register_products(bool quick, int threads) {
  for (const ProductCase& what : product_cases(quick)) {
    const auto add = [&](const std::string& who, const auto& run) {
      benchmark::RegisterBenchmark((who + "/" + what.name()).c_str(), run)
          ->UseRealTime()
          ->MinTime(0.05)
          ->Repetitions(5);
    };
    add("kronecker", [=](benchmark::State& state) {
      Arrays arrays(what);
      for (auto _ : state) {
        run_kronecker(what, arrays);
        benchmark::ClobberMemory();
      }
      count_operations(state, what);
    });
    add("kronecker_eigen", [=](benchmark::State& state) {
      Arrays arrays(what);
      const auto chain = eigen_chain(what, arrays.factors.data(), arrays.x.data(), arrays.y.data(),
                                     arrays.spare.data(), threads);
      if (!chain || !agrees(what, arrays, chain)) {
        state.SkipWithError("not offered, or not the same product");
        return;
      }
      for (auto _ : state) {
        chain();
        benchmark::ClobberMemory();
      }
      count_operations(state, what);
    });
    if (what.extent != 2) continue;
    // The same length with factors that are known: operations counted as if they were not.
    add("kronecker_hadamard", [=](benchmark::State& state) {
      Arrays arrays(what);
      const auto x = row_major(arrays.x.data(), {what.rows, what.length()});
      const auto y = row_major(arrays.y.data(), {what.rows, what.length()});
      for (auto _ : state) {
        hadamard(Kokkos::DefaultHostExecutionSpace(), x, y);
        benchmark::ClobberMemory();
      }
      count_operations(state, what);
    });
  }
}

}  // namespace papillon::perf
