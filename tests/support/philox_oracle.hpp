// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>

namespace papillon_test::oracle {

/// Philox4x32-10: counter and key to four words (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
/// as 1, 2, 3, SC 2011).
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xd2511f53u} * counter[0];
    const std::uint64_t odd = std::uint64_t{0xcd9e8d57u} * counter[2];
    const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
    const auto low = [](std::uint64_t product) { return static_cast<std::uint32_t>(product); };
    counter = {high(odd) ^ counter[1] ^ key[0], low(odd), high(even) ^ counter[3] ^ key[1], low(even)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return counter;
}

/// Random byte number `position` of the stream {seed, offset}: sixteen bytes a counter, lowest first.
inline unsigned random_byte(std::uint64_t seed, std::uint64_t offset, std::uint64_t position) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const std::uint64_t group = position / 16;
  const auto words = philox({low(group), high(group), low(offset), high(offset)}, {low(seed), high(seed)});
  return (words[position % 16 / 4] >> (8 * (position % 4))) & 0xffu;
}

}  // namespace papillon_test::oracle
