// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules cover each bit once, in order, within their limits; and check_schedule tells one that does not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "papillon/core/schedule.hpp"

namespace {

using papillon::Architecture;
using papillon::Level;
using papillon::PassSchedule;
using papillon::ScalarType;
using papillon::Schedule;

constexpr Architecture architectures[] = {Architecture::cpu, Architecture::device};
constexpr ScalarType reals[] = {ScalarType::float32,  ScalarType::float64, ScalarType::float16,
                                ScalarType::bfloat16, ScalarType::int32,   ScalarType::int64};

std::size_t compute_bytes(ScalarType type) {
  return type == ScalarType::float64 || type == ScalarType::int64 ? 8 : 4;
}

/// What check_schedule promises, asked again in other words: an account of every bit. Empty when all holds.
std::string audit(const Schedule& s) {
  std::vector<int> times(static_cast<std::size_t>(s.log2_power), 0);
  int next = 0, base = 0;
  if (s.pass_count < 1 || s.pass_count > Schedule::max_passes) return "pass count";
  for (int p = 0; p < s.pass_count; ++p) {
    const PassSchedule& pass = s.passes[static_cast<std::size_t>(p)];
    if (pass.first_bit != next) return "the pass starts at another bit";
    next += pass.bits;
    int bit = pass.first_bit;
    for (int g = 0; g < pass.group_count; ++g) {
      const auto& group = pass.groups[static_cast<std::size_t>(g)];
      if (group.first_bit != bit || group.bits <= 0) return "groups do not follow each other";
      if (group.level == Level::memory) return "a group out of reach";
      if (g > 0 && group.level <= pass.groups[static_cast<std::size_t>(g - 1)].level) return "levels go back";
      for (int b = 0; b < group.bits; ++b, ++bit) {
        if (bit >= s.log2_power) return "a bit too many";
        ++times[static_cast<std::size_t>(bit)];
      }
    }
    if (pass.base_factor) {
      ++base;
      if (p != s.pass_count - 1) return "the base factor is not last";
    }
    if (pass.length != (std::int64_t{1} << pass.bits) * (pass.base_factor ? s.m : 1)) return "length";
    if (pass.columns < 1) return "columns";
    if (pass.tile_bytes != static_cast<std::size_t>(pass.length * pass.columns) * compute_bytes(s.scalar))
      return "tile bytes";
    const auto limits = papillon::schedule_limits(s.architecture, compute_bytes(s.scalar));
    const std::size_t most = std::max(limits.tile_bytes, limits.row_bytes);
    const bool base_alone = pass.base_factor && pass.bits == 0;
    if (pass.tile_bytes > most && !base_alone) return "tile too large";
  }
  if (base != (s.m > 1 ? 1 : 0)) return "base factor count";
  for (const int count : times)
    if (count != 1) return "a bit is not transformed once";
  return "";
}

}  // namespace

TEST_CASE("schedule: every problem's schedule covers its bits once and fits") {
  for (const auto architecture : architectures)
    for (const auto scalar : reals)
      for (const std::int64_t m : {1, 12, 20, 28, 172, 684, 1004, 3428})
        for (int k = 0; k <= 33; ++k)
          for (const std::int64_t inner :
               {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{16}, std::int64_t{65},
                std::int64_t{4096}, std::int64_t{1} << 33}) {
            if (static_cast<double>(m) * static_cast<double>(inner) > std::ldexp(1.0, 61 - k))
              continue;  // no such array
            for (const std::int64_t outer :
                 {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, (std::int64_t{1} << 31) + 1}) {
              const Schedule schedule = papillon::make_schedule(architecture, scalar, m, k, outer, inner);
              INFO(std::string(papillon::name_of(architecture)), " ", std::string(papillon::name_of(scalar)),
                   " m ", m, " k ", k, " inner ", inner, " outer ", outer);
              const std::string complaint = papillon::check_schedule(schedule), own = audit(schedule);
              if (!complaint.empty()) REQUIRE(complaint == "");
              if (!own.empty()) REQUIRE(own == "");
              if (schedule.n() != m << k) REQUIRE(schedule.n() == m << k);
              if (schedule.measured_on.empty()) REQUIRE(!schedule.measured_on.empty());
              if (!(schedule == papillon::make_schedule(architecture, scalar, m, k, outer, inner)))
                REQUIRE(false);
            }
          }
}

TEST_CASE("schedule: long rows pass through memory as often as promised") {
  // At most twice up to 2^24, at most three times up to 2^30.
  for (const auto scalar : reals)
    for (int k = 0; k <= 30; ++k) {
      const auto schedule = papillon::make_schedule(Architecture::cpu, scalar, 1, k, 1, 1);
      INFO(std::string(papillon::name_of(scalar)), " k ", k);
      CHECK(schedule.pass_count <= (k <= 24 ? 2 : 3));
    }
}

TEST_CASE("schedule: sizes beyond 64 bits do no harm") {
  for (const auto architecture : architectures)
    for (const int k : {0, 20, 40, 62})
      for (const std::int64_t inner : {std::int64_t{1} << 40, std::int64_t{1} << 62}) {
        const auto schedule = papillon::make_schedule(architecture, ScalarType::float64, 3428, k, 1, inner);
        CHECK(schedule.pass_count >= 1);
        for (int p = 0; p < schedule.pass_count; ++p)
          CHECK(schedule.passes[static_cast<std::size_t>(p)].columns >= 1);
      }
}

TEST_CASE("schedule: is a constant expression") {
  static_assert(papillon::make_schedule(Architecture::cpu, ScalarType::float32, 1, 10, 1, 1).pass_count == 1);
  static_assert(papillon::make_schedule(Architecture::device, ScalarType::float32, 12, 30, 1, 1).pass_count >
                1);
}

TEST_CASE("schedule: check_schedule detects broken schedules") {
  const std::pair<std::string, std::function<void(Schedule&)>> faults[] = {
      {"no pass", [](Schedule& s) { s.pass_count = 0; }},
      {"the last pass is missing", [](Schedule& s) { --s.pass_count; }},
      {"a bit less in the first pass", [](Schedule& s) { --s.passes[0].bits; }},
      {"a bit more in the first pass", [](Schedule& s) { ++s.passes[0].bits; }},
      {"the first pass twice", [](Schedule& s) { s.passes[1] = s.passes[0]; }},
      {"passes exchanged", [](Schedule& s) { std::swap(s.passes[0], s.passes[1]); }},
      {"the first pass starts at bit 1", [](Schedule& s) { s.passes[0].first_bit = 1; }},
      {"one bit more in the problem", [](Schedule& s) { ++s.log2_power; }},
      {"one bit less in the problem", [](Schedule& s) { --s.log2_power; }},
      {"no base factor",
       [](Schedule& s) { s.passes[static_cast<std::size_t>(s.pass_count - 1)].base_factor = false; }},
      {"the base factor first", [](Schedule& s) { s.passes[0].base_factor = true; }},
      {"a base factor that the problem has not", [](Schedule& s) { s.m = 1; }},
      {"another base order", [](Schedule& s) { s.m = 20; }},
      {"no groups", [](Schedule& s) { s.passes[0].group_count = 0; }},
      {"a group less", [](Schedule& s) { --s.passes[0].group_count; }},
      {"a group of one bit less", [](Schedule& s) { --s.passes[0].groups[0].bits; }},
      {"a group that starts elsewhere", [](Schedule& s) { ++s.passes[0].groups[0].first_bit; }},
      {"a group out of reach", [](Schedule& s) { s.passes[0].groups[0].level = Level::memory; }},
      {"another length", [](Schedule& s) { s.passes[0].length *= 2; }},
      {"no columns", [](Schedule& s) { s.passes[0].columns = 0; }},
      {"other tile bytes", [](Schedule& s) { s.passes[0].tile_bytes += 4; }},
      {"a tile too large",
       [](Schedule& s) {
         s.passes[0].columns *= 1 << 20;
         s.passes[0].tile_bytes *= 1 << 20;
       }},
  };
  for (const auto architecture : architectures)
    for (const auto scalar : {ScalarType::float32, ScalarType::float64}) {
      const Schedule good = papillon::make_schedule(architecture, scalar, 12, 22, 3, 1);
      REQUIRE(good.pass_count >= 2);
      REQUIRE(papillon::check_schedule(good) == "");
      REQUIRE(audit(good) == "");
      for (const auto& [name, break_it] : faults) {
        Schedule broken = good;
        break_it(broken);
        INFO(std::string(papillon::name_of(architecture)), " ", std::string(papillon::name_of(scalar)), ": ",
             name);
        CHECK(papillon::check_schedule(broken) != "");
      }
    }
}

TEST_CASE("schedule: describe names its parts") {
  const auto text =
      papillon::describe(papillon::make_schedule(Architecture::cpu, ScalarType::float16, 12, 22, 3, 1));
  for (const char* part : {"cpu", "float16", "12", "registers", "tile"}) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  }
}
