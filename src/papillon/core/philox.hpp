// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/macros.hpp"

namespace papillon::detail {

/// 128 random bits.
struct RandomWords {
  std::uint32_t word[4];
};

/// The counter-based generator Philox4x32-10: the words that belong to a counter and a key (Salmon, Moraes,
/// Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011).
PAPILLON_FUNCTION constexpr RandomWords philox(RandomWords counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xd2511f53u} * counter.word[0];
    const std::uint64_t p1 = std::uint64_t{0xcd9e8d57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.word[1] ^ k0, static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.word[3] ^ k1, static_cast<std::uint32_t>(p0)}};
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return counter;
}

/// The generator behind stochastic rounding: 16 neighbouring elements of a row, a run of 16 from a multiple
/// of 16 on, share a counter, and each has 8 bits of its words.
struct RoundingBits {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;

  PAPILLON_FUNCTION constexpr RandomWords of_run(std::int64_t run) const {
    return philox({{static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(run >> 32),
                    static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)}},
                  seed);
  }
};

/// The 8 bits of element `index`, 0 … 15, of a run.
PAPILLON_FUNCTION constexpr std::uint32_t random_byte(const RandomWords& words, int index) {
  return words.word[index / 4] >> (8 * (index % 4)) & 0xffu;
}

}  // namespace papillon::detail
