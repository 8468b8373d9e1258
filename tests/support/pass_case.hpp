// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include "papillon/core/pass.hpp"
#include "support/guarded.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// Runs the passes of a transform of (batch, n, inner) whole numbers one by one, and looks at the array after
/// each: so many stages have then been applied, lowest bits first, to every point where it belongs, and the
/// scale by the last alone. `make_plan(step)` gives the schedules, `run_pass(pass)` runs one to its end.
template <class T, class MakePlan, class RunPass>
void check_each_pass(const Shape& shape, int log2_n, bool in_place, int expected_passes,
                     const MakePlan& make_plan, const RunPass& run_pass) {
  using papillon::detail::Pass;
  const std::int64_t n = std::int64_t{1} << log2_n;
  const std::int64_t inner = shape[2];
  REQUIRE(shape[1] == n);
  const auto values = random_values<T>(volume(shape), 17, Data::integers);
  // Rows of both arrays have gaps, of different lengths where they are two.
  const Strides x_strides{n * inner + 16, inner, 1};
  const Strides y_strides{n * inner + (in_place ? 16 : 32), inner, 1};
  Guarded<T> x(shape, x_strides), other(shape, y_strides);
  x.set(values);
  Guarded<T>& y = in_place ? x : other;
  const auto before = x.bytes();
  const double scale = std::is_integral_v<T> ? 3 : 0.25;
  const auto problem = papillon::detail::make_hadamard_problem(x.const_descriptor(), y.descriptor(),
                                                               {.scale = scale, .axis = 1}, true);
  const auto plan = make_plan(problem);
  REQUIRE(!papillon::detail::needs_workspace(problem, plan));
  const auto passes = papillon::detail::make_passes(problem, plan);
  REQUIRE(passes.size() == static_cast<std::size_t>(expected_passes));

  std::vector<std::int64_t> exact(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) exact[i] = static_cast<std::int64_t>(values[i]);
  int bit = 0;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    INFO("pass ", p, " of n = 2^", log2_n, ", inner ", inner, in_place ? ", in place" : "");
    run_pass(passes[p]);
    for (const int end = bit + passes[p].bits; bit < end; ++bit) {
      const auto half = static_cast<std::size_t>(inner) << bit;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        if ((i / half & 1u) != 0) continue;
        const std::int64_t a = exact[i], b = exact[i + half];
        exact[i] = a + b;
        exact[i + half] = a - b;
      }
    }
    const bool last = p + 1 == passes.size();
    const auto actual = y.get();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (static_cast<double>(actual[i]) != static_cast<double>(exact[i]) * (last ? scale : 1.0)) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(y.surroundings_intact());
    CHECK((in_place || x.bytes() == before));
  }
  CHECK(bit == log2_n);
}

}  // namespace papillon_test
