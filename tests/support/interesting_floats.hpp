// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "papillon/core/half.hpp"
#include "support/minifloat_oracle.hpp"

namespace papillon_test {

/// Finite and other floats on which conversions to short formats go wrong: every bfloat16 and binary16, the
/// values and ties of `element` with their neighbours, powers of two with theirs, the ends of the range, NaNs
/// of both signs and several payloads.
inline std::vector<float> interesting_floats(oracle::Element element) {
  std::vector<float> found;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    found.push_back(papillon::bfloat16::from_bits(static_cast<std::uint16_t>(bits)));
    found.push_back(papillon::half::from_bits(static_cast<std::uint16_t>(bits)));
  }
  const auto around = [&found](double value) {
    const auto center = static_cast<float>(value);
    for (const float sign : {1.0f, -1.0f})
      for (const float each : {std::nextafter(center, -std::numeric_limits<float>::infinity()), center,
                               std::nextafter(center, std::numeric_limits<float>::infinity())})
        found.push_back(sign * each);
  };
  const auto& table = oracle::magnitudes(element);
  for (std::size_t i = 0; i < table.size(); ++i) {
    around(table[i]);
    const double next = i + 1 < table.size() ? table[i + 1] : 2 * table[i] - table[i - 1];
    around((table[i] + next) / 2);
    around(next);
  }
  for (int exponent = -149; exponent < 128; ++exponent) around(std::ldexp(1.0, exponent));
  around(std::numeric_limits<float>::max());
  around(std::numeric_limits<float>::infinity());
  for (const std::uint32_t nan : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0x7fa00000u})
    for (const std::uint32_t sign : {0u, 0x80000000u}) found.push_back(std::bit_cast<float>(nan | sign));
  return found;
}

}  // namespace papillon_test
