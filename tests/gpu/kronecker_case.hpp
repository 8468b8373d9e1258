// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "papillon/core/tensor.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon::test {

/// One product, run on the GPU and by the CPU layer from the same host bytes.
struct ProductCase {
  struct Matrix {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    bool column_major = false;
    bool conjugate = false;
    bool batched = false;  ///< one for each index of options.batch_axis
  };
  ScalarType type = ScalarType::float32;
  std::vector<std::int64_t> extents = {};  ///< of x; that of the axis is set from the matrices
  std::vector<Matrix> matrices = {};
  KroneckerOptions options = {};
  bool transposed = false;  ///< both arrays with their first index fastest
  std::int64_t gap = 0;     ///< elements left free after each row of the fastest index
  std::int64_t shift = 0;   ///< elements that the arrays start after a 256-byte boundary
  bool in_place = false;
  bool whole = true;  ///< whole numbers, whose sums are exact in any order: the bits must be the CPU layer's
};

/// Empty when both agree: bit for bit for whole numbers, else within the bound of the docstring; and when x
/// is untouched and nothing beside y is written. Else what differs.
std::string compare(const ProductCase& problem);

}  // namespace papillon::test
