// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/block_codes.hpp"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// Elements of a row that a thread of the row kernels has at a time, its strip: whole blocks of every format
/// that they know, and a whole rotation or as much of one as registers hold.
constexpr int strip_bits(int group_bits) { return group_bits <= 5 ? 5 : group_bits <= 11 ? 6 : 7; }
/// Longest rotation: a strip for each lane of a warp.
inline constexpr int most_group_bits = 12;

/// Contiguous rows of whole strips, to be rotated in groups of 2^group_bits and quantised in
/// vector blocks of NVFP4 or MX.
struct RowQuantization {
  const void* x = nullptr;       ///< element (0, 0), whether it is part of the call or not
  std::int64_t first_strip = 0;  ///< of the call, rows counted from the tensor's first
  std::int64_t strips = 0;       ///< where the call ends, counted so too
  std::uint32_t row_strips =
      0;                      ///< of a row; used where x has gaps or scales are swizzled, then strips < 2^32
  std::int64_t x_stride = 0;  ///< elements from row to row
  bool dense = false;         ///< x has no gaps
  int group_bits = 0;         ///< 0: no rotation
  float factor = 1.0f;        ///< 1 / √group
  detail::SignVector signs;
  detail::BlockScaling scaling;
  std::uint8_t* payload = nullptr;
  std::uint8_t* scales = nullptr;
  std::int64_t swizzled_columns = 0;  ///< padded scale columns, 0: scales in rows
  bool stochastic = false;
  detail::RoundingBits random;
  GlobalScaleSource global_source = GlobalScaleSource::given;
  float given_scale = 1.0f;
  float* global_scale = nullptr;
  std::uint32_t* amax_bits = nullptr;  ///< raised by the amax kernel, or where asked by the other one
  bool finds_amax = false;
};

}  // namespace papillon::cuda
