// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// butterfly against the dense product of its factors.
#include <numeric>
#include <random>

#include "papillon/kronecker.hpp"
#include "support/apply.hpp"
#include "support/butterfly_case.hpp"

namespace {

using namespace papillon_test;
using papillon::ButterflyFactor;
using papillon::ButterflyOptions;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

std::string refusal(const std::vector<ButterflyFactor>& factors, const papillon::ConstTensorDescriptor& x,
                    const papillon::TensorDescriptor& y, const ButterflyOptions& options = {}) {
  try {
    papillon::butterfly(Kokkos::DefaultHostExecutionSpace{}, factors, x, y, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE_TEMPLATE("butterfly: patterns, adjoints, permutations, layouts at random", T,
                   PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    std::mt19937 random(12);
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      const auto problem = random_butterfly<T>(random);
      const auto memory = [&] { return all_memories[random() % std::size(all_memories)]; };
      const Memory x_memory = memory(), y_memory = memory(), factor_memory = memory();
      const auto y = problem.run(space, x_memory, y_memory, factor_memory);
      problem.check(y);
      check_same(problem.run(space), y);  // layouts change no bit
      if (problem.source_length() == problem.target_length()) check_same(problem.run_in_place(space), y);
    }
  });
}

TEST_CASE_TEMPLATE("butterfly: products of several passes", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    auto rows = butterfly_stages<T>({3, 1 << 14}, -1, 14);
    rows.options.scale = 0.3;
    rows.draw(1);
    rows.check_long(rows.run(space));
    auto columns = butterfly_stages<T>({2, 1 << 14, 5}, 1, 14);
    columns.options.batch_axis = 2;
    columns.draw(2);
    columns.check_long(columns.run(space, Memory::column_major, Memory::padded));
    ButterflyCase<T> monarch{{2, 96 * 130}, -1, {{1, 90, 96, 100}, {96, 100, 130, 1}}};  // rectangular
    monarch.draw(3);
    monarch.check_long(monarch.run(space));
    ButterflyCase<T> dense{{2, 1500}, -1, {{1, 1200, 1500, 1}}};
    dense.draw(4);
    dense.check_long(dense.run(space));
    ButterflyCase<T> many{{3, 8}, -1, {}};  // more than one pass takes
    for (int f = 0; f < 64; ++f) many.factors.push_back({1 << (f % 3), 2, 2, 4 >> (f % 3)});
    many.draw(5);
    many.check_long(many.run(space));
  });
}

TEST_CASE_TEMPLATE("butterfly: in place, permutations and workspaces change no bit", T,
                   PAPILLON_PRODUCT_SCALARS) {
  std::mt19937 random(3);
  auto problem = butterfly_stages<T>({7, 1 << 14}, -1, 14);
  problem.draw(3);
  const auto plain = problem.run(Kokkos::DefaultHostExecutionSpace{});
  for_each_space([&](const auto& space) {
    using Space = std::decay_t<decltype(space)>;
    check_same(problem.run(space), plain);
    check_same(problem.run_in_place(space), plain);
    for (const bool adjoint : {false, true}) {
      auto permuted = problem;
      permuted.permutation = shuffled(1 << 14, random);
      permuted.options.adjoint = adjoint;
      check_same(permuted.run_in_place(space), permuted.run(space));
      // One pass, several lines: in place the permutation takes a pass of its own.
      ButterflyCase<T> lines{{5, 30}, -1, {{5, 3, 3, 2}}};
      lines.permutation = shuffled(30, random);
      lines.options.adjoint = adjoint;
      lines.draw(random());
      const auto y = lines.run(space);
      lines.check(y);
      check_same(lines.run_in_place(space), y);
    }
    Guarded<T, Space> x(problem.shape, Memory::row_major, problem.x);
    problem.template with_factors<Space>(Memory::row_major, [&](const std::vector<ButterflyFactor>& factors) {
      const std::size_t bytes =
          papillon::butterfly_workspace_bytes(space, factors, x.const_descriptor(), x.descriptor());
      CHECK(bytes > 0);
      const Kokkos::View<double*, typename Space::memory_space> workspace("workspace",
                                                                          bytes / sizeof(double) + 1);
      ButterflyOptions options;
      options.workspace = {workspace.data(), bytes - 1};
      CHECK_THROWS_WITH_AS(papillon::butterfly(space, factors, x.const_descriptor(), x.descriptor(), options),
                           doctest::Contains("workspace has"), std::invalid_argument);
      options.workspace.bytes = bytes;
      papillon::butterfly(space, factors, x.const_descriptor(), x.descriptor(), options);
      space.fence();
    });
    check_same(x.get(), plain);
  });
}

TEST_CASE_TEMPLATE("butterfly: which factors share a pass, and the columns at once, change no bit", T, float,
                   papillon::half, std::complex<double>) {
  auto problem = butterfly_stages<T>({37, 64}, -1, 6);
  problem.factors.push_back({4, 16, 12, 1});
  problem.shape[1] = 48;
  problem.options.scale = 0.7;
  problem.draw(8);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto expected = problem.run(space);
  problem.check(expected);
  problem.template with_factors<Kokkos::DefaultHostExecutionSpace>(
      Memory::row_major, [&](const std::vector<ButterflyFactor>& factors) {
        std::vector<T> y(expected.size());
        const auto call = papillon::detail::make_butterfly_problem(
            factors, papillon::row_major(problem.x.data(), {37, 48}), papillon::row_major(y.data(), {37, 64}),
            problem.options);
        for (const std::int64_t points : {1, 4, 16, 32, 1000}) {
          const auto plan = papillon::detail::plan_butterfly(call, points);
          auto buffers = papillon::detail::buffers_of(call, plan, papillon::Architecture::cpu);
          buffers.columns = std::min<std::int64_t>(buffers.columns, 10);
          std::vector<std::complex<double>> workspace(2 * 64 * 37);
          papillon::generic::visit_product_scalar(call.scalar, [&]<class S>(std::type_identity<S>) {
            papillon::generic::for_each_pass(call, plan.size(), buffers, [&](const auto& place) {
              papillon::generic::run_butterfly_pass<true, S>(space, call, plan, buffers, place,
                                                             workspace.data());
            });
          });
          space.fence();
          CAPTURE(points);
          check_same(y, expected);
        }
        // A column on its own: its bits do not depend on its neighbours.
        std::vector<T> one(64);
        papillon::butterfly(space, factors, papillon::row_major(problem.x.data() + 5 * 48, {48}),
                            papillon::row_major(one.data(), {64}), problem.options);
        check_same(one, std::vector<T>(expected.begin() + 5 * 64, expected.begin() + 6 * 64));
      });
}

TEST_CASE_TEMPLATE("butterfly: extents of 0 and 1", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    ButterflyCase<T> nothing{{3, 0, 2}, 1, {{2, 3, 4, 1}, {1, 2, 0, 4}}};  // a sum over nothing
    nothing.draw(1);
    const auto zeros = nothing.run(space);
    CHECK(zeros.size() == 36);
    for (const T& value : zeros) CHECK(std::abs(wide(value)) == 0);  // of either sign
    ButterflyCase<T> no_rows{{3, 6}, -1, {{1, 0, 2, 3}, {1, 2, 2, 3}}};
    no_rows.draw(2);
    CHECK(no_rows.run(space).empty());
    ButterflyCase<T> no_blocks{{3, 0}, -1, {{1, 5, 0, 1}, {0, 2, 2, 3}}};
    no_blocks.draw(2);
    check_same(no_blocks.run(space), std::vector<T>(15, T{}));
    ButterflyCase<T> no_batch{{0, 6, 4}, 1, {{3, 5, 2, 1}}};
    no_batch.draw(3);
    CHECK(no_batch.run(space).empty());
    ButterflyCase<T> one{{1}, 0, {{1, 1, 1, 1}}};
    one.draw(4);
    one.check(one.run(space));
  });
}

TEST_CASE("butterfly: NaN reaches what depends on it, and nothing else") {
  const double nan = std::nan("");
  ButterflyCase<double> problem{{3, 4 * 3 * 2}, -1, {{2, 5, 6, 2}, {4, 3, 3, 2}}};
  problem.draw(9);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto clean = problem.run(space);
  REQUIRE(clean.size() == 3 * 20);
  auto dirty = problem;
  dirty.x[24 + 5] = nan;  // of the second line, in block 0 of both factors, j = 1
  const auto line = dirty.run(space);
  for (std::size_t i = 0; i < clean.size(); ++i)
    CHECK(same_bits(line[i], i / 20 == 1 && i % 20 < 10 && i % 2 == 1 ? nan : clean[i]));
  dirty = problem;
  dirty.factors[0].values[((1 * 5 + 3) * 6 + 4) * 2 + 0] = nan;  // W[1, 3, 4, 0] of the first factor
  const auto entry = dirty.run(space);
  for (std::size_t i = 0; i < clean.size(); ++i)
    CHECK(same_bits(entry[i], i % 20 == 10 + 3 * 2 ? nan : clean[i]));
}

TEST_CASE("butterfly: factors do not commute, and the last is applied first") {
  const std::vector<double> f{1, 2, 3, 4}, g{5, 6, 7, 8}, x{1, 10};
  std::vector<double> y(2);
  const auto factor = [](const std::vector<double>& values) {
    return papillon::row_major_butterfly(values.data(), 1, 2, 2, 1);
  };
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::butterfly(space, std::vector{factor(f), factor(g)}, papillon::row_major(x.data(), {2}),
                      papillon::row_major(y.data(), {2}));
  check_same(y, std::vector<double>{65 + 2 * 87, 3 * 65 + 4 * 87});
  papillon::butterfly(space, std::vector{factor(g), factor(f)}, papillon::row_major(x.data(), {2}),
                      papillon::row_major(y.data(), {2}));
  check_same(y, std::vector<double>{5 * 21 + 6 * 43, 7 * 21 + 8 * 43});
}

TEST_CASE_TEMPLATE("butterfly: a Kronecker product is a special case", T, float, double,
                   std::complex<double>) {
  // A ⊗ B ⊗ C in whole numbers, which no order of sums changes.
  const auto a = random_values<T>(6, 1, Data::integers), b = random_values<T>(20, 2, Data::integers),
             c = random_values<T>(12, 3, Data::integers);
  const auto x = random_values<T>(2 * 36, 4, Data::integers);
  std::vector<T> y(2 * 40), expected(2 * 40);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto from = papillon::row_major(x.data(), {2, 36});
  papillon::kronecker(
      space,
      std::vector{papillon::row_major_factor(a.data(), 2, 3), papillon::row_major_factor(b.data(), 5, 4),
                  papillon::row_major_factor(c.data(), 4, 3)},
      from, papillon::row_major(expected.data(), {2, 40}));
  const auto type = papillon::scalar_type_of<T>;
  const std::vector<ButterflyFactor> factors{{a.data(), type, 1, 2, 3, 20, 0, 3, 1, 0},
                                             {b.data(), type, 3, 5, 4, 4, 0, 4, 1, 0},
                                             {c.data(), type, 12, 4, 3, 1, 0, 3, 1, 0}};
  papillon::butterfly(space, factors, from, papillon::row_major(y.data(), {2, 40}));
  check_same(y, expected);
}

TEST_CASE("butterfly: Views of any layout") {
  const Kokkos::View<float****, Kokkos::LayoutLeft, Kokkos::HostSpace> w("w", 2, 3, 2, 2);
  const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 8, 3);
  const Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> y("y", 12, 3);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t p = 0; p < 3; ++p)
      for (std::size_t q = 0; q < 2; ++q)
        for (std::size_t j = 0; j < 2; ++j)
          w(i, p, q, j) = static_cast<float>(1000 * i + 100 * p + 10 * q + j);
  for (std::size_t k = 0; k < 3; ++k) x(4 + 2 + 1, k) = static_cast<float>(k + 1);  // i = 1, q = 1, j = 1
  papillon::butterfly(Kokkos::DefaultHostExecutionSpace{}, std::vector{papillon::describe_butterfly(w)}, x, y,
                      {.axis = 0});
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t p = 0; p < 3; ++p)
      for (std::size_t j = 0; j < 2; ++j)
        for (std::size_t k = 0; k < 3; ++k)
          CHECK(y((i * 3 + p) * 2 + j, k) ==
                (i == 1 && j == 1 ? w(1, p, 1, 1) * static_cast<float>(k + 1) : 0));
}

TEST_CASE("butterfly: arguments that do not fit are refused by name") {
  std::vector<float> x(24), y(60), f(64);
  const auto from = papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {4, 6}));
  const auto to = papillon::row_major(y.data(), {4, 15});
  const ButterflyFactor a = papillon::row_major_butterfly(f.data(), 1, 5, 3, 3);       // 15 x 9
  const ButterflyFactor b = papillon::row_major_butterfly(f.data() + 10, 3, 3, 2, 1);  // 9 x 6
  const auto says = [&](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find("papillon::butterfly: ") == 0);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(refusal({a, b}, from, to) == "not refused");
  says(refusal({}, from, to), "factors has 0 entries; 1 to 64 are taken");
  says(refusal(std::vector<ButterflyFactor>(65, a), from, to), "factors has 65 entries");
  says(refusal({b, a}, from, to),
       "factors[0] of pattern (3, 3, 2, 1) has 6 columns but factors[1] of pattern (1, 5, 3, 3) has 15 rows");
  says(refusal({a, papillon::row_major_butterfly(f.data(), 1, 2, 2, 3)}, from, to),
       "factors[0] of pattern (1, 5, 3, 3) has 9 columns but factors[1] of pattern (1, 2, 2, 3) has 6 rows");
  says(refusal({a, b, b}, from, to), "factors[1] of pattern (3, 3, 2, 1) has 6 columns but factors[2]");
  says(refusal({a}, from, to), "has 9 columns but axis 1 of x of shape (4, 6) has length 6");
  says(refusal({b}, from, to), "has 9 rows but axis 1 of y of shape (4, 15) has length 15");
  says(refusal({a, b}, from, to, {.adjoint = true}), "has 15 rows but axis 1 of x of shape (4, 6)");
  says(refusal({a, b}, from, papillon::row_major(y.data(), {3, 15})), "axis 0 is not the transformed one");
  says(refusal({a, b}, from, papillon::row_major(y.data(), {15})), "x has shape (4, 6) but y has shape (15)");
  says(refusal({a, b}, from, to, {.axis = 2}), "axis = 2 is outside -2 … 1");
  says(refusal({a, b}, from, to, {.batch_axis = -3}), "batch_axis = -3 is outside");
  says(refusal({a, b}, from, to, {.batch_axis = 1}), "batch_axis = 1 and axis = -1 are one axis");
  says(refusal({a, b}, from, to, {.scale = std::nan("")}), "scale = nan");
  ButterflyFactor odd = a;
  odd.batch_stride = 45;
  says(refusal({odd, b}, from, to), "factors[0] has the batch stride 45 but no batch_axis");
  odd = a;
  odd.type = papillon::ScalarType::float64;
  says(refusal({odd, b}, from, to), "factors[0] holds float64 but x holds float32");
  odd = b;
  odd.data = nullptr;
  says(refusal({a, odd}, from, to), "factors[1] of shape (1, 3, 3, 2, 1) has a null pointer");
  odd = b;
  odd.a = -3;
  says(refusal({a, odd}, from, to), "factors[1] has a negative extent");
  odd = b;
  odd.b = (std::int64_t{1} << 21) + 1;
  says(refusal({a, odd}, from, to),
       "factors[1] has blocks of 2097153 x 2 elements of float32; at most 2097152");
  odd = b;
  odd.a = odd.d = std::int64_t{1} << 32;
  odd.b = 0;
  says(refusal({odd}, from, to), "factors[0] of pattern (4294967296, 0, 2, 4294967296) multiplies vectors");
  odd = papillon::row_major_butterfly(y.data() + 3, 3, 3, 2, 1);
  says(refusal({a, odd}, from, to), "factors[1] at");
  std::vector<float> shared(80);
  says(refusal({a, b}, papillon::row_major(shared.data(), {4, 6}),
               papillon::row_major(shared.data() + 20, {4, 15})),
       "overlap without being the same array");
  std::vector<std::int32_t> whole(60);
  says(refusal({a, b}, papillon::row_major(whole.data(), {4, 6}), papillon::row_major(whole.data(), {4, 15})),
       "x holds int32");
  std::vector<std::int64_t> order{0, 1, 2, 3, 4, 5};
  CHECK(refusal({a, b}, from, to, {.x_permutation = order}) == "not refused");
  says(refusal({a, b}, from, to, {.x_permutation = std::span(order).first(5)}),
       "x_permutation has 5 entries but the last factor has 6 columns");
  order[2] = 6;
  says(refusal({a, b}, from, to, {.x_permutation = order}), "x_permutation[2] = 6 is outside 0 … 5");
  order[2] = -1;
  says(refusal({a, b}, from, to, {.x_permutation = order}), "x_permutation[2] = -1 is outside 0 … 5");
  std::vector<std::int64_t> memory(30);
  says(refusal({a, b}, from, papillon::row_major(reinterpret_cast<float*>(memory.data()), {4, 15}),
               {.x_permutation = std::span<const std::int64_t>(memory).first(6)}),
       "x_permutation at");
  CHECK(std::all_of(shared.begin(), shared.end(), [](float value) { return value == 0; }));
}

TEST_CASE("butterfly: plans apply every factor once, in order, to tiles that fit") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto problem = random_butterfly<float>(random);
    std::vector<float> y(volume(problem.result_shape()));
    problem.with_factors<Kokkos::DefaultHostExecutionSpace>(Memory::row_major, [&](const auto& factors) {
      const auto call = papillon::detail::make_butterfly_problem(
          factors,
          papillon::detail::make_row_major<const void*>(problem.x.data(), papillon::ScalarType::float32,
                                                        problem.shape),
          papillon::detail::make_row_major<void*>(y.data(), papillon::ScalarType::float32,
                                                  problem.result_shape()),
          problem.options);
      std::size_t fewest = factors.size();
      for (const std::int64_t points : {1, 6, 20, 100000}) {
        const auto plan = papillon::detail::plan_butterfly(call, points);
        int next = 0;
        std::int64_t length = problem.source_length();
        for (const auto& pass : plan) {
          CHECK(pass.first == next);
          next += pass.count;
          CHECK(length == pass.outer * pass.source * pass.inner);
          length = pass.outer * pass.target * pass.inner;
          if (pass.count > 1) CHECK(pass.largest <= points);
          for (int i = 0; i < pass.count; ++i) {
            const auto& factor = call.factors[static_cast<std::size_t>(pass.first + i)];
            CHECK(factor.a % pass.outer == 0);
            CHECK(factor.d % pass.inner == 0);
          }
        }
        CHECK(next == static_cast<int>(factors.size()));
        CHECK(length == problem.target_length());
        CHECK(plan.size() <= fewest);
        fewest = plan.size();
      }
      CHECK(fewest == 1);
    });
  }
  // Ten stages in tiles of eight points: the independent products are the greatest common divisors.
  const auto problem = butterfly_stages<float>({1 << 10}, 0, 10);
  auto drawn = problem;
  drawn.draw(1);
  std::vector<float> y(1 << 10);
  drawn.with_factors<Kokkos::DefaultHostExecutionSpace>(Memory::row_major, [&](const auto& factors) {
    const auto call =
        papillon::detail::make_butterfly_problem(factors, papillon::row_major(drawn.x.data(), {1 << 10}),
                                                 papillon::row_major(y.data(), {1 << 10}), {});
    const auto plan = papillon::detail::plan_butterfly(call, 8);
    REQUIRE(plan.size() == 4);
    const std::int64_t outer[] = {128, 16, 2, 1}, inner[] = {1, 8, 64, 512};
    for (std::size_t p = 0; p < 4; ++p) {
      CHECK(plan[p].outer == outer[p]);
      CHECK(plan[p].inner == inner[p]);
    }
    CHECK(papillon::detail::cost_of(call, plan).multiply_adds == 10 * 2 * 1024);
    CHECK(papillon::detail::cost_of(call, plan).points == 4 * 2 * 1024);
  });
  // Columns enough to fill a tile: small blocks are taken together, up to an eighth of it.
  ButterflyCase<float> blocks{{20, 960}, -1, {{96, 5, 5, 2}}};
  blocks.draw(1);
  std::vector<float> many(20 * 960);
  blocks.with_factors<Kokkos::DefaultHostExecutionSpace>(Memory::row_major, [&](const auto& factors) {
    const auto call =
        papillon::detail::make_butterfly_problem(factors, papillon::row_major(blocks.x.data(), {20, 960}),
                                                 papillon::row_major(many.data(), {20, 960}), {});
    const std::int64_t outer[] = {96, 96, 48, 2}, lines[] = {2, 1, 1, 1};
    const std::int64_t points[] = {1, 8 * 10, 8 * 20, 8 * 500};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto plan = papillon::detail::plan_butterfly(call, points[i]);
      REQUIRE(plan.size() == 1);
      CHECK(plan[0].outer == outer[i]);
      CHECK(plan[0].inner == lines[i]);
      CHECK(plan[0].source * plan[0].outer * plan[0].inner == 960);
    }
  });
}

TEST_CASE("butterfly: explained in words") {
  auto problem = butterfly_stages<float>({3, 1 << 14}, -1, 14);
  problem.draw(1);
  std::vector<float> y(3 << 14);
  problem.with_factors<Kokkos::DefaultHostExecutionSpace>(Memory::row_major, [&](const auto& factors) {
    const std::string text = papillon::explain_butterfly(
        factors, papillon::row_major(problem.x.data(), {3, 1 << 14}),
        papillon::row_major(y.data(), {3, 1 << 14}), {}, papillon::Architecture::cpu);
    INFO(text);
    for (const char* part :
         {"16384 x 16384 matrix as 14 factors, float32, 3 columns, on cpu\n",
          "pass 1 of 2: 2 x 1 lines of 8192 -> 8192 points a column\n  factors[13] of pattern (8192, 2, 2, "
          "1)\n",
          "pass 2 of 2: 1 x 8192 lines of 2 -> 2 points a column\n  factors[0] of pattern (1, 2, 2, 8192)\n",
          "multiply-adds: 1376256 (458752 a column; the dense matrix 268435456)\n",
          "bytes moved: 786432, of which 393216 between passes; values of factors: 1835008\n",
          "workspace: 196608 bytes\n"}) {
      CHECK_MESSAGE(text.find(part) != std::string::npos, part);
    }
  });
}
