// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm.hpp"

#if defined(PAPILLON_PERF_EIGEN)
// This Eigen has threads, that of eigen_chain.cpp has none: another name keeps their functions apart.
#define Eigen EigenWithThreads
#include <Eigen/Core>
#endif

namespace papillon::perf {

#if defined(PAPILLON_PERF_EIGEN)
namespace {

template <class T>
void multiply(std::int64_t n, const GemmArrays& arrays) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Input = Eigen::Map<const Matrix>;
  Eigen::Map<Matrix>(static_cast<T*>(arrays.c), n, n).noalias() =
      Input(static_cast<const T*>(arrays.a), n, n) * Input(static_cast<const T*>(arrays.b), n, n);
}

}  // namespace
#endif

std::function<void()> eigen_product([[maybe_unused]] const GemmCase& what,
                                    [[maybe_unused]] const GemmArrays& arrays, [[maybe_unused]] int threads) {
#if defined(PAPILLON_PERF_EIGEN)
  return [=] {
    Eigen::setNbThreads(threads);
    if (what.scalar == ScalarType::float32) {
      multiply<float>(what.n, arrays);
    } else {
      multiply<double>(what.n, arrays);
    }
  };
#else
  return {};
#endif
}

}  // namespace papillon::perf
