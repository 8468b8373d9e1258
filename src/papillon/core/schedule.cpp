// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/schedule.hpp"

#include <sstream>

namespace papillon {

std::string check_schedule(const Schedule& schedule) {
  std::ostringstream wrong;
  const std::size_t compute = detail::compute_bytes_of(schedule.scalar);
  const ScheduleLimits limits = schedule_limits(schedule.architecture, compute);
  int bit = 0;
  int base_factors = 0;
  for (int p = 0; p < schedule.pass_count; ++p) {
    const PassSchedule& pass = schedule.passes[static_cast<std::size_t>(p)];
    if (base_factors > 0) wrong << "pass " << p << " comes after the order-m factor; ";
    if (pass.first_bit != bit)
      wrong << "pass " << p << " starts at bit " << pass.first_bit << ", not " << bit << "; ";
    int group_bit = pass.first_bit;
    for (int g = 0; g < pass.group_count; ++g) {
      const BitGroup& group = pass.groups[static_cast<std::size_t>(g)];
      if (group.first_bit != group_bit || group.bits <= 0) {
        wrong << "pass " << p << " group " << g << " starts at bit " << group.first_bit << " with "
              << group.bits << " bits, not at " << group_bit << "; ";
      }
      if (group.level == Level::memory) wrong << "pass " << p << " transforms in memory; ";
      group_bit += group.bits;
    }
    if (group_bit != pass.first_bit + pass.bits) {
      wrong << "pass " << p << " has groups up to bit " << group_bit << ", not " << pass.first_bit + pass.bits
            << "; ";
    }
    const std::int64_t length = (std::int64_t{1} << pass.bits) * (pass.base_factor ? schedule.m : 1);
    if (pass.length != length)
      wrong << "pass " << p << " has length " << pass.length << ", not " << length << "; ";
    if (pass.columns < 1) wrong << "pass " << p << " has " << pass.columns << " columns; ";
    if (pass.tile_bytes != static_cast<std::size_t>(pass.length * pass.columns) * compute) {
      wrong << "pass " << p << " states " << pass.tile_bytes << " tile bytes; ";
    }
    const std::size_t most = pass.columns == 1 ? limits.row_bytes : limits.tile_bytes;
    if (pass.tile_bytes > most && !(pass.base_factor && pass.bits == 0)) {
      wrong << "pass " << p << " needs a tile of " << pass.tile_bytes << " bytes of at most " << most << "; ";
    }
    if (pass.bits == 0 && !pass.base_factor && schedule.n() > 1) wrong << "pass " << p << " does nothing; ";
    base_factors += pass.base_factor ? 1 : 0;
    bit += pass.bits;
  }
  if (bit != schedule.log2_power) wrong << bit << " of " << schedule.log2_power << " bits are covered; ";
  if (base_factors != (schedule.m > 1 ? 1 : 0))
    wrong << "the order-m factor is applied " << base_factors << " times; ";
  return wrong.str();
}

std::string describe(const Schedule& schedule) {
  std::ostringstream text;
  text << "n = " << schedule.n() << " = " << schedule.m << " * 2^" << schedule.log2_power << ", "
       << name_of(schedule.scalar) << ", outer " << schedule.outer << ", inner " << schedule.inner << ", on "
       << name_of(schedule.architecture) << "\n";
  for (int p = 0; p < schedule.pass_count; ++p) {
    const PassSchedule& pass = schedule.passes[static_cast<std::size_t>(p)];
    text << "pass " << p + 1 << " of " << schedule.pass_count << ": ";
    if (pass.columns == 1) {
      text << "contiguous rows of " << pass.length;
    } else {
      text << "tiles of " << pass.length << " x " << pass.columns << " columns";
    }
    text << ", " << pass.tile_bytes << " bytes\n";
    for (int g = 0; g < pass.group_count; ++g) {
      const BitGroup& group = pass.groups[static_cast<std::size_t>(g)];
      text << "  bits " << group.first_bit << " to " << group.first_bit + group.bits - 1 << " in "
           << name_of(group.level) << "\n";
    }
    if (pass.base_factor) text << "  the order-" << schedule.m << " matrix, sums in increasing index order\n";
  }
  text << "limits measured on: " << schedule.measured_on << "\n";
  return text.str();
}

}  // namespace papillon
