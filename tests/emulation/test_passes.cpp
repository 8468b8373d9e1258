// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of the CUDA backend's long transforms, each on its own.
#include "route.hpp"
#include "support/pass_case.hpp"

namespace {

using namespace papillon_test;
using papillon::detail::HadamardProblem;
using papillon::detail::Pass;

template <class T>
void check_cuda(const Shape& shape, int log2_n, bool in_place, int passes) {
  check_each_pass<T>(
      shape, log2_n, in_place, passes,
      [](const HadamardProblem& problem) { return papillon::cuda::plan_of(problem); },
      [](const Pass& pass) { papillon::cuda::run_pass(nullptr, papillon::cuda::current_device(), pass); });
}

}  // namespace

TEST_CASE_TEMPLATE("every pass of the CUDA kernels on its own" * doctest::test_suite("reduced"), T, float,
                   double, std::int32_t) {
  check_cuda<T>({2, 1 << 19, 1}, 19, false, 2);  // rows, then columns
  check_cuda<T>({1, 1 << 19, 1}, 19, true, 2);
  check_cuda<T>({2, 1 << 14, 24}, 14, false, 2);  // columns alone
}
