// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers: exact against an independent recursion from the top, and wrapping as the scalar does.
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;

/// Wrapping is arithmetic modulo 2^64 (2^32 follows by cutting), so one unsigned oracle serves all.
template <class T>
std::vector<T> exact(const Shape& shape, std::vector<T> values, int axis, std::int64_t scale) {
  for_each_line(shape, axis, 0, [&](const std::vector<std::size_t>& line) {
    std::vector<std::uint64_t> v;
    for (const auto i : line) v.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i])));
    v = transform_in(std::move(v));
    for (std::size_t j = 0; j < line.size(); ++j)
      values[line[j]] = static_cast<T>(v[j] * static_cast<std::uint64_t>(scale));
  });
  return values;
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: integers are exact and wrap", T, PAPILLON_INTEGERS) {
  for_each_space([](const auto& space) {
    for (const auto data : {Data::integers, Data::smooth})  // the second fills the whole range and wraps
      for (const auto& [shape, axis] : std::vector<std::pair<Shape, int>>{{{3, 4096}, 1},
                                                                          {{1 << 18}, 0},
                                                                          {{1 << 14, 9}, 0},
                                                                          {{3, 3584}, 1},
                                                                          {{10944}, 0},
                                                                          {{28672}, 0},
                                                                          {{2, 688, 3}, 1},
                                                                          {{80, 7}, 0}})
        for (const std::int64_t scale : {1, -3}) {
          const auto values = random_values<T>(volume(shape), 5u, data);
          const papillon::HadamardOptions options{.scale = static_cast<double>(scale), .axis = axis};
          INFO(describe_case(shape, options));
          check_same(transform(space, shape, values, options), exact(shape, values, axis, scale));
        }
  });
}

TEST_CASE("hadamard: floats on whole numbers equal the integers") {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {std::int64_t{1} << 20, std::int64_t{28672}, std::int64_t{10944}}) {
      const auto whole = random_values<std::int64_t>(static_cast<std::size_t>(n), 13u, Data::integers);
      const auto expected = exact(Shape{n}, whole, 0, 1);
      const std::vector<float> x(whole.begin(), whole.end());
      const auto y = transform(space, Shape{n}, x, {});  // |sums| <= 3 * 2^20 < 2^24: exact
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] != static_cast<float>(expected[i]);
      INFO("n = ", n);
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: unnormalised twice is n times the input for symmetric H", T,
                   PAPILLON_INTEGERS) {
  for_each_space([](const auto& space) {
    const Shape shape{5, 1024};
    const auto values = random_values<T>(volume(shape), 17u, Data::integers);
    const auto twice = transform(space, shape, transform(space, shape, values, {}), {});
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += twice[i] != 1024 * values[i];
    CHECK(wrong == 0);
  });
}
