// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gemm by fast bilinear algorithms: whole numbers whose sums are exact, compared with ==; normal ones within
// the bound of the plan.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <array>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "support/apply.hpp"
#include "support/gemm_case.hpp"
#include "support/gemm_tables.hpp"

namespace {

using namespace papillon_test;
using papillon::GemmAlgorithm;
using papillon::GemmOptions;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

/// Values are whole and at most 3, 67 terms at most: no sum of any algorithm above leaves 2^24.
template <class T, class O>
void check_integers(unsigned seed) {
  for_each_product_space<T>([&](const auto& space) {
    std::mt19937 random(seed);
    for_each_algorithm([&](const GemmOptions& options) {
      for (int i = 1; i <= 67; ++i) {
        auto problem = random_gemm<T, O>(random, 1);
        problem.shape.m = i;  // every extent from 1 to 67 occurs once as m, once as n, once as k
        problem.shape.n = 1 + (29 * i + static_cast<int>(seed)) % 67;
        problem.shape.k = 1 + (41 * i + 2 * static_cast<int>(seed)) % 67;
        if (problem.shape.batch > 1) problem.shape.batch = 2;
        problem.options = options;
        problem.draw(random(), Data::integers);
        problem.check_exact(problem.run(space));
      }
    });
  });
}

template <class T, class O = T>
void check_normal(std::int64_t m, std::int64_t n, std::int64_t k) {
  for_each_product_space<T>([&](const auto& space) {
    for_each_algorithm([&](const GemmOptions& options) {
      GemmCase<T, O> problem{{m, n, k}};
      problem.options = options;
      problem.draw(17);
      const auto c = problem.run(space);
      problem.check_normwise(c, planned_error_factor(problem));
      check_same(problem.run(space), c);
    });
  });
}

}  // namespace

TEST_CASE_TEMPLATE("gemm, levels: whole numbers, every table, extents from 1 to 67", T,
                   PAPILLON_PRODUCT_SCALARS) {
  check_integers<T, T>(1);
}

TEST_CASE_TEMPLATE("gemm, levels: whole numbers, float result", T, papillon::half, papillon::bfloat16) {
  check_integers<T, float>(2);
}

TEST_CASE_TEMPLATE("gemm, levels: normal numbers within the bound, the same bits in every run", T,
                   PAPILLON_PRODUCT_SCALARS) {
  check_normal<T>(64, 64, 64);
  check_normal<T>(67, 51, 93);
}

TEST_CASE_TEMPLATE("gemm, levels: normal numbers, float result", T, papillon::half, papillon::bfloat16) {
  check_normal<T, float>(67, 51, 93);
}

TEST_CASE_TEMPLATE("gemm, levels: large enough for several packed parts", T, float, double, papillon::half) {
  for_each_product_space<T>([](const auto& space) {
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{300, 211, 1301}, {4203, 5, 6}, {6, 4203, 5}, {517, 300, 90}}) {
      for (const GemmAlgorithm algorithm : {GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
        GemmCase<T> problem{{m, n, k}};
        problem.options.algorithm = algorithm;
        problem.options.max_levels = 2;
        problem.alpha = -1.0;
        problem.beta = 2.0;
        problem.draw(23, Data::integers);
        problem.check_exact(problem.run(space));
        problem.c_memory = Memory::column_major;
        problem.check_exact(problem.run(space));
      }
    }
  });
}

TEST_CASE("gemm, levels: results differ from the classical ones, so that levels are taken") {
  const Kokkos::DefaultHostExecutionSpace space;
  GemmCase<float> problem{{64, 64, 64}};
  problem.draw(3);
  problem.options.algorithm = GemmAlgorithm::classical;
  const auto classical = problem.run(space);
  std::vector<std::vector<float>> seen{classical};
  for (const GemmAlgorithm algorithm : {GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
    for (int levels = 1; levels <= 3; ++levels) {
      problem.options.algorithm = algorithm;
      problem.options.max_levels = levels;
      seen.push_back(problem.run(space));
      for (std::size_t i = 0; i + 1 < seen.size(); ++i) CHECK(first_difference(seen[i], seen.back()) >= 0);
    }
  }
  problem.options.max_levels = 0;
  check_same(problem.run(space), classical);
}

TEST_CASE_TEMPLATE("gemm, levels: fewer products at a time change no bit of whole numbers", T, float, double,
                   papillon::bfloat16) {
  for_each_product_space<T>([](const auto& space) {
    for_each_algorithm([&](const GemmOptions& options) {
      GemmCase<T> problem{{45, 38, 51, 2, true, false}};
      problem.options = options;
      problem.beta = -1.0;
      problem.draw(31, Data::integers);
      Guarded<T, std::decay_t<decltype(space)>> a(problem.a_shape()), b(problem.b_shape()),
          c(problem.c_shape());
      const std::size_t whole =
          papillon::gemm_workspace_bytes(space, problem.alpha, a.const_descriptor(), b.const_descriptor(),
                                         problem.beta, c.descriptor(), options);
      for (const std::size_t part : {1, 2, 3, 7}) {
        problem.options.max_workspace_bytes = whole / part + (part > 1 ? whole / 14 : 0);
        problem.check_exact(problem.run(space));
      }
    });
  });
}

TEST_CASE("gemm, levels: small numbers beside large ones lose their digits, classical ones keep them") {
  // What the docstring says of accuracy, seen: rows of very different size.
  const Kokkos::DefaultHostExecutionSpace space;
  GemmCase<float> problem{{64, 64, 64}};
  problem.draw(12);
  for (std::size_t i = 0; i < 32 * 64; ++i) problem.a[i] *= 0x1p40F;
  problem.options.algorithm = GemmAlgorithm::classical;
  problem.check_classical(problem.run(space));
  problem.options.algorithm = GemmAlgorithm::strassen;
  problem.options.max_levels = 1;
  problem.check_normwise(problem.run(space), planned_error_factor(problem));
}
