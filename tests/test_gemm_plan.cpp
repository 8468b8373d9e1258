// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of gemm: levels, blocks, rounds, workspace, error bounds, what `explain` prints.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "papillon/core/gemm_plan.hpp"
#include "papillon/gemm.hpp"

namespace {

using papillon::BilinearAlgorithm;
using papillon::GemmAlgorithm;
using papillon::ScalarType;
using papillon::detail::GemmPlan;
using papillon::detail::GemmProblem;
using papillon::detail::GemmTuning;
using papillon::detail::plan_gemm;

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k,
                       GemmAlgorithm algorithm = GemmAlgorithm::automatic, int max_levels = -1) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.algorithm = algorithm;
  problem.max_levels = max_levels;
  problem.max_workspace_bytes = std::numeric_limits<std::size_t>::max();
  return problem;
}

GemmTuning some_tuning() {
  GemmTuning tuning;
  tuning.hardware = "a machine";
  tuning.least_block = 100;
  tuning.most_levels = 3;
  tuning.operations_per_second = 1e12;
  tuning.bytes_per_second = 1e11;
  tuning.alignment = 8;
  tuning.sum_bytes = 4;
  tuning.product_bytes = 4;
  return tuning;
}

std::size_t levels_of(const GemmProblem& problem, const GemmTuning& tuning = some_tuning()) {
  return plan_gemm(problem, tuning).levels.size();
}

double error_of(const GemmProblem& problem) {
  return papillon::detail::error_factor(problem, plan_gemm(problem, some_tuning()));
}

}  // namespace

TEST_CASE("gemm plan: automatic takes levels while blocks are large enough, of float and double alone") {
  for (const ScalarType type : {ScalarType::float32, ScalarType::float64}) {
    const auto levels = [&](std::int64_t m, std::int64_t n, std::int64_t k, int most = -1) {
      GemmProblem problem = problem_of(m, n, k, GemmAlgorithm::automatic, most);
      problem.in = problem.out = type;
      return levels_of(problem);
    };
    CHECK(levels(198, 1000, 1000) == 0);
    CHECK(levels(1000, 198, 1000) == 0);
    CHECK(levels(1000, 1000, 198) == 0);
    CHECK(levels(199, 199, 199) == 1);  // blocks of 100, the last one short
    CHECK(levels(200, 200, 200) == 1);
    CHECK(levels(400, 400, 400) == 2);
    CHECK(levels(800, 800, 800) == 3);
    CHECK(levels(100000, 100000, 100000) == 3);
    CHECK(levels(800, 800, 400) == 2);
    CHECK(levels(800, 800, 800, 0) == 0);
    CHECK(levels(800, 800, 800, 1) == 1);
    CHECK(levels(800, 800, 800, 9) == 3);
  }
  for (const ScalarType type :
       {ScalarType::float16, ScalarType::bfloat16, ScalarType::complex64, ScalarType::complex128}) {
    GemmProblem problem = problem_of(5000, 5000, 5000);
    problem.in = problem.out = type;
    CHECK(levels_of(problem) == 0);
    problem.algorithm = GemmAlgorithm::strassen;
    CHECK(levels_of(problem) == 3);
  }
  GemmTuning never = some_tuning();
  never.least_block = 0;
  CHECK(levels_of(problem_of(5000, 5000, 5000), never) == 0);
  CHECK(levels_of(problem_of(5000, 5000, 5000, GemmAlgorithm::classical)) == 0);
  CHECK(levels_of(problem_of(5000, 5000, 5000, GemmAlgorithm::classical, 2)) == 0);
}

TEST_CASE("gemm plan: levels that are asked for are taken while blocks can be cut") {
  for (const GemmAlgorithm algorithm : {GemmAlgorithm::strassen, GemmAlgorithm::winograd}) {
    const auto levels = [&](std::int64_t m, std::int64_t n, std::int64_t k, int most) {
      const GemmPlan plan = plan_gemm(problem_of(m, n, k, algorithm, most), some_tuning());
      for (const BilinearAlgorithm* level : plan.levels)
        CHECK(level->name == (algorithm == GemmAlgorithm::strassen ? "strassen" : "winograd"));
      return plan.levels.size();
    };
    CHECK(levels(8, 8, 8, 0) == 0);
    CHECK(levels(8, 8, 8, 1) == 1);
    CHECK(levels(8, 8, 8, 3) == 3);
    CHECK(levels(8, 8, 8, 4) == 3);
    CHECK(levels(5, 100, 100, 5) == 3);  // 5, 3, 2, 1
    CHECK(levels(100, 5, 100, 5) == 3);
    CHECK(levels(100, 100, 5, 5) == 3);
    CHECK(levels(1, 8, 8, 2) == 0);
    CHECK(levels(2, 2, 2, -1) == 1);  // one at least
    CHECK(levels(300, 300, 300, -1) == 1);
    CHECK(levels(400, 400, 400, -1) == 2);
    CHECK(levels(0, 8, 8, 2) == 0);
    CHECK(levels(8, 8, 0, 2) == 0);
    CHECK(levels(4096, 4096, 4096, 5) == 5);
    CHECK_THROWS_WITH_AS(levels(4096, 4096, 4096, 6), doctest::Contains("max_levels = 6"),
                         std::invalid_argument);
  }
  GemmProblem nothing = problem_of(64, 64, 64, GemmAlgorithm::strassen, 2);
  nothing.alpha = 0.0;
  CHECK(levels_of(nothing) == 0);
}

TEST_CASE("gemm plan: tables are levels in their order; grids and blocks follow from them") {
  const std::vector<BilinearAlgorithm> tables{papillon::hopcroft_kerr_algorithm(),
                                              papillon::winograd_algorithm()};
  GemmProblem problem = problem_of(100, 70, 50, GemmAlgorithm::table);
  problem.tables = tables;
  const GemmPlan plan = plan_gemm(problem, some_tuning());
  REQUIRE(plan.levels.size() == 2);
  CHECK(plan.levels[0]->name == "hopcroft-kerr");
  CHECK(plan.levels[1]->name == "winograd");
  CHECK(plan.grid_m == 6);
  CHECK(plan.grid_k == 4);
  CHECK(plan.grid_n == 6);
  CHECK(plan.products == 105);
  CHECK(plan.block_m == 17);
  CHECK(plan.block_k == 13);
  CHECK(plan.block_n == 12);
  CHECK(plan.packed_m == 24);
  CHECK(plan.packed_k == 16);
  CHECK(plan.packed_n == 16);
  // 24·16·4 = 1536, 16·16·4 = 1024, 24·16·4 = 1536 bytes: multiples of 256 already.
  CHECK(plan.round == 105);
  CHECK(plan.workspace_bytes == 105 * (1536 + 1024 + 1536));
  const BilinearAlgorithm all = papillon::detail::composed(plan);
  CHECK(all.m == 6);
  CHECK(all.k == 4);
  CHECK(all.n == 6);
  CHECK(all.rank == 105);
  CHECK(papillon::is_matrix_product(all));
  CHECK(papillon::detail::operations(problem, plan) == 2.0 * 17 * 13 * 12 * 105);
  problem.max_levels = 1;
  CHECK(plan_gemm(problem, some_tuning()).levels.size() == 1);
  problem.max_levels = 0;
  CHECK(plan_gemm(problem, some_tuning()).classical());
}

TEST_CASE("gemm plan: workspaces that hold fewer products give rounds") {
  GemmProblem problem = problem_of(100, 100, 100, GemmAlgorithm::strassen, 2);
  const GemmTuning tuning = some_tuning();
  const GemmPlan whole = plan_gemm(problem, tuning);
  // Blocks of 25, packed 32: 4096 bytes a matrix.
  constexpr std::size_t each = 3 * 4096;
  CHECK(whole.round == 49);
  CHECK(whole.workspace_bytes == 49 * each);
  for (const std::size_t products : {1, 2, 7, 48, 49, 50}) {
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, each - 1}) {
      problem.max_workspace_bytes = products * each + more;
      const GemmPlan plan = plan_gemm(problem, tuning);
      CHECK(plan.levels.size() == 2);
      CHECK(plan.round == static_cast<std::int64_t>(std::min<std::size_t>(products, 49)));
      CHECK(plan.workspace_bytes == static_cast<std::size_t>(plan.round) * each);
    }
  }
  problem.max_workspace_bytes = each - 1;
  CHECK_THROWS_WITH_AS(plan_gemm(problem, tuning), doctest::Contains("max_workspace_bytes = 12287"),
                       std::invalid_argument);
  problem.algorithm = GemmAlgorithm::classical;
  problem.max_workspace_bytes = 0;
  CHECK(plan_gemm(problem, tuning).workspace_bytes == 0);
  GemmTuning fused = tuning;
  fused.fused = true;
  problem.algorithm = GemmAlgorithm::strassen;
  CHECK(plan_gemm(problem, fused).levels.size() == 2);
  CHECK(plan_gemm(problem, fused).workspace_bytes == 0);
}

TEST_CASE("gemm plan: extents beyond 32 bits") {
  GemmTuning tuning = some_tuning();
  tuning.most_levels = 2;
  const std::int64_t far = (std::int64_t{1} << 33) + 3;
  const GemmPlan plan = plan_gemm(problem_of(far, 801, 802), tuning);
  CHECK(plan.block_m == (far + 3) / 4);
  CHECK(plan.block_n == 201);
  CHECK(plan.block_k == 201);
  CHECK(plan.a_bytes(tuning) == static_cast<std::size_t>((far + 3) / 4 / 8 + 1) * 8 * 208 * 4);
}

TEST_CASE("gemm plan: error bounds are no smaller than Higham's closed forms, and not far above") {
  // Accuracy and Stability of Numerical Algorithms, (23.14) for Strassen and (23.18) for Winograd, n = 2^L
  // n0: (n/n0)^log2(12) (n0² + 5 n0) - 5 n and (n/n0)^log2(18) (n0² + 6 n0) - 6 n. The plan's general
  // recursion counts every addition of a sum apart: it has 5.6 and 6.875 in place of 5 and 6, from 12 E + 56
  // k and 18 E + 110 k (C12 of Winograd: M1, M2, M5, M6 with a b = 9, 1, 4, 4 and 4, 0, 2, 3 additions).
  for (const auto& [algorithm, factor, higham, ours] :
       {std::tuple{GemmAlgorithm::strassen, 12.0, 5.0, 5.6}, {GemmAlgorithm::winograd, 18.0, 6.0, 6.875}}) {
    for (const std::int64_t n0 : {1, 2, 7, 64, 1000}) {
      for (int levels = 1; levels <= 4; ++levels) {
        const std::int64_t n = n0 << levels;
        const double error = error_of(problem_of(n, n, n, algorithm, levels));
        const auto closed = [&, factor = factor](double a) {
          const auto base = static_cast<double>(n0);
          return std::pow(factor, levels) * (base * base + a * base) - a * static_cast<double>(n);
        };
        CHECK(error >= closed(higham));
        CHECK(error == doctest::Approx(closed(ours)).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("gemm plan: error bounds of classical products, and of levels beside each other") {
  for (const std::int64_t k : {1, 3, 100, 40000})
    CHECK(error_of(problem_of(10, 20, k, GemmAlgorithm::classical)) ==
          static_cast<double>(k) * static_cast<double>(k));
  // A product by alpha is one more rounding of each term, unless it is exact.
  for (const double alpha : {1.0, -2.0, 0.125, 0.75, -3.0}) {
    GemmProblem scaled = problem_of(10, 20, 7, GemmAlgorithm::classical);
    scaled.alpha = alpha;
    CHECK(error_of(scaled) == (alpha == 0.75 || alpha == -3.0 ? 56 : 49));
  }
  double last = error_of(problem_of(512, 512, 512, GemmAlgorithm::classical));
  double last_winograd = last;
  for (int levels = 1; levels <= 5; ++levels) {
    const double strassen = error_of(problem_of(512, 512, 512, GemmAlgorithm::strassen, levels));
    const double winograd = error_of(problem_of(512, 512, 512, GemmAlgorithm::winograd, levels));
    CHECK(strassen > last);
    CHECK(winograd > last_winograd);
    CHECK(winograd > strassen);
    CHECK(strassen < 4 * last);  // 12 / 4, and additions
    last = strassen;
    last_winograd = winograd;
  }
  double shorter = 0;
  for (std::int64_t k = 2; k < 200; k += 2) {
    const double error = error_of(problem_of(64, 64, k, GemmAlgorithm::winograd, 1));
    CHECK(error > shorter);
    shorter = error;
  }
  // One table for two levels of Strassen counts the same growth: 144 of its base product.
  GemmProblem squared = problem_of(4 * 1000000, 4 * 1000000, 4 * 1000000, GemmAlgorithm::table);
  const std::vector<BilinearAlgorithm> tables{papillon::strassen_squared_algorithm()};
  squared.tables = tables;
  CHECK(error_of(squared) / 1e12 == doctest::Approx(144).epsilon(1e-3));
}

TEST_CASE("gemm plan: predictions grow with the work") {
  const GemmTuning tuning = some_tuning();
  double last = 0;
  for (std::int64_t n = 64; n <= 2048; n *= 2) {
    const GemmProblem problem = problem_of(n, n, n, GemmAlgorithm::classical);
    const GemmPlan plan = plan_gemm(problem, tuning);
    const double seconds = papillon::detail::predicted_seconds(problem, plan, tuning);
    CHECK(seconds > last);
    CHECK(papillon::detail::operations(problem, plan) == 2.0 * std::pow(static_cast<double>(n), 3));
    last = seconds;
  }
  GemmProblem problem = problem_of(1024, 1024, 1024, GemmAlgorithm::strassen, 1);
  const GemmPlan plan = plan_gemm(problem, tuning);
  CHECK(papillon::detail::operations(problem, plan) == 7.0 / 8 * 2.0 * std::pow(1024.0, 3));
  const double one = papillon::detail::predicted_seconds(problem, plan, tuning);
  problem.batch = 3;
  CHECK(papillon::detail::predicted_seconds(problem, plan_gemm(problem, tuning), tuning) ==
        doctest::Approx(3 * one));
}

TEST_CASE("gemm plan: a description names what is done") {
  const GemmTuning tuning = some_tuning();
  const auto text = [&](const GemmProblem& problem) {
    return papillon::detail::describe(problem, plan_gemm(problem, tuning), tuning);
  };
  const auto says = [](const std::string& whole, const std::string& part) {
    INFO(whole);
    CHECK(whole.find(part) != std::string::npos);
  };
  GemmProblem problem = problem_of(100, 101, 102, GemmAlgorithm::strassen, 2);
  problem.batch = 7;
  const std::string levels = text(problem);
  says(levels, "100 x 102 times 102 x 101, float32, batch of 7\n");
  says(levels, "2 levels, strassen <2,2,2; 7> strassen <2,2,2; 7>\n");
  says(levels, "blocks: 25 x 26 times 26 x 26, 49 products, 49 at a time\n");
  says(levels, "workspace: " + std::to_string(plan_gemm(problem, tuning).workspace_bytes) + " bytes\n");
  says(levels, "on a machine\n");
  says(levels, "error bound: ");
  CHECK(levels.back() == '\n');
  problem.in = ScalarType::bfloat16;
  problem.algorithm = GemmAlgorithm::classical;
  const std::string classical = text(problem);
  says(classical, "bfloat16 to float32");
  says(classical, "algorithm: classical\n");
  says(classical, "workspace: 0 bytes\n");
  problem.k = 0;
  says(text(problem), "nothing to multiply\n");
  // The public call prints the host's plan.
  std::vector<double> a(6), b(6), c(4);
  says(papillon::explain_gemm(Kokkos::DefaultHostExecutionSpace{}, 1.0,
                              papillon::ConstTensorDescriptor(papillon::row_major(a.data(), {2, 3})),
                              papillon::ConstTensorDescriptor(papillon::row_major(b.data(), {3, 2})), 0.0,
                              papillon::row_major(c.data(), {2, 2})),
       "2 x 3 times 3 x 2, float64\nalgorithm: classical\n");
}
