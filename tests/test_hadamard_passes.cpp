// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of long transforms, each on its own.
#include "papillon/hadamard.hpp"
#include "support/pass_case.hpp"

namespace {

using namespace papillon_test;
using papillon::Architecture;
using papillon::detail::HadamardProblem;
using papillon::detail::Pass;

template <class T>
void check_host(const Shape& shape, int log2_n, bool in_place, int passes) {
  const Kokkos::DefaultHostExecutionSpace space;
  check_each_pass<T>(
      shape, log2_n, in_place, passes,
      [](const HadamardProblem& problem) { return papillon::detail::make_plan(problem, Architecture::cpu); },
      [&](const Pass& pass) {
        papillon::generic::run_host_tiles(space, pass, papillon::generic::make_host_tiling(pass));
        space.fence();
      });
}

template <class T>
void check_team(const Shape& shape, int log2_n, bool in_place, int passes) {
  const Kokkos::DefaultHostExecutionSpace space;
  check_each_pass<T>(
      shape, log2_n, in_place, passes,
      [](const HadamardProblem& problem) {
        return papillon::detail::make_plan(problem, Architecture::device);
      },
      [&](const Pass& pass) {
        papillon::generic::run_team_pass(space, pass, nullptr);
        space.fence();
      });
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: every pass of the vector kernels on its own", T, float, double, std::int32_t) {
  for (const bool in_place : {false, true}) {
    check_host<T>({3, 1 << 18, 1}, 18, in_place, 2);
    check_host<T>({1, 1 << 20, 1}, 20, in_place, 2);
    check_host<T>({2, 1 << 17, 5}, 17, in_place, 2);
  }
}

TEST_CASE_TEMPLATE("hadamard: every pass of the team kernel on its own", T, float, double, std::int32_t) {
  for (const bool in_place : {false, true}) {
    check_team<T>({3, 1 << 16, 1}, 16, in_place, 2);
    check_team<T>({2, 1 << 14, 5}, 14, in_place, 2);
  }
}
