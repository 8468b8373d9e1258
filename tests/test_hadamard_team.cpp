// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generic Kokkos team kernel, which device spaces run, gives the bits of the host's vector kernels.
#include <bit>
#include <complex>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Ordering;

/// Runs the team kernel on a host space, whatever hadamard would choose there.
template <class T>
std::vector<T> transform_by_team(const Shape& shape, const std::vector<T>& values,
                                 const HadamardOptions& options, Memory x_memory, Memory y_memory,
                                 bool in_place) {
  const Kokkos::DefaultHostExecutionSpace space;
  Guarded<T> x(shape, x_memory, values), other(shape, y_memory);
  Guarded<T>& y = in_place ? x : other;
  const auto before = x.bytes();
  papillon::generic::run_hadamard<false>(
      space, papillon::detail::make_hadamard_problem(x.const_descriptor(), y.descriptor(), options, true));
  space.fence();
  CHECK((in_place || x.bytes() == before));
  CHECK(y.surroundings_intact());
  return y.get();
}

template <class T>
void check_team(const Shape& shape, const HadamardOptions& options, Memory x_memory = Memory::row_major,
                Memory y_memory = Memory::row_major) {
  const auto values = random_values<T>(volume(shape), 71u);
  const auto expected = transform(Kokkos::DefaultHostExecutionSpace{}, shape, values, options);
  INFO(describe_case(shape, options), ", x ", to_string(x_memory), ", y ", to_string(y_memory));
  check_same(transform_by_team(shape, values, options, x_memory, y_memory, false), expected);
  check_same(transform_by_team(shape, values, options, x_memory, x_memory, true), expected);
}

template <class T>
constexpr papillon::Normalization usual =
    std::is_integral_v<T> ? papillon::Normalization::none : papillon::Normalization::ortho;

}  // namespace

TEST_CASE_TEMPLATE("hadamard: the team kernel equals the vector kernels", T, PAPILLON_ALL_SCALARS) {
  for (const std::int64_t n :
       {1, 2, 4, 16, 32, 12, 20, 28, 80, 96, 128, 172, 684, 1024, 3584, 4096, 8192, 1 << 14})
    for (const std::int64_t inner : {1, 3, 8, 40}) {
      if (n * inner > (1 << 14)) continue;
      check_team<T>({n <= 64 ? 37 : 2, n, inner}, {.norm = usual<T>, .axis = 1, .signs = {.seed = 3u}});
    }
  // Several passes of either kernel.
  check_team<T>({2, 1 << 17}, {.norm = usual<T>});
  check_team<T>({12 << 13}, {.norm = usual<T>});
  check_team<T>({1 << 14, 5}, {.norm = usual<T>, .axis = 0});
}

TEST_CASE_TEMPLATE("hadamard: the team kernel takes every option and layout", T, PAPILLON_ALL_SCALARS) {
  for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic})
    for (const auto side : {papillon::SignSide::input, papillon::SignSide::output})
      for (const std::int64_t n : {16, 256, 1 << 14}) {
        std::vector<std::int8_t> signs(static_cast<std::size_t>(n), 1);
        for (std::size_t i = 0; i < signs.size(); i += 3) signs[i] = -1;
        HadamardOptions options{
            .norm = usual<T>, .scale = 3, .ordering = ordering, .signs = {.values = signs, .side = side}};
        check_team<T>({3, n}, options);
        options.axis = 0;
        check_team<T>({n, 3}, options);
        options.signs = {.seed = 9u, .side = side};
        check_team<T>({n, 3}, options);
      }
  for (const auto x_memory : all_memories)
    for (const auto y_memory : all_memories)
      for (const int axis : {0, 1, 2})
        check_team<T>({4, 16, 8}, {.axis = axis, .group = 4}, x_memory, y_memory);
}

TEST_CASE_TEMPLATE("hadamard: the team kernel and its workspace", T, papillon::half, papillon::bfloat16) {
  const std::int64_t n = 1 << 17;
  Guarded<T> x({n}), y({n});
  const auto problem =
      papillon::detail::make_hadamard_problem(x.const_descriptor(), y.descriptor(), {}, true);
  const auto plan = papillon::detail::make_plan(problem, papillon::Architecture::device);
  CHECK(plan[0].pass_count > 1);
  CHECK(papillon::detail::workspace_bytes(problem, plan) >= static_cast<std::size_t>(n) * 4);
}
