// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/schedule.hpp"

namespace papillon::cuda {

/// Bits of a pass over columns at most, for kernels/columns.cuh.
inline constexpr int most_column_bits = 12;

/// Bits of the first pass over contiguous rows at most, and the most that a block has without a cluster.
inline constexpr int longest_cluster_rows = 18;
inline constexpr int longest_block_rows = 14;

/// The time of a pass over columns of 2^bits points far apart, in copies of the same bytes, for 4-byte
/// values.
constexpr double column_time(int bits) {
  constexpr double times[most_column_bits + 1] = {1.0,  1.04, 1.04, 1.04, 1.04, 1.04, 1.04,
                                                  1.04, 1.05, 1.09, 1.13, 1.20, 1.27};
  return times[bits];
}

/// The same for a pass over contiguous rows.
constexpr double row_time(int bits) {
  constexpr double cluster_times[] = {1.07, 1.22, 1.28};  // 2^16 to 2^18
  return bits <= longest_block_rows ? 1.02 : bits == 15 ? 1.03 : cluster_times[bits - 16];
}

/// How an axis of 2^k points is cut: rows of 2^row_bits first, then `parts` passes over columns.
struct PassCut {
  int row_bits = 0;
  int parts = 0;

  constexpr int first_bit(int part, int k) const { return row_bits + (k - row_bits) * part / parts; }
  constexpr double time(int k) const {
    double sum = row_bits > 0 ? row_time(row_bits) : 0.0;
    for (int part = 0; part < parts; ++part) sum += column_time(first_bit(part + 1, k) - first_bit(part, k));
    return sum;
  }
};

/// The fewest passes over columns after rows of 2^row_bits, or one more where that is faster. Pure.
constexpr PassCut cut_after_rows(int k, int row_bits) {
  const PassCut fewest{row_bits, (k - row_bits + most_column_bits - 1) / most_column_bits};
  const PassCut more{row_bits, fewest.parts + 1};
  return fewest.parts > 0 && k - row_bits >= more.parts && more.time(k) < fewest.time(k) ? more : fewest;
}

/// The passes of an axis of m * 2^k points when no kernel takes it in one: those of the cut, then the order-m
/// factor on its own. Pure. The lengths are those at which the kernels are fast on an NVIDIA H200.
constexpr Schedule pass_schedule(ScalarType scalar, std::int64_t m, int k, std::int64_t outer,
                                 std::int64_t inner, const PassCut& cut) {
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
  if (cut.row_bits > 0) add(0, cut.row_bits, false);
  for (int part = 0; part < cut.parts; ++part) {
    const int first = cut.first_bit(part, k);
    add(first, cut.first_bit(part + 1, k) - first, false);
  }
  if (m > 1) add(k, 0, true);
  return schedule;
}

}  // namespace papillon::cuda
