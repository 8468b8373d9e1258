// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker.hpp"

#if defined(PAPILLON_PERF_EIGEN)
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>
#endif

namespace papillon::perf {

#if defined(PAPILLON_PERF_EIGEN)
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Matrix>;
using Output = Eigen::Map<Matrix>;

/// All factors, the first one first, on `rows` rows; the last step writes y.
void chain(const ProductCase& what, const float* factors, const float* x, float* y, float* spare,
           std::int64_t rows) {
  const std::int64_t p = what.extent;
  std::int64_t run = what.length();
  std::int64_t outer = rows;
  float* to = what.count % 2 == 1 ? y : spare;
  float* other = what.count % 2 == 1 ? spare : y;
  for (int i = 0; i < what.count; ++i, outer *= p) {
    run /= p;
    const Input factor(factors + i * p * p, p, p);
    if (run == 1) {
      Output(to, outer, p).noalias() = Input(x, outer, p) * factor.transpose();
    } else {
      for (std::int64_t o = 0; o < outer; ++o)
        Output(to + o * p * run, p, run).noalias() = factor * Input(x + o * p * run, p, run);
    }
    x = to;
    std::swap(to, other);
  }
}

}  // namespace
#endif

std::function<void()> eigen_chain([[maybe_unused]] const ProductCase& what,
                                  [[maybe_unused]] const float* factors, [[maybe_unused]] const float* x,
                                  [[maybe_unused]] float* y, [[maybe_unused]] float* spare,
                                  [[maybe_unused]] int threads) {
#if defined(PAPILLON_PERF_EIGEN)
  return [=] {
    const std::int64_t part = (what.rows + threads - 1) / threads;
    Kokkos::parallel_for(
        Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, threads), [=](std::int64_t t) {
          const std::int64_t first = std::min(t * part, what.rows);
          const std::int64_t offset = first * what.length();
          chain(what, factors, x + offset, y + offset, spare + offset, std::min(part, what.rows - first));
        });
  };
#else
  return {};
#endif
}

}  // namespace papillon::perf
