// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "papillon/core/construction/families.hpp"

namespace papillon::detail {
namespace {

std::int8_t sign_of(char symbol) { return symbol == '+' ? 1 : -1; }

const FourSequences* find_length(std::span<const FourSequences> table, std::int64_t length) {
  const auto found = std::ranges::find(table, length, &FourSequences::length);
  return found == table.end() ? nullptr : &*found;
}

const FourSequences* turyn_base(std::int64_t t) { return find_length(turyn_table(), (t + 1) / 2); }
const FourSequences* turyn_type(std::int64_t t) {
  return (t + 1) % 3 == 0 ? find_length(turyn_type_table(), (t + 1) / 3) : nullptr;
}
const FourSequences* turyn_interleaved(std::int64_t t) {
  return (t + 1) % 4 == 0 ? find_length(turyn_table(), (t + 1) / 4) : nullptr;
}

/// Writes (a + b) / 2 and (a - b) / 2 into two rows, from `offset` on.
void add_half_sums(std::string_view a, std::string_view b, std::size_t offset, std::vector<std::int8_t>& sum,
                   std::vector<std::int8_t>& difference) {
  for (std::size_t i = 0; i < a.size(); ++i) (a[i] == b[i] ? sum : difference)[offset + i] = sign_of(a[i]);
}

/// Writes a sequence into every `stride`-th place from `offset` on.
void place(std::string_view sequence, std::size_t offset, std::size_t stride, std::vector<std::int8_t>& row) {
  for (std::size_t i = 0; i < sequence.size(); ++i) row[offset + stride * i] = sign_of(sequence[i]);
}

}  // namespace

FourRows williamson_rows(const WilliamsonRows& entry) {
  FourRows rows;
  for (std::size_t r = 0; r < 4; ++r) {
    const std::string_view half = entry.half_rows[r];
    for (const char symbol : half) rows[r].push_back(sign_of(symbol));
    for (std::size_t i = half.size() - 1; i > 0; --i) rows[r].push_back(sign_of(half[i]));
  }
  return rows;
}

FourRows difference_set_rows(const DifferenceSets& entry) {
  const std::int64_t v = entry.modulus;
  FourRows rows;
  for (std::size_t r = 0; r < 4; ++r) {
    rows[r].assign(static_cast<std::size_t>(v), 1);
    for (const std::int64_t representative : entry.representatives[r]) {
      std::int64_t power = 1;
      do {
        rows[r][static_cast<std::size_t>((representative * power % v + v) % v)] = -1;
        power = power * entry.generator % v;
      } while (power != 1);
    }
  }
  return rows;
}

SequenceSource t_sequence_source(std::int64_t t) {
  if (t % 2 == 0) return SequenceSource::none;
  if (turyn_base(t)) return SequenceSource::turyn_base;
  if (turyn_type(t)) return SequenceSource::turyn_type;
  if (turyn_interleaved(t)) return SequenceSource::turyn_interleaved;
  return SequenceSource::none;
}

FourRows t_sequences(std::int64_t t) {
  FourRows rows;
  rows.fill(std::vector<std::int8_t>(static_cast<std::size_t>(t), 0));
  switch (t_sequence_source(t)) {
    case SequenceSource::turyn_base: {  // X, Y of length l, then Z, W of length l - 1; t = 2l - 1
      const auto& [l, s] = *turyn_base(t);
      add_half_sums(s[0], s[1], 0, rows[0], rows[1]);
      add_half_sums(s[2], s[3], static_cast<std::size_t>(l), rows[2], rows[3]);
      break;
    }
    case SequenceSource::turyn_type: {  // Z, then W, then X and Y; t = n + (n - 1) + n
      const auto& [n, s] = *turyn_type(t);
      place(s[2], 0, 1, rows[0]);
      place(s[3], static_cast<std::size_t>(n), 1, rows[1]);
      add_half_sums(s[0], s[1], static_cast<std::size_t>(2 * n - 1), rows[2], rows[3]);
      break;
    }
    case SequenceSource::turyn_interleaved: {  // X and Z alternating, then Y and W alternating, then 1; t =
                                               // 4l - 1
      const auto& [l, s] = *turyn_interleaved(t);
      const auto second = static_cast<std::size_t>(2 * l - 1);
      place(s[0], 0, 2, rows[0]);
      place(s[2], 1, 2, rows[0]);
      place(s[1], second, 2, rows[1]);
      place(s[3], second + 1, 2, rows[2]);
      rows[3].back() = 1;
      break;
    }
    case SequenceSource::none:
      break;
  }
  return rows;
}

FourRows combine(const FourRows& t_rows, const FourRows& williamson) {
  // Row r is the sum over k of sign(r, k) X_k ⊗ (the source(r, k)-th of A, B, C, D): the quaternion pattern
  // that makes all cross terms of the four autocorrelations cancel.
  static constexpr int source[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  static constexpr int sign[4][4] = {{1, 1, 1, 1}, {-1, 1, 1, -1}, {-1, -1, 1, 1}, {-1, 1, -1, 1}};
  FourRows rows;
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t s = 0; s < t_rows[0].size(); ++s)
      for (std::size_t u = 0; u < williamson[0].size(); ++u) {
        int entry = 0;
        for (std::size_t k = 0; k < 4; ++k)
          entry += sign[r][k] * t_rows[k][s] * williamson[static_cast<std::size_t>(source[r][k])][u];
        rows[r].push_back(static_cast<std::int8_t>(entry));
      }
  return rows;
}

}  // namespace papillon::detail
