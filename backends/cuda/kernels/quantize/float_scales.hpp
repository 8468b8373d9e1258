// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/block_codes.hpp"

namespace papillon::cuda {

/// Contiguous rows to be quantised with a float scale for each block of `layout.block` elements: FP8, INT8
/// and INT4. Blocks begin at multiples of 8 elements, x at multiples of 16 bytes.
struct FloatScaleRows {
  const void* x = nullptr;  ///< element (0, 0)
  std::int64_t x_stride = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  detail::BlockScaling scaling;
  QuantizedLayout layout;
  std::uint8_t* payload = nullptr;
  float* scales = nullptr;
  bool stochastic = false;
  detail::RoundingBits random;
  std::uint32_t* amax_bits = nullptr;  ///< raised where not null
};

}  // namespace papillon::cuda
