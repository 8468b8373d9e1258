// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same bits alone or in a batch, on any instance, and from several host threads at once.
#include <atomic>
#include <complex>
#include <thread>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;

template <class T>
constexpr Normalization usual = std::is_integral_v<T> ? Normalization::none : Normalization::ortho;

}  // namespace

TEST_CASE_TEMPLATE("hadamard: a row in a batch has the bits of the row alone", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {1, 8, 32, 64, 12, 96, 1024, 3584}) {
      const std::int64_t batch = n < 100 ? 131 : 9;
      const HadamardOptions rows{.norm = usual<T>, .axis = 1}, columns{.norm = usual<T>, .axis = 0};
      const auto values = random_values<T>(static_cast<std::size_t>(batch * n), 73u, Data::scaled);
      const auto y = transform(space, Shape{batch, n}, values, rows);
      std::vector<T> turned;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t row = 0; row < batch; ++row)
          turned.push_back(values[static_cast<std::size_t>(row * n + i)]);
      const auto z = transform(space, Shape{n, batch}, turned, columns);
      for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, batch / 2, batch - 1}) {
        const auto begin = values.begin() + row * n;
        const auto alone = transform(space, Shape{n}, std::vector<T>(begin, begin + n), {.norm = usual<T>});
        INFO("n = ", n, ", row ", row);
        check_same(alone, std::vector<T>(y.begin() + row * n, y.begin() + (row + 1) * n));
        std::vector<T> column;
        for (std::int64_t i = 0; i < n; ++i) column.push_back(z[static_cast<std::size_t>(i * batch + row)]);
        check_same(alone, column);
      }
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: any part of the machine gives the same bits", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{
             {{67, 256}, 1}, {{1 << 17}, 0}, {{3, 28672}, 1}, {{1 << 13, 9}, 0}, {{1025, 12}, 1}}) {
      const HadamardOptions options{.norm = usual<T>, .axis = axis, .signs = {.seed = 2u}};
      const auto values = random_values<T>(volume(shape), 79u, Data::scaled);
      const auto whole = transform(space, shape, values, options);
      const auto parts = Kokkos::Experimental::partition_space(space, 1, 1);
      for (const Space& part : parts) {
        INFO(describe_case(shape, options));
        check_same(transform(part, shape, values, options), whole);
      }
      // Two instances at work on different arrays before either is waited for.
      Guarded<T, Space> x(shape, Memory::row_major, values), y(shape), z(shape);
      papillon::hadamard(parts[0], x.const_descriptor(), y.descriptor(), options);
      papillon::hadamard(parts[1], x.const_descriptor(), z.descriptor(), options);
      parts[0].fence();
      parts[1].fence();
      check_same(y.get(), whole);
      check_same(z.get(), whole);
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: several host threads at once, each with its own instance", T, float,
                   papillon::half, std::int64_t) {
  for_each_space([]<class Space>(const Space& space) {
    const std::vector<int> weights(4, 1);
    const auto parts = Kokkos::Experimental::partition_space(space, weights);
    const std::vector<std::pair<Shape, HadamardOptions>> cases = {
        {{33, 256}, {.norm = usual<T>}},
        {{1 << 17}, {.norm = usual<T>}},
        {{1 << 11, 12}, {.norm = usual<T>, .axis = 0, .ordering = papillon::Ordering::sequency}},
        {{5, 1368}, {.norm = usual<T>, .signs = {.seed = 1u}}}};
    std::vector<std::vector<T>> values, expected;
    std::vector<Guarded<T, Space>> x, y;
    for (std::size_t i = 0; i < 4; ++i) {
      values.push_back(random_values<T>(volume(cases[i].first), i));
      expected.push_back(reference(cases[i].first, values[i], cases[i].second));
      x.emplace_back(cases[i].first, Memory::row_major, values[i]);
      y.emplace_back(cases[i].first);
    }
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        for (int round = 0; round < 10; ++round) try {
            papillon::hadamard(parts[i], x[i].const_descriptor(), y[i].descriptor(), cases[i].second);
            parts[i].fence();
          } catch (...) {
            ++failures;
          }
      });
    for (auto& thread : threads) thread.join();
    CHECK(failures == 0);
    for (std::size_t i = 0; i < 4; ++i) {
      INFO("thread ", i);
      check_same(y[i].get(), expected[i]);
      CHECK(y[i].surroundings_intact());
    }
  });
}

TEST_CASE("hadamard: calls on one instance run in order") {
  for_each_space([]<class Space>(const Space& space) {
    // Without a fence between them: each call sees what the one before left.
    const Shape shape{16, 1024};
    const auto values = random_values<std::int64_t>(volume(shape), 83u, Data::integers);
    Guarded<std::int64_t, Space> x(shape, Memory::row_major, values);
    for (int call = 0; call < 4; ++call)
      papillon::hadamard(space, x.const_descriptor(), x.descriptor(), {.axis = call % 2});
    space.fence();
    const auto y = x.get();
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] != 16 * 1024 * values[i];
    CHECK(wrong == 0);
  });
}
