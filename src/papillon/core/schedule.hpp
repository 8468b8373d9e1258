// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "papillon/core/scalar.hpp"

namespace papillon {

/// What a schedule is made for.
enum class Architecture {
  cpu,     ///< the vector micro-kernels below the generic layer
  device,  ///< the generic Kokkos team kernel, on any execution space
};

/// Where index bits are transformed, from near to far.
enum class Level {
  registers,  ///< a thread's (vector) registers, lanes included
  near,       ///< the block that one core keeps in its first-level cache
  shared,     ///< the tile of a thread or team: second-level cache, or team scratch
  memory,     ///< between tiles; only a later pass reaches these bits
};

constexpr std::string_view name_of(Architecture architecture) {
  return architecture == Architecture::cpu ? "cpu" : "device";
}

constexpr std::string_view name_of(Level level) {
  switch (level) {
    case Level::registers:
      return "registers";
    case Level::near:
      return "first-level cache";
    case Level::shared:
      return "tile";
    case Level::memory:
      return "memory";
  }
  return "unknown";
}

/// Bits first_bit … first_bit + bits - 1 of the transformed index, transformed at one level.
struct BitGroup {
  Level level = Level::registers;
  int first_bit = 0;
  int bits = 0;

  friend constexpr bool operator==(const BitGroup&, const BitGroup&) = default;
};

/// One pass over the data.
struct PassSchedule {
  static constexpr int max_groups = 3;

  int first_bit = 0;           ///< lowest bit of the power-of-two part that this pass transforms
  int bits = 0;                ///< how many
  bool base_factor = false;    ///< whether the order-m factor is applied, after the bits
  std::int64_t length = 1;     ///< points of the axis that a tile holds: 2^bits, times m with the base factor
  std::int64_t columns = 1;    ///< neighbouring transforms that a tile holds
  std::size_t tile_bytes = 0;  ///< length * columns elements of the compute type
  std::array<BitGroup, max_groups> groups{};
  int group_count = 0;

  friend constexpr bool operator==(const PassSchedule&, const PassSchedule&) = default;
};

/// How H_n = H_m ⊗ H_{2^k}, applied to (outer, n, inner), is split over passes and levels. Returned by
/// `make_schedule`, a pure function; stages run from the lowest bit to the highest and the order-m factor
/// last, so that every schedule gives the same bits.
struct Schedule {
  static constexpr int max_passes = 8;

  Architecture architecture = Architecture::cpu;
  ScalarType scalar = ScalarType::float32;  ///< real
  std::int64_t m = 1;
  int log2_power = 0;  ///< k
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::array<PassSchedule, max_passes> passes{};
  int pass_count = 0;
  std::string_view measured_on;  ///< the hardware behind the limits

  constexpr std::int64_t n() const { return m << log2_power; }
  friend constexpr bool operator==(const Schedule&, const Schedule&) = default;
};

/// The numbers that schedules are cut by, and the hardware that they were measured on.
struct ScheduleLimits {
  int register_bits;             ///< bits of one load-transform-store round in registers
  std::size_t near_bytes;        ///< block kept in the first-level cache
  std::size_t tile_bytes;        ///< a tile of compute elements: what a thread or team may hold
  std::size_t row_bytes;         ///< a tile that is one contiguous row, worked on where it lies
  int round_bits;                ///< bits that a pass over columns does in one round of loads and stores
  std::int64_t minimum_columns;  ///< fewest neighbouring columns worth a strided pass
  std::string_view measured_on;
};

constexpr ScheduleLimits schedule_limits(Architecture architecture, std::size_t compute_bytes) {
  if (architecture == Architecture::cpu) {
    // 16 registers of one 64-byte vector each; a core of the measured machine has 48 KiB of first-level and
    // 1 MiB of second-level cache.
    const int lanes_log2 = compute_bytes == 8 ? 3 : 4;
    return {lanes_log2 + 4,
            std::size_t{16} << 10,
            std::size_t{256} << 10,
            (std::size_t{1} << (compute_bytes == 8 ? 17 : 16)) * compute_bytes,
            3,
            static_cast<std::int64_t>(64 / compute_bytes),
            "AMD EPYC (Zen 5), 2 cores, AVX-512"};
  }
  // A tile of half the 48 KiB that a block may use without asking leaves room for two blocks and more.
  return {0, std::size_t{24} << 10, std::size_t{32} << 10, std::size_t{32} << 10, 1, 8, "not measured"};
}

/// What a block of the data may take that goes through several passes before the next block does, so that the
/// later passes find it in the last-level cache: of the 32 MiB of the measured CPU, which neighbours share,
/// and of the 50 MiB of an H200's second-level cache.
constexpr std::int64_t sweep_bytes(Architecture architecture) {
  return std::int64_t{architecture == Architecture::cpu ? 4 : 32} << 20;
}

namespace detail {

constexpr int floor_log2(std::uint64_t value) {
  int result = 0;
  while (value > 1) {
    value >>= 1;
    ++result;
  }
  return result;
}

/// value * 2^bits, or the largest number if that is larger.
constexpr std::int64_t scaled(std::int64_t value, int bits) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return bits > 62 || value > most >> bits ? most : value << bits;
}

constexpr std::size_t compute_bytes_of(ScalarType real) { return size_of(compute_scalar(real)); }

/// Splits the bits of one pass over the levels that a tile reaches.
constexpr void set_groups(PassSchedule& pass, const ScheduleLimits& limits, std::size_t compute_bytes) {
  pass.group_count = 0;
  int bit = pass.first_bit;
  int left = pass.bits;
  const int near_bits = floor_log2(limits.near_bytes / compute_bytes);
  const auto take = [&](Level level, int most) {
    const int count = left < most ? left : most;
    if (count <= 0) return;
    pass.groups[static_cast<std::size_t>(pass.group_count)] = {level, bit, count};
    ++pass.group_count;
    bit += count;
    left -= count;
  };
  // Columns reach four bits in one round of registers; rows also those of the lanes.
  take(Level::registers, pass.columns == 1 ? limits.register_bits : (limits.register_bits > 0 ? 4 : 0));
  const int used = pass.bits - left;
  take(Level::near,
       near_bits - (pass.columns == 1 ? used : used + floor_log2(static_cast<std::uint64_t>(pass.columns))));
  take(Level::shared, left);
}

}  // namespace detail

/// The schedule for H_m ⊗ H_{2^log2_power} on (outer, m·2^log2_power, inner) with real scalars `scalar`.
/// Pure; throws nothing; see `check_schedule` for what holds of the result.
constexpr Schedule make_schedule(Architecture architecture, ScalarType scalar, std::int64_t m, int log2_power,
                                 std::int64_t outer, std::int64_t inner) {
  using detail::floor_log2;
  const std::size_t compute = detail::compute_bytes_of(scalar);
  const ScheduleLimits limits = schedule_limits(architecture, compute);
  Schedule schedule{architecture, scalar, m, log2_power, outer, inner, {}, 0, limits.measured_on};
  const auto elements = [&](std::size_t bytes) { return static_cast<std::int64_t>(bytes / compute); };

  int bit = 0;
  bool base_left = m > 1;
  do {
    PassSchedule pass;
    pass.first_bit = bit;
    const int left = log2_power > bit ? log2_power - bit : 0;
    const bool rows = bit == 0 && inner == 1;
    // Later passes, and transforms of another axis than the last, work on neighbouring columns.
    const std::int64_t width = rows ? 1 : detail::scaled(inner, bit);
    std::int64_t columns = rows ? 1 : (width < limits.minimum_columns ? width : limits.minimum_columns);
    const std::int64_t capacity = elements(rows ? limits.row_bytes : limits.tile_bytes) / columns;
    if (base_left && (left == 0 || detail::scaled(m, left) <= capacity)) {
      pass.bits = left;
      pass.base_factor = true;
      base_left = false;
    } else {
      const int most = capacity > 1 ? floor_log2(static_cast<std::uint64_t>(capacity)) : 1;
      pass.bits = left < most ? left : most;
      if (left > most) {
        // What this pass leaves to the later ones is a multiple of what they do in a round, shared evenly if
        // two are needed; a row pass takes all it can, since it is the fastest.
        const int round = limits.round_bits;
        const int rest = rows ? left - most : left / 2;
        const int later = (rest + round - 1) / round * round;
        const int taken = left > later ? left - later : most;
        pass.bits = taken < most ? taken : most;
      }
    }
    pass.length = (std::int64_t{1} << pass.bits) * (pass.base_factor ? m : 1);
    // Spend what is left of the tile on more columns.
    if (!rows) {
      while (columns * 2 <= width && pass.length * columns * 2 <= elements(limits.tile_bytes)) columns *= 2;
      if (width < 2 * columns && width > columns && pass.length * width <= elements(limits.tile_bytes))
        columns = width;
    }
    pass.columns = columns;
    pass.tile_bytes = static_cast<std::size_t>(pass.length * columns) * compute;
    detail::set_groups(pass, limits, compute);
    bit += pass.bits;
    schedule.passes[static_cast<std::size_t>(schedule.pass_count)] = pass;
    ++schedule.pass_count;
  } while ((bit < log2_power || base_left) && schedule.pass_count < Schedule::max_passes);
  return schedule;
}

/// Empty when `schedule` covers every bit once, in order, applies the base factor once and last, and keeps
/// each tile within the architecture's limit (the order-m factor alone may exceed it); else what is wrong.
std::string check_schedule(const Schedule& schedule);

/// The schedule in words, a line for each pass and level.
std::string describe(const Schedule& schedule);

}  // namespace papillon
