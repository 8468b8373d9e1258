// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "papillon/core/scalar.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon::perf {

/// One row of the quantiser's table: a row-major matrix of `rows` rows of 4096 elements.
struct QuantizeCase {
  static constexpr std::int64_t columns = 4096;
  ScalarType scalar;
  std::int64_t rows;
  BlockFormat format = BlockFormat::nvfp4;
  std::int64_t rotation = 16;
  GlobalScaleSource source = GlobalScaleSource::given;
  int axis = -1;
  BlockShape shape = BlockShape::vector;
  Rounding rounding = Rounding::nearest_even;

  std::int64_t bytes() const { return rows * columns * static_cast<std::int64_t>(size_of(scalar)); }
  QuantizeOptions options() const;
  std::string name() const;  ///< "bfloat16/256x4096/nvfp4, rotation 16, given scale"
};

std::vector<QuantizeCase> quantize_cases(bool quick);

/// Adds the cases to the benchmarks of this program, for `threads` threads, each with the in-place scale loop
/// over the bytes that it reads.
void register_quantizer(bool quick, int threads);

}  // namespace papillon::perf
