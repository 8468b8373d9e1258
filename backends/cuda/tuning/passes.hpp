// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/schedule.hpp"

namespace papillon::cuda {

/// Bits of a pass over columns at most, for kernels/columns.cuh.
inline constexpr int most_column_bits = 12;

/// Bits of the first pass over contiguous rows of a long transform, unless longer rows spare a pass.
constexpr int first_row_bits(ScalarType scalar, int k) {
  // 16-bit rows that leave their sums in float have a kernel for this length alone. Others are fast up to
  // 2^14; columns are fastest up to 2^8.
  const bool narrow = size_of(scalar) < detail::compute_bytes_of(scalar);
  return narrow || k <= 13 + 8 ? 13 : 14;
}

/// How an axis of m * 2^k points is cut into passes when no kernel takes it in one: contiguous rows of
/// 2^row_bits first, if inner is 1, then columns, then the order-m factor on its own. Pure. The lengths are
/// those at which the kernels are fast on an NVIDIA H200.
constexpr Schedule pass_schedule(ScalarType scalar, std::int64_t m, int k, std::int64_t outer,
                                 std::int64_t inner, int row_bits) {
  Schedule schedule{
      Architecture::device, scalar, m, k, outer, inner, {}, 0, "NVIDIA H200, 132 multiprocessors"};
  const std::size_t value = detail::compute_bytes_of(scalar);
  const auto add = [&](int first_bit, int bits, bool base) {
    PassSchedule& pass = schedule.passes[static_cast<std::size_t>(schedule.pass_count)];
    ++schedule.pass_count;
    pass.first_bit = first_bit;
    pass.bits = bits;
    pass.base_factor = base;
    pass.length = base ? m << bits : std::int64_t{1} << bits;
    pass.columns = inner == 1 && first_bit == 0 ? 1 : 8;
    pass.tile_bytes = static_cast<std::size_t>(pass.length * pass.columns) * value;
    if (bits > 0) {
      pass.groups[0] = {Level::shared, first_bit, bits};
      pass.group_count = 1;
    }
  };
  int bit = 0;
  if (inner == 1 && k > 0) {
    bit = k < row_bits ? k : row_bits;
    add(0, bit, false);
  }
  const int left = k - bit;
  const int parts = (left + most_column_bits - 1) / most_column_bits;
  for (int part = 0; part < parts; ++part) {
    const int bits = (left * (part + 1)) / parts - (left * part) / parts;
    add(bit, bits, false);
    bit += bits;
  }
  if (m > 1) add(k, 0, true);
  return schedule;
}

}  // namespace papillon::cuda
