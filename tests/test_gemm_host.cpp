// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gemm on host spaces, inside: packed panels and products of panels with every instruction set against plain
// loops, on integers, which are exact; and the same bits whoever runs the tasks, in whatever order.
#include <doctest/doctest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "papillon/generic/gemm_blocks.hpp"
#include "papillon/generic/host_gemm.hpp"
#include "papillon/generic/simd/gemm.hpp"
#include "support/targets.hpp"

namespace {

using namespace papillon;
using papillon_test::on_every_target;

template <class S>
S element(int real, [[maybe_unused]] int imaginary) {
  using R = typename simd::RealSum<S>::type;
  if constexpr (simd::RealSum<S>::complex) {
    return S(static_cast<R>(real), static_cast<R>(imaginary));
  } else {
    return S(static_cast<R>(real));
  }
}

class Integers {
 public:
  explicit Integers(unsigned seed) : random_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  template <class S>
  S element() {
    const int real = between(-4, 4);
    return ::element<S>(real, between(-4, 4));
  }

 private:
  std::mt19937 random_;
};

template <class S>
S nan_of() {
  using R = typename simd::RealSum<S>::type;
  return S(std::numeric_limits<R>::quiet_NaN());
}

/// How the lines and points of a panel's blocks lie.
enum class Layout { lines, points, neither };

/// Blocks with NaN wherever they lack an element, packed and compared with sums by definition.
template <class S>
void check_panels(int width, Layout layout, int count, std::int64_t lines, std::int64_t points, bool ragged,
                  bool conjugate, Integers& random) {
  using R = typename simd::RealSum<S>::type;
  constexpr int parts = simd::packed_parts<S>;
  simd::PanelShape shape;
  shape.line_stride = layout == Layout::lines ? 1 : layout == Layout::points ? points + 3 : 2;
  shape.point_stride = layout == Layout::points ? 1 : layout == Layout::lines ? lines + 5 : 2 * lines + 1;
  shape.conjugate = conjugate;
  shape.lines = lines;
  shape.points = points;
  shape.width = width;
  const auto size =
      static_cast<std::size_t>((lines - 1) * shape.line_stride + (points - 1) * shape.point_stride + 1);
  std::vector<std::vector<S>> blocks(static_cast<std::size_t>(count));
  std::vector<simd::PanelTerm<S>> terms;
  for (std::vector<S>& block : blocks) {
    const std::int64_t block_lines = ragged ? random.between(1, static_cast<int>(lines)) : lines;
    const std::int64_t block_points = ragged ? random.between(1, static_cast<int>(points)) : points;
    block.assign(size, nan_of<S>());
    for (std::int64_t l = 0; l < block_lines; ++l)
      for (std::int64_t p = 0; p < block_points; ++p)
        block[static_cast<std::size_t>(l * shape.line_stride + p * shape.point_stride)] = random.element<S>();
    const int coefficient = random.between(1, 2) * (random.between(0, 1) == 0 ? 1 : -1);
    terms.push_back({block.data(), static_cast<R>(coefficient), block_lines, block_points});
  }
  const std::int64_t panels = (lines + width - 1) / width;
  const R guard{77};
  std::vector<R> packed(static_cast<std::size_t>(panels * width * points * parts + 1), guard);
  simd::PanelKernels<S>::pack(terms.data(), count, shape, packed.data());
  CHECK(packed.back() == guard);
  bool same = true;
  for (std::int64_t l = 0; l < panels * width; ++l) {
    for (std::int64_t p = 0; p < points; ++p) {
      R expected[2] = {0, 0};
      for (const simd::PanelTerm<S>& term : terms) {
        if (l >= term.lines || p >= term.points) continue;
        const S value = term.data[l * shape.line_stride + p * shape.point_stride];
        if constexpr (parts == 2) {
          expected[0] += term.coefficient * value.real();
          expected[1] += term.coefficient * (conjugate ? -value.imag() : value.imag());
        } else {
          expected[0] += term.coefficient * static_cast<R>(value);
        }
      }
      for (int part = 0; part < parts; ++part) {
        const std::int64_t index = ((l / width * points + p) * parts + part) * width + l % width;
        same = same && packed[static_cast<std::size_t>(index)] == expected[part];
      }
    }
  }
  CHECK_MESSAGE(same, "width ", width, ", layout ", static_cast<int>(layout), ", ", count, " blocks of ",
                lines, " lines of ", points, ", ragged ", ragged);
}

TEST_CASE_TEMPLATE("gemm, host: packed panels are sums of blocks, zeros where there is nothing", S, float,
                   double, half, bfloat16, std::complex<float>, std::complex<double>) {
  on_every_target([] {
    using T = std::conditional_t<simd::RealSum<S>::complex, S, typename simd::RealSum<S>::type>;
    const simd::GemmTile tile = simd::GemmKernels<T>::tile();
    Integers random(7);
    for (const int width : {tile.rows, tile.columns}) {
      for (const Layout layout : {Layout::lines, Layout::points, Layout::neither}) {
        for (int count = 1; count <= 6; ++count) {
          for (const bool ragged : {false, true}) {
            check_panels<S>(width, layout, count, 2 * width, 70, ragged, count % 2 == 0, random);
            check_panels<S>(width, layout, count, random.between(1, 3 * width), random.between(1, 80), ragged,
                            count % 2 == 1, random);
          }
        }
      }
    }
  });
}

/// Runs its tasks from the last to the first and says that it has so many threads.
class BackwardLoop final : public generic::HostLoop {
 public:
  explicit BackwardLoop(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  void run(std::int64_t count, const Task& task) const override {
    for (std::int64_t i = count; i-- > 0;) task(i);
  }

 private:
  int threads_;
};

template <class S, class O>
void check_same_bits(std::int64_t m, std::int64_t n, std::int64_t k, const GemmOptions& options) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  const auto filled = [&](std::int64_t count) {
    std::vector<S> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(S(normal(generator)));
    return values;
  };
  const std::vector<S> a = filled(m * k), b = filled(k * n);
  const auto product = [&](const generic::HostLoop& loop) {
    std::vector<O> c(static_cast<std::size_t>(m * n), O(1.0F));
    const detail::GemmProblem problem =
        detail::make_gemm_problem(0.5, row_major(a.data(), {m, k}), row_major(b.data(), {k, n}), 2.0,
                                  row_major(c.data(), {m, n}), options);
    generic::run_host_gemm(loop, problem, detail::plan_gemm(problem, generic::host_gemm_tuning(problem.in)));
    return c;
  };
  const std::vector<O> expected = product(generic::SerialLoop());
  for (const int threads : {2, 3, 16}) {
    const std::vector<O> c = product(BackwardLoop(threads));
    CHECK(std::memcmp(c.data(), expected.data(), c.size() * sizeof(O)) == 0);
  }
}

TEST_CASE("gemm, host: the same bits whoever runs the tasks, in whatever order") {
  GemmOptions options;
  for (const auto algorithm : {GemmAlgorithm::classical, GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
    options.algorithm = algorithm;
    options.max_levels = algorithm == GemmAlgorithm::strassen ? 2 : 1;
    // More points than are packed at a time, and more columns than a task takes.
    check_same_bits<float, float>(131, 517, 1203, options);
    check_same_bits<double, double>(131, 517, 603, options);
    check_same_bits<half, half>(67, 131, 1203, options);
    check_same_bits<bfloat16, float>(67, 131, 1203, options);
    check_same_bits<std::complex<float>, std::complex<float>>(67, 131, 603, options);
  }
}

/// C, every second column of which is left alone, against a sum over the definition.
template <class S>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t column_stride, S alpha,
                   S beta, Integers& random) {
  std::vector<S> a, b, c;
  for (std::int64_t i = 0; i < m * k; ++i) a.push_back(random.element<S>());
  for (std::int64_t i = 0; i < k * n; ++i) b.push_back(random.element<S>());
  const std::int64_t row_stride = n * column_stride + 1;
  for (std::int64_t i = 0; i < m * row_stride; ++i) c.push_back(random.element<S>());
  std::vector<S> expected = c;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      S sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
      const auto at = static_cast<std::size_t>(i * row_stride + j * column_stride);
      expected[at] = alpha * sum + beta * expected[at];
      if (beta == S(0)) c[at] = nan_of<S>();
    }
  }
  TensorDescriptor target = row_major(c.data(), {m, n});
  target.strides = {row_stride, column_stride};
  for (const auto algorithm : {GemmAlgorithm::classical, GemmAlgorithm::strassen}) {
    GemmOptions options;
    options.algorithm = algorithm;
    std::vector<S> result = c;
    target.data = result.data();
    const detail::GemmProblem problem = detail::make_gemm_problem(
        alpha, row_major(a.data(), {m, k}), row_major(b.data(), {k, n}), beta, target, options);
    generic::run_host_gemm(generic::SerialLoop(), problem,
                           detail::plan_gemm(problem, generic::host_gemm_tuning(problem.in)));
    CHECK_MESSAGE(result == expected, m, " x ", k, " times ", k, " x ", n, ", column stride ", column_stride,
                  ", alpha ", alpha, ", beta ", beta);
  }
}

TEST_CASE_TEMPLATE("gemm, host: products of integers with every instruction set", S, float, double,
                   std::complex<float>, std::complex<double>) {
  on_every_target([] {
    Integers random(11);
    for (int trial = 0; trial < 60; ++trial) {
      const S alpha = random.element<S>(), beta = trial % 3 == 0 ? S(0) : random.element<S>();
      check_product<S>(random.between(1, 70), random.between(1, 70), random.between(1, 40),
                       random.between(1, 2), alpha, beta, random);
    }
  });
}

TEST_CASE("gemm, host: every block of C has one first product; no product is larger than its blocks") {
  const std::vector<BilinearAlgorithm> tables = {hopcroft_kerr_algorithm(), strassen_algorithm()};
  std::vector<float> memory(64 * 64);
  GemmOptions options;
  options.algorithm = GemmAlgorithm::table;
  options.tables = tables;
  for (std::int64_t m = 2; m < 24; ++m) {
    const std::int64_t k = 2 + m * 5 % 17, n = 2 + m * 7 % 23;
    std::vector<float> c(static_cast<std::size_t>(m * n));
    const detail::GemmProblem problem =
        detail::make_gemm_problem(1.0, row_major(memory.data(), {m, k}), row_major(memory.data(), {k, n}),
                                  0.0, row_major(c.data(), {m, n}), options);
    const detail::GemmPlan plan = detail::plan_gemm(problem, generic::host_gemm_tuning(problem.in));
    std::int64_t covered = 0;
    for (const generic::BlockProduct& product : generic::block_products(problem, plan)) {
      for (const generic::GemmBlock& block : product.c)
        if (block.first) covered += block.rows * block.columns;
      CHECK(product.m > 0);
      CHECK(product.n > 0);
      CHECK(product.k > 0);
      CHECK(product.m <= plan.block_m);
      CHECK(product.n <= plan.block_n);
      CHECK(product.k <= plan.block_k);
    }
    CHECK(covered == m * n);
  }
}

}  // namespace
