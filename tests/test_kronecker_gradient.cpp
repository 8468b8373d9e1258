// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kronecker_factor_gradient against the dense sum, entry by entry, and against differences.
#include <algorithm>
#include <random>

#include "papillon/kronecker_gradient.hpp"
#include "support/apply.hpp"
#include "support/kronecker_case.hpp"

namespace {

using namespace papillon_test;
using papillon::Factor;
using papillon::KroneckerOptions;
using papillon::VectorSide;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

/// A product with a gradient of its result.
template <class T>
struct GradientCase {
  KroneckerCase<T> product;
  std::size_t number = 0;
  bool batch_wise = false;  ///< of the factor asked for
  std::vector<T> dy = {};

  void draw(std::uint64_t seed) {
    product.draw(seed);
    dy = random_values<T>(volume(product.result_shape()), seed + 100);
  }

  std::int64_t gradients() const { return batch_wise ? product.batches : 1; }
  Shape gradient_shape() const {
    const auto& matrix = product.matrices[number];
    Shape shape{matrix.rows, matrix.columns};
    if (batch_wise) shape.insert(shape.begin(), product.batches);
    return shape;
  }

  /// Runs it on guarded arrays laid out as asked. Without `batch_wise` the factor asked for has no batch
  /// stride, all others have one where there is a batch axis.
  template <class Space>
  std::vector<T> run(const Space& space, Memory x_memory = Memory::row_major,
                     Memory dy_memory = Memory::row_major, Memory factor_memory = Memory::row_major) const {
    Guarded<T, Space> x(product.shape, x_memory, product.x);
    Guarded<T, Space> from(product.result_shape(), dy_memory, dy);
    Guarded<T, Space> gradient(gradient_shape(), factor_memory);
    std::vector<Guarded<T, Space>> stored;
    std::vector<Factor> factors;
    for (std::size_t f = 0; f < product.matrices.size(); ++f) {
      const auto& matrix = product.matrices[f];
      stored.emplace_back(Shape{product.batches, matrix.rows, matrix.columns}, factor_memory, matrix.values);
      const auto tensor = stored.back().descriptor();
      const bool changes = product.options.batch_axis && (f != number || batch_wise);
      factors.push_back({tensor.data, tensor.type, matrix.rows, matrix.columns, tensor.strides[1],
                         tensor.strides[2], changes ? tensor.strides[0] : 0, matrix.conjugate});
    }
    papillon::kronecker_factor_gradient(space, factors, number, x.const_descriptor(), from.const_descriptor(),
                                        gradient.descriptor(), product.options);
    space.fence();
    CHECK_MESSAGE(x.get() == product.x, "x was written");
    CHECK_MESSAGE(from.get() == dy, "dy was written");
    CHECK_MESSAGE(gradient.surroundings_intact(), "something beside the gradient was written");
    return gradient.get();
  }

  /// The product of the entries of all other factors at the index of a point of y and of one of x; the
  /// indices of the factor asked for, in its stored shape.
  Wide others(std::int64_t row, std::int64_t column, std::int64_t batch, std::int64_t& a,
              std::int64_t& b) const {
    const bool turned = product.turned();
    Wide result = 1;
    for (std::size_t f = product.matrices.size(); f-- > 0;) {
      const auto& matrix = product.matrices[f];
      std::int64_t i = row % (turned ? matrix.columns : matrix.rows);
      std::int64_t j = column % (turned ? matrix.rows : matrix.columns);
      row /= turned ? matrix.columns : matrix.rows;
      column /= turned ? matrix.rows : matrix.columns;
      if (turned) std::swap(i, j);
      if (f == number) {
        a = i;
        b = j;
        continue;
      }
      const std::int64_t at = (batch * matrix.rows + i) * matrix.columns + j;
      const Wide value = wide(matrix.values[static_cast<std::size_t>(at)]);
      result *= matrix.conjugate != product.options.adjoint ? std::conj(value) : value;
    }
    return result;
  }

  /// Checks a gradient, in row-major order, against the bound of the docstring.
  void check(const std::vector<T>& gradient) const {
    const auto& matrix = product.matrices[number];
    const std::int64_t n = product.length(false), m = product.length(true);
    std::int64_t outer = 1, inner = 1;
    const std::size_t axis = product.position(product.axis);
    for (std::size_t d = 0; d < product.shape.size(); ++d)
      if (d != axis) (d < axis ? outer : inner) *= product.shape[d];
    const ModeShape lines{product.shape, product.axis, product.options.batch_axis};
    const std::size_t count = volume(gradient_shape());
    REQUIRE(gradient.size() == count);
    std::vector<Wide> sums(count);
    std::vector<long double> sizes(count), dy_sizes(count);
    const bool conjugate = matrix.conjugate != product.options.adjoint;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        for (std::int64_t row = 0; row < m; ++row)
          for (std::int64_t column = 0; column < n; ++column) {
            const std::int64_t batch = lines.batch_of(o, i);
            std::int64_t a = 0, b = 0;
            const Wide w = others(row, column, batch, a, b) *
                           wide(product.x[static_cast<std::size_t>((o * n + column) * inner + i)]);
            const Wide g = wide(dy[static_cast<std::size_t>((o * m + row) * inner + i)]);
            const auto at =
                static_cast<std::size_t>(((batch_wise ? batch : 0) * matrix.rows + a) * matrix.columns + b);
            sums[at] += conjugate ? std::conj(g) * w : g * std::conj(w);
            sizes[at] += std::abs(g * w);
            dy_sizes[at] += std::abs(g);
          }
    long double depth = 4;
    long double terms = static_cast<long double>(outer * inner / gradients());
    for (std::size_t f = 0; f < product.matrices.size(); ++f) {
      if (f == number) continue;
      const auto longest = std::max(product.matrices[f].rows, product.matrices[f].columns);
      depth += static_cast<long double>(longest + 1);
      terms *= static_cast<long double>(longest);
    }
    // Arrays of the tests with more than a few thousand terms are no larger than four chunks.
    depth += std::min(terms, 160 + terms / 4096 + 4);
    const long double u = (is_std_complex<T> ? 3 : 1) * sum_roundoff<T>();
    const long double gamma = depth * u / (1 - depth * u);
    const bool rounds = result_roundoff<T>() != sum_roundoff<T>();
    const long double v = rounds ? result_roundoff<T>() : 0;
    const long double smallest = std::is_same_v<T, papillon::half> ? 0x1p-25L : 0.0L;
    const long double scale = std::abs(static_cast<long double>(product.options.scale));
    for (std::size_t at = 0; at < count; ++at) {
      const Wide expected = static_cast<long double>(product.options.scale) * sums[at];
      const Wide actual = wide(gradient[at]);
      // Rounded results in the range of subnormal 16-bit numbers may be off by half of the smallest.
      const long double bound = ((1 + gamma) * (1 + v) * (1 + v) * (1 + v) - 1) * scale * sizes[at] +
                                smallest * (1 + 4 * scale * dy_sizes[at] * largest_product());
      if (std::abs(actual - expected) <= bound) continue;
      INFO("entry ", at, ": off by ", static_cast<double>(std::abs(actual - expected)), ", bound ",
           static_cast<double>(bound));
      REQUIRE(false);
    }
    CHECK(true);
  }

  /// No entry of the tests' factors exceeds 1, so that a product of factors multiplies an error by no more
  /// than the lengths of its sums.
  long double largest_product() const {
    long double product_of_lengths = 1;
    for (std::size_t f = 0; f < product.matrices.size(); ++f) {
      if (f == number) continue;
      product_of_lengths *=
          static_cast<long double>(std::max(product.matrices[f].rows, product.matrices[f].columns));
    }
    return product_of_lengths;
  }
};

template <class T>
GradientCase<T> random_case(std::mt19937& random) {
  GradientCase<T> result;
  result.product = random_product<T>(random, {40, 9, 4, 4});
  result.batch_wise = result.product.options.batch_axis && random() % 2 == 1;
  result.number = random() % result.product.matrices.size();
  result.draw(random());
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("kronecker_factor_gradient: rectangular factors, sides, adjoints, layouts at random", T,
                   PAPILLON_PRODUCT_SCALARS) {
  const auto expected_of = [](const auto& problem) {
    return problem.run(Kokkos::DefaultHostExecutionSpace{});
  };
  for_each_space([&](const auto& space) {
    std::mt19937 random(17);
    for (int round = 0; round < 120; ++round) {
      CAPTURE(round);
      const auto problem = random_case<T>(random);
      const auto memory = [&] { return all_memories[random() % std::size(all_memories)]; };
      const Memory x_memory = memory(), dy_memory = memory(), factor_memory = memory();
      const auto gradient = problem.run(space, x_memory, dy_memory, factor_memory);
      problem.check(gradient);
      check_same(expected_of(problem), gradient);  // neither layouts nor spaces change a bit
    }
  });
}

TEST_CASE_TEMPLATE("kronecker_factor_gradient: many terms, in blocks and chunks", T, float,
                   papillon::bfloat16, std::complex<double>) {
  for_each_space([](const auto& space) {
    for (std::size_t number = 0; number < 3; ++number) {
      GradientCase<T> blocks{{{60, 4 * 6 * 5, 7}, 1, {{3, 4}, {5, 6}, {7, 5}}}, number};
      blocks.draw(number);
      blocks.check(blocks.run(space));
    }
    GradientCase<T> tiles{{{33, 2 * 40}, 1, {{3, 2}, {37, 40}}}, 1};  // several tiles of the gradient
    tiles.draw(4);
    tiles.check(tiles.run(space));
  });
}

TEST_CASE("kronecker_factor_gradient: chunks of columns, also within a batch entry") {
  // Integers, so that any order of sums gives the same; the dense sum would take minutes.
  const std::int64_t rows = 2, columns = 1400001;
  const auto x = random_values<float>(static_cast<std::size_t>(rows * 4 * columns), 1, Data::integers);
  const auto dy = random_values<float>(static_cast<std::size_t>(rows * 6 * columns), 2, Data::integers);
  const auto a = random_values<float>(static_cast<std::size_t>(rows * 4), 3, Data::integers);
  const auto b = random_values<float>(static_cast<std::size_t>(3 * 6), 4, Data::integers);
  for (const bool batch_wise : {false, true}) {
    std::vector<float> gradient(18), expected(18);
    std::vector<double> exact(18);
    const std::vector factors{
        Factor{a.data(), papillon::ScalarType::float32, 2, 2, 2, 1, 4},  // another for each batch entry
        Factor{b.data(), papillon::ScalarType::float32, 3, 2, 2, 1, batch_wise ? 6 : 0}};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = 0; i < 2; ++i)
          for (std::int64_t q = 0; q < 2; ++q) {
            double w = 0;  // of (A ⊗ 1) x
            for (std::int64_t j = 0; j < 2; ++j)
              w += double{a[static_cast<std::size_t>((r * 2 + i) * 2 + j)]} *
                   double{x[static_cast<std::size_t>((r * 4 + j * 2 + q) * columns + c)]};
            for (std::int64_t p = 0; p < 3; ++p)
              exact[static_cast<std::size_t>(((batch_wise ? r : 0) * 3 + p) * 2 + q)] +=
                  double{dy[static_cast<std::size_t>((r * 6 + i * 3 + p) * columns + c)]} * w;
          }
    std::copy(exact.begin(), exact.end(), expected.begin());
    const KroneckerOptions options{.axis = 1, .batch_axis = 0};
    const auto x_array = papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {rows, 4, columns}));
    const auto dy_array = papillon::ConstTensorDescriptor(papillon::row_major(dy.data(), {rows, 6, columns}));
    const auto g_array = batch_wise ? papillon::row_major(gradient.data(), {rows, 3, 2})
                                    : papillon::row_major(gradient.data(), {3, 2});
    const auto problem =
        papillon::detail::make_kronecker_gradient_problem(factors, 1, x_array, dy_array, g_array, options);
    CHECK(papillon::detail::plan_kronecker_gradient(problem).chunk_count > 2 * rows);
    for_each_space([&](const auto& space) {
      papillon::kronecker_factor_gradient(space, factors, 1, x_array, dy_array, g_array, options);
      space.fence();
      check_same(gradient, expected);
    });
  }
}

TEST_CASE_TEMPLATE("kronecker_factor_gradient: differences, which a linear function has exactly", T, double,
                   std::complex<double>) {
  // L(F) = Re <dy, y(F)> is linear in the entries of F, so that a step of 1 leaves rounding alone.
  const Kokkos::DefaultHostExecutionSpace space;
  std::mt19937 random(23);
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    const auto problem = random_case<T>(random);
    const auto gradient = problem.run(space);
    const auto& matrix = problem.product.matrices[problem.number];
    const auto change = [&](std::size_t entry, double step, bool imaginary) {
      auto moved = problem.product;
      for (std::int64_t g = 0; g < moved.batches; ++g) {  // one matrix for all batch entries, or one of them
        if (problem.batch_wise &&
            entry / static_cast<std::size_t>(matrix.rows * matrix.columns) != static_cast<std::size_t>(g))
          continue;
        const std::size_t at = static_cast<std::size_t>(g * matrix.rows * matrix.columns) +
                               entry % static_cast<std::size_t>(matrix.rows * matrix.columns);
        T& value = moved.matrices[problem.number].values[at];
        if constexpr (is_std_complex<T>) {
          value += imaginary ? T{0, step} : T{step, 0};
        } else {
          value += step;
        }
      }
      const auto y = moved.run(space);
      long double sum = 0, size = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        sum += std::real(std::conj(wide(problem.dy[i])) * wide(y[i]));
        size += std::abs(wide(problem.dy[i])) * std::abs(wide(y[i]));
      }
      return std::pair{sum, size};
    };
    for (int trial = 0; trial < 6; ++trial) {
      const std::size_t entry = random() % gradient.size();
      for (const bool imaginary : {false, true}) {
        if (imaginary && !is_std_complex<T>) continue;
        const auto [above, above_size] = change(entry, 1, imaginary);
        const auto [below, below_size] = change(entry, -1, imaginary);
        const auto g = wide(gradient[entry]);
        const long double actual = imaginary ? g.imag() : g.real();
        // Entries are at most 2 in size, so that a value of y is at most this, and its error gamma times it.
        long double largest =
            problem.largest_product() * static_cast<long double>(matrix.rows + matrix.columns) * 4;
        long double sizes = 0;
        for (const T& value : problem.dy) sizes += std::abs(wide(value));
        const long double gamma = 1000 * 0x1p-53L;
        CHECK(std::abs((above - below) / 2 - actual) <=
              gamma * (above_size + below_size + sizes * largest * std::abs(problem.product.options.scale)));
      }
    }
  }
}

TEST_CASE("kronecker_factor_gradient: sums over nothing, and no entries") {
  for_each_space([](const auto& space) {
    for (const Shape& shape : {Shape{0, 6}, Shape{3, 0}}) {
      GradientCase<float> nothing{{shape, -1, {{2, 2}, {5, 3}}}, 1};
      if (shape[1] == 0) nothing.product.matrices[0].columns = 0;
      nothing.draw(1);
      check_same(nothing.run(space), std::vector<float>(15, 0.0f));
      nothing.number = 0;
      const std::size_t entries = shape[1] == 0 ? 0 : 4;
      check_same(nothing.run(space), std::vector<float>(entries, 0.0f));
    }
    GradientCase<float> no_batch{{{0, 6}, -1, {{2, 2}, {5, 3}}}, 1, true};
    no_batch.product.options.batch_axis = 0;
    no_batch.draw(1);
    CHECK(no_batch.run(space).empty());
  });
}

TEST_CASE_TEMPLATE("kronecker_factor_gradient: the workspace asked for is enough, and no less is taken", T,
                   float, papillon::half, std::complex<double>) {
  GradientCase<T> problem{{{11, 24 * 25 * 26}, -1, {{24, 24}, {25, 25}, {26, 26}}}, 1};
  problem.draw(3);
  const auto expected = problem.run(Kokkos::DefaultHostExecutionSpace{});
  for_each_space([&](const auto& space) {
    using Space = std::decay_t<decltype(space)>;
    Guarded<T, Space> x(problem.product.shape, Memory::row_major, problem.product.x);
    Guarded<T, Space> dy(problem.product.result_shape(), Memory::row_major, problem.dy);
    Guarded<T, Space> gradient(problem.gradient_shape());
    std::vector<Guarded<T, Space>> stored;
    std::vector<Factor> factors;
    for (const auto& matrix : problem.product.matrices) {
      stored.emplace_back(Shape{matrix.rows, matrix.columns}, Memory::row_major, matrix.values);
      const auto tensor = stored.back().descriptor();
      factors.push_back({tensor.data, tensor.type, matrix.rows, matrix.columns, tensor.strides[0], 1});
    }
    const std::size_t bytes = papillon::kronecker_gradient_workspace_bytes(
        space, factors, 1, x.const_descriptor(), dy.const_descriptor(), gradient.descriptor());
    CHECK(bytes > volume(problem.product.shape) * sizeof(T));
    const Kokkos::View<char*, typename Space::memory_space> workspace("workspace", bytes + 64);
    Kokkos::deep_copy(workspace, char{0x5a});
    KroneckerOptions options;
    options.workspace = {workspace.data(), bytes - 1};
    CHECK_THROWS_WITH_AS(
        papillon::kronecker_factor_gradient(space, factors, 1, x.const_descriptor(), dy.const_descriptor(),
                                            gradient.descriptor(), options),
        doctest::Contains("workspace has"), std::invalid_argument);
    CHECK(gradient.untouched());
    options.workspace.bytes = bytes;
    papillon::kronecker_factor_gradient(space, factors, 1, x.const_descriptor(), dy.const_descriptor(),
                                        gradient.descriptor(), options);
    space.fence();
    check_same(gradient.get(), expected);
    const auto after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, workspace);
    for (std::size_t i = bytes; i < bytes + 64; ++i) CHECK(after(i) == 0x5a);
  });
}

TEST_CASE("kronecker_factor_gradient: Views, and the gradient with respect to x") {
  const Kokkos::DefaultHostExecutionSpace space;
  const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> a("a", 3, 2), ga("ga", 3, 2);
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 4, 2), dy("dy", 4, 3),
      dx("dx", 4, 2);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) a(i, j) = static_cast<double>(i + 5 * j);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 2; ++j) x(i, j) = static_cast<double>(1 + i * j);
    for (std::size_t j = 0; j < 3; ++j) dy(i, j) = static_cast<double>(i) - static_cast<double>(j);
  }
  const std::vector factors{papillon::describe_factor(a)};
  papillon::kronecker_factor_gradient(space, factors, 0, x, dy, ga);
  papillon::kronecker(space, factors, dy, dx, {.adjoint = true});
  space.fence();
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < 4; ++c) sum += dy(c, i) * x(c, j);
      CHECK(ga(i, j) == sum);
    }
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i) sum += dy(c, i) * a(i, j);
      CHECK(dx(c, j) == sum);
    }
}

TEST_CASE("kronecker_factor_gradient: arguments that do not fit are refused by name") {
  std::vector<float> x(24), dy(60), f(64), g(90);
  const auto from = papillon::ConstTensorDescriptor(papillon::row_major(x.data(), {4, 6}));
  const auto to = papillon::ConstTensorDescriptor(papillon::row_major(dy.data(), {4, 15}));
  const auto gradient = papillon::row_major(g.data(), {3, 2});
  const Factor a = papillon::row_major_factor(f.data(), 3, 2);
  const Factor b = papillon::row_major_factor(f.data() + 10, 5, 3);
  const auto refusal = [&](const std::vector<Factor>& factors, std::size_t number,
                           const papillon::TensorDescriptor& written, const KroneckerOptions& options = {},
                           std::optional<papillon::ConstTensorDescriptor> other_dy = {}) {
    try {
      papillon::kronecker_factor_gradient(Kokkos::DefaultHostExecutionSpace{}, factors, number, from,
                                          other_dy.value_or(to), written, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find("papillon::kronecker_factor_gradient: ") == 0);
    CHECK(text.find(part) != std::string::npos);
  };
  CHECK(refusal({a, b}, 0, gradient) == "not refused");
  std::fill(g.begin(), g.end(), 7.0f);
  says(refusal({a, b}, 2, gradient), "number = 2 but there are 2 factors");
  says(refusal({}, 0, gradient), "factors has 0 entries");
  says(refusal({a, a}, 0, gradient), "2 * 2 columns but axis 1 of x of shape (4, 6) has length 6");
  says(refusal({a, b}, 1, gradient), "gradient has shape (3, 2) but factors[1] has (5, 3)");
  says(refusal({a, b}, 0, papillon::row_major(g.data(), {1, 3, 2})), "gradient has shape (1, 3, 2)");
  says(refusal({a, b}, 0, papillon::row_major(reinterpret_cast<double*>(g.data()), {3, 2})),
       "gradient holds float64 but x holds float32");
  says(refusal({a, b}, 0, papillon::row_major(static_cast<float*>(nullptr), {3, 2})),
       "gradient of shape (3, 2)");
  says(refusal({a, b}, 0, gradient, {}, papillon::row_major(dy.data(), {4, 14})), "5 rows but axis 1 of dy");
  says(refusal({a, b}, 0, gradient, {}, papillon::row_major(dy.data(), {3, 15})), "dy has shape (3, 15)");
  says(refusal({a, b}, 0, gradient, {.axis = 2}), "axis = 2 is outside -2 … 1");
  says(refusal({a, b}, 0, gradient, {.scale = std::nan("")}), "scale = nan");
  Factor changing = a;
  changing.batch_stride = 6;
  says(refusal({changing, b}, 0, gradient), "factors[0] has the batch stride 6 but no batch_axis");
  says(refusal({changing, b}, 0, gradient, {.batch_axis = 0}),
       "gradient has shape (3, 2) but factors[0] has (4, 3, 2), the batch first");
  auto repeating = gradient;
  repeating.strides[0] = 0;
  says(refusal({a, b}, 0, repeating), "gradient of shape (3, 2) and strides (0, 1) has several indices");
  says(refusal({a, b}, 0, papillon::row_major(x.data() + 20, {3, 2})), "x at");
  says(refusal({a, b}, 0, papillon::row_major(dy.data(), {3, 2})), "dy at");
  says(refusal({a, b}, 0, papillon::row_major(f.data() + 12, {3, 2})), "factors[1] at");
  says(refusal({a, b}, 0, papillon::row_major(f.data(), {3, 2})), "factors[0] at");
  CHECK(std::all_of(g.begin(), g.end(), [](float value) { return value == 7.0f; }));
}
