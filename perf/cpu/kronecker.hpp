// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace papillon::perf {

/// One row of the Kronecker table: `rows` vectors times a product of `count` float matrices of extent²
/// elements.
struct ProductCase {
  std::int64_t rows;
  int extent;
  int count;

  std::int64_t length() const;
  double operations() const;  ///< two for each multiply-add
  std::string name() const;   ///< "float32/1024/2^10"
};

std::vector<ProductCase> product_cases(bool quick);

/// Row-major factors, one after the other, whose product keeps the size of numbers.
std::vector<float> product_factors(const ProductCase& what);

/// Our own plain peer: a chain of batched matrix products through Eigen, without a transpose, in the widest
/// vectors of the machine. Each of `threads` threads takes its part of the rows through all factors. The
/// result is left in y; `spare` holds as many elements. No function where the build has no Eigen.
std::function<void()> eigen_chain(const ProductCase& what, const float* factors, const float* x, float* y,
                                  float* spare, int threads);

/// Adds the cases to the benchmarks of this program, for `threads` threads.
void register_products(bool quick, int threads);

}  // namespace papillon::perf
