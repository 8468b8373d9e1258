// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kronecker against the dense product, entry by entry.
#include <random>

#include "support/apply.hpp"
#include "support/kronecker_case.hpp"

namespace {

using namespace papillon_test;
using papillon::Factor;
using papillon::KroneckerOptions;
using papillon::VectorSide;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

template <class T>
KroneckerCase<T> random_case(std::mt19937& random) {
  auto problem = random_product<T>(random, {20, 9, 5, 5});
  problem.draw(random());
  return problem;
}

template <class T>
std::string refusal(const std::vector<Factor>& factors, const papillon::ConstTensorDescriptor& x,
                    const papillon::TensorDescriptor& y, const KroneckerOptions& options = {}) {
  try {
    papillon::kronecker(Kokkos::DefaultHostExecutionSpace{}, factors, x, y, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE_TEMPLATE("kronecker: rectangular factors, sides, adjoints, layouts at random", T,
                   PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    std::mt19937 random(11);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      const auto problem = random_case<T>(random);
      const auto memory = [&] { return all_memories[random() % std::size(all_memories)]; };
      const Memory x_memory = memory(), y_memory = memory(), factor_memory = memory();
      const auto y = problem.run(space, x_memory, y_memory, factor_memory);
      problem.check(y);
      check_same(problem.run(space), y);  // layouts change no bit
    }
  });
}

TEST_CASE_TEMPLATE("kronecker: products of several passes", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    for (const bool grows : {false, true}) {
      KroneckerCase<T> problem{{3, 96 * 33 * 24, 2}, 1, {{61, 96}, {2, 33}, {30, 24}}};
      if (grows) problem = {{5, 60, 2}, 1, {{40, 3}, {50, 20}, {33, 1}}};
      problem.options.scale = 0.5;
      problem.draw(5);
      problem.check(problem.run(space), 7);
    }
    KroneckerCase<T> one{{2, 1024}, -1, {{1000, 1024}}};
    one.draw(6);
    one.check(one.run(space), 11);
    KroneckerCase<T> longest{{1, 1 << 18}, -1, {{1, 1 << 18}}};
    longest.matrices[0].columns =
        (8 << 20) / static_cast<std::int64_t>(sizeof(papillon::generic::sum_type<T>));
    longest.shape[1] = longest.matrices[0].columns;
    longest.draw(4);
    longest.check(longest.run(space));
    KroneckerCase<T> many{{1, 1 << 17}, -1, {}};
    for (int i = 0; i < 17; ++i) many.matrices.push_back({2, 2});
    many.draw(7);
    many.check(many.run(space), 9);
    KroneckerCase<T> units{{3, 5}, -1, std::vector<typename KroneckerCase<T>::Matrix>(31, {1, 1})};
    units.matrices.push_back({4, 5});
    units.draw(8);
    units.check(units.run(space));
  });
}

TEST_CASE_TEMPLATE("kronecker: in place, threads and workspaces change no bit", T, PAPILLON_PRODUCT_SCALARS) {
  KroneckerCase<T> problem{{3, 40 * 41 * 42}, -1, {{40, 40}, {41, 41}, {42, 42}}};
  problem.draw(3);
  const auto expected = problem.run(Kokkos::DefaultHostExecutionSpace{});
  problem.check(expected, 5);
  for_each_space([&](const auto& space) {
    using Space = std::decay_t<decltype(space)>;
    check_same(problem.run(space), expected);
    Guarded<T, Space> x(problem.shape, Memory::row_major, problem.x);
    std::vector<Guarded<T, Space>> stored;
    std::vector<Factor> factors;
    for (const auto& matrix : problem.matrices) {
      stored.emplace_back(Shape{matrix.rows, matrix.columns}, Memory::row_major, matrix.values);
      const auto tensor = stored.back().descriptor();
      factors.push_back({tensor.data, tensor.type, matrix.rows, matrix.columns, tensor.strides[0], 1});
    }
    const std::size_t bytes =
        papillon::kronecker_workspace_bytes(space, factors, x.const_descriptor(), x.descriptor());
    CHECK(bytes > 0);
    const Kokkos::View<double*, typename Space::memory_space> workspace("workspace",
                                                                        bytes / sizeof(double) + 1);
    KroneckerOptions options;
    options.workspace = {workspace.data(), bytes - 1};
    CHECK_THROWS_WITH_AS(papillon::kronecker(space, factors, x.const_descriptor(), x.descriptor(), options),
                         doctest::Contains("workspace has"), std::invalid_argument);
    options.workspace.bytes = bytes;
    papillon::kronecker(space, factors, x.const_descriptor(), x.descriptor(), options);
    space.fence();
    CHECK(x.surroundings_intact());
    check_same(x.get(), expected);
  });
}

TEST_CASE_TEMPLATE("kronecker: extents of 0 and 1", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_space([](const auto& space) {
    KroneckerCase<T> nothing{{3, 0, 2}, 1, {{3, 2}, {2, 0}}};  // a sum over nothing
    nothing.draw(1);
    const auto zeros = nothing.run(space);
    CHECK(zeros.size() == 36);
    check_same(zeros, std::vector<T>(36, T{}));
    KroneckerCase<T> no_rows{{3, 6}, -1, {{0, 2}, {5, 3}}};
    no_rows.draw(2);
    CHECK(no_rows.run(space).empty());
    KroneckerCase<T> no_batch{{0, 6, 4}, 1, {{2, 2}, {5, 3}}};
    no_batch.draw(3);
    CHECK(no_batch.run(space).empty());
  });
}

TEST_CASE("kronecker: NaN reaches what depends on it, and nothing else") {
  const double nan = std::nan("");
  KroneckerCase<double> problem{{3, 3 * 4 * 2}, -1, {{2, 3}, {5, 4}, {3, 2}}};
  problem.draw(9);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto clean = problem.run(space);
  auto dirty = problem;
  dirty.x[24 + 5] = nan;  // of the second line
  const auto line = dirty.run(space);
  for (std::size_t i = 0; i < clean.size(); ++i) CHECK(same_bits(line[i], i / 30 == 1 ? nan : clean[i]));
  dirty = problem;
  dirty.matrices[1].values[2 * 4 + 1] = nan;  // row 2 of the second factor
  const auto rows = dirty.run(space);
  for (std::size_t i = 0; i < clean.size(); ++i) CHECK(same_bits(rows[i], i / 3 % 5 == 2 ? nan : clean[i]));
}

TEST_CASE("kronecker: a group of factors is their product") {
  // (A ⊗ B) ⊗ C with A ⊗ B formed first, in whole numbers, which no order of sums changes.
  const auto a = random_values<double>(6, 1, Data::integers);
  const auto b = random_values<double>(20, 2, Data::integers);
  const auto c = random_values<double>(12, 3, Data::integers);
  std::vector<double> ab(120);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 5; ++k)
        for (std::size_t l = 0; l < 4; ++l) ab[(i * 5 + k) * 12 + j * 4 + l] = a[i * 3 + j] * b[k * 4 + l];
  const auto x = random_values<double>(2 * 12 * 3, 4, Data::integers);
  std::vector<double> apart(2 * 10 * 4), together(2 * 10 * 4);
  const Factor fa = papillon::row_major_factor(a.data(), 2, 3);
  const Factor fb = papillon::row_major_factor(b.data(), 5, 4);
  const Factor fc = papillon::column_major_factor(c.data(), 4, 3);
  const Factor fab = papillon::row_major_factor(ab.data(), 10, 12);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto from = papillon::row_major(x.data(), {2, 36});
  papillon::kronecker(space, std::vector{fa, fb, fc}, from, papillon::row_major(apart.data(), {2, 40}));
  papillon::kronecker(space, std::vector{fab, fc}, from, papillon::row_major(together.data(), {2, 40}));
  check_same(apart, together);
  papillon::kronecker(space, std::vector{fb, fa, fc}, from, papillon::row_major(together.data(), {2, 40}));
  CHECK(first_difference(apart, together) >= 0);  // factors do not commute
}

TEST_CASE("kronecker: Views of any layout") {
  const Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> a("a", 3, 2);
  const Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 4, 5), y("y", 6, 5);
  const Kokkos::View<float**, Kokkos::LayoutStride, Kokkos::HostSpace> b(
      Kokkos::subview(Kokkos::View<float***, Kokkos::HostSpace>("b", 2, 2, 2), Kokkos::ALL, Kokkos::ALL, 1));
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) a(i, j) = static_cast<float>(10 * i + j);
  b(0, 0) = b(1, 1) = 1;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 5; ++j) x(i, j) = static_cast<float>(i == 3 ? 1 : 0);
  papillon::kronecker(Kokkos::DefaultHostExecutionSpace{},
                      std::vector{papillon::describe_factor(a), papillon::describe_factor(b)}, x, y,
                      {.axis = 0});
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 5; ++j)
      CHECK(y(i, j) == (i % 2 == 1 ? static_cast<float>(10 * (i / 2) + 1) : 0.0f));
}

TEST_CASE("kronecker: arguments that do not fit are refused by name") {
  std::vector<float> x(24), y(60), f(64);
  const auto from = papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {4, 6}));
  const auto to = papillon::row_major(y.data(), {4, 15});
  const Factor a = papillon::row_major_factor(f.data(), 3, 2);
  const Factor b = papillon::row_major_factor(f.data() + 10, 5, 3);
  const auto says = [&](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find("papillon::kronecker: ") == 0);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(refusal<float>({a, b}, from, to) == "not refused");
  says(refusal<float>({}, from, to), "factors has 0 entries");
  says(refusal<float>(std::vector<Factor>(33, a), from, to), "factors has 33 entries");
  says(refusal<float>({a, a}, from, to), "2 * 2 columns but axis 1 of x of shape (4, 6) has length 6");
  says(refusal<float>({b, a}, from, papillon::row_major(y.data(), {4, 14})), "5 * 3 rows but axis 1 of y");
  says(refusal<float>({a, b}, from, papillon::row_major(y.data(), {3, 15})),
       "axis 0 is not the transformed one");
  says(refusal<float>({a, b}, from, papillon::row_major(y.data(), {15})),
       "x has shape (4, 6) but y has shape (15)");
  says(refusal<float>({a, b}, from, to, {.axis = 2}), "axis = 2 is outside -2 … 1");
  says(refusal<float>({a, b}, from, to, {.batch_axis = -3}), "batch_axis = -3 is outside");
  says(refusal<float>({a, b}, from, to, {.batch_axis = 1}), "batch_axis = 1 and axis = -1 are one axis");
  says(refusal<float>({a, b}, from, to, {.scale = std::nan("")}), "scale = nan");
  says(refusal<float>({a, b}, from, to, {.vectors = static_cast<VectorSide>(7)}),
       "vectors has the unknown value 7");
  says(refusal<float>({a, b}, from, to, {.vectors = VectorSide::left}), "3 * 5 rows but axis 1 of x");
  Factor odd = a;
  odd.batch_stride = 6;
  says(refusal<float>({odd, b}, from, to), "factors[0] has the batch stride 6 but no batch_axis");
  odd = a;
  odd.type = papillon::ScalarType::float64;
  says(refusal<float>({a, odd}, from, to), "factors[1] holds float64 but x holds float32");
  odd = a;
  odd.data = nullptr;
  says(refusal<float>({odd, b}, from, to), "factors[0] of shape (1, 3, 2) has a null pointer");
  odd = a;
  odd.rows = -3;
  says(refusal<float>({odd, b}, from, to), "factors[0] has a negative extent");
  odd = a;
  odd.columns = (std::int64_t{1} << 21) + 1;
  says(refusal<float>({odd, b}, from, to), "factors[0] has 3 x 2097153 elements of float32; at most 2097152");
  odd = papillon::row_major_factor(y.data() + 3, 3, 2);
  says(refusal<float>({odd, b}, from, to), "factors[0] at");
  says(refusal<float>({a, b}, from, papillon::row_major(x.data() + 1, {1, 15})), "x has shape (4, 6) but y");
  std::vector<float> shared(80);
  says(refusal<float>({a, b}, papillon::row_major(shared.data(), {4, 6}),
                      papillon::row_major(shared.data() + 20, {4, 15})),
       "overlap without being the same array");
  std::vector<std::int32_t> whole(24);
  says(refusal<float>({a, b}, papillon::row_major(whole.data(), {4, 6}),
                      papillon::row_major(whole.data(), {4, 6})),
       "x holds int32");
  CHECK(std::all_of(shared.begin(), shared.end(), [](float value) { return value == 0; }));
}

TEST_CASE("kronecker: plans apply every factor once, in the order that costs least") {
  std::mt19937 random(5);
  std::vector<float> memory(1 << 12);
  for (int round = 0; round < 300; ++round) {
    std::vector<Factor> factors;
    std::int64_t columns = 1, rows = 1;
    for (unsigned i = 0; i < 1 + random() % 5; ++i) {
      factors.push_back(papillon::row_major_factor(memory.data(), 1 + random() % 6, 1 + random() % 6));
      rows *= factors.back().rows;
      columns *= factors.back().columns;
    }
    std::vector<float> y(static_cast<std::size_t>(rows));
    const std::vector<float> x(static_cast<std::size_t>(columns));
    const auto problem = papillon::detail::make_kronecker_problem(
        factors, papillon::row_major(x.data(), {columns}), papillon::row_major(y.data(), {rows}), {});
    for (const std::int64_t points : {1, 20, 100000}) {
      const auto plan = papillon::detail::plan_kronecker(problem, points);
      std::vector<int> applied(factors.size());
      std::int64_t length = columns;
      for (const auto& pass : plan) {
        for (int i = 0; i < pass.count; ++i) ++applied[static_cast<std::size_t>(pass.first + pass.order[i])];
        CHECK(length == pass.outer * pass.source * pass.inner);
        length = pass.outer * pass.target * pass.inner;
        if (pass.count > 1) CHECK(pass.largest <= points);
      }
      CHECK(length == rows);
      CHECK(std::count(applied.begin(), applied.end(), 1) == static_cast<std::ptrdiff_t>(factors.size()));
      if (points < 100000) continue;
      std::vector<std::size_t> order(factors.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      double least = 1e300;
      do {
        double size = static_cast<double>(columns), cost = 0;
        for (const std::size_t f : order) {
          cost += size * static_cast<double>(factors[f].rows);
          size = size / static_cast<double>(factors[f].columns) * static_cast<double>(factors[f].rows);
        }
        least = std::min(least, cost);
      } while (std::next_permutation(order.begin(), order.end()));
      CHECK(papillon::detail::cost_of(problem, plan).multiply_adds == doctest::Approx(least));
    }
  }
}
