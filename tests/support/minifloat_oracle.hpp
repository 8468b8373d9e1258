// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The element and scale formats of block-scaled tensors by their definition: a code's value from the formula
// of the format, a value's code by looking for the nearest in the table of all values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace papillon_test::oracle {

enum class Element { e2m1, e4m3, e5m2, int8, int4 };
inline constexpr Element all_elements[] = {Element::e2m1, Element::e4m3, Element::e5m2, Element::int8,
                                           Element::int4};

constexpr bool is_integer(Element element) { return element == Element::int8 || element == Element::int4; }
constexpr int bits_of(Element element) {
  return element == Element::e2m1 || element == Element::int4 ? 4 : 8;
}
constexpr unsigned sign_bit(Element element) { return 1u << (bits_of(element) - 1); }
constexpr unsigned code_count(Element element) { return 1u << bits_of(element); }

/// Value of a sign, exponent, fraction format with the given widths, without codes of special meaning.
inline double minifloat_value(unsigned code, int exponent_bits, int fraction_bits, int bias) {
  const auto fraction = static_cast<int>(code & ((1u << fraction_bits) - 1u));
  const auto exponent = static_cast<int>((code >> fraction_bits) & ((1u << exponent_bits) - 1u));
  const bool negative = ((code >> (exponent_bits + fraction_bits)) & 1u) != 0;
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, 1 - bias - fraction_bits)
                               : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return negative ? -magnitude : magnitude;
}

/// The value that a code stands for.
inline double decode(Element element, unsigned code) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (element) {
    case Element::e2m1:
      return minifloat_value(code, 2, 1, 1);
    case Element::e4m3:
      return (code & 0x7fu) == 0x7fu ? nan : minifloat_value(code, 4, 3, 7);
    case Element::e5m2:
      if ((code & 0x7fu) > 0x7cu) return nan;
      if ((code & 0x7fu) == 0x7cu)
        return code == 0x7cu ? std::numeric_limits<double>::infinity()
                             : -std::numeric_limits<double>::infinity();
      return minifloat_value(code, 5, 2, 15);
    case Element::int8:
    case Element::int4: {
      const auto whole = static_cast<double>(code);
      return code >= sign_bit(element) ? whole - static_cast<double>(code_count(element)) : whole;
    }
  }
  return nan;
}

/// The finite non-negative values in ascending order; the code of a value is its place. int8 and int4 are
/// symmetric, so the most negative code is the value of none.
inline const std::vector<double>& magnitudes(Element element) {
  static const auto tables = [] {
    std::vector<std::vector<double>> made;
    for (const Element each : all_elements) {
      made.emplace_back();
      for (unsigned code = 0; code < sign_bit(each); ++code)
        if (std::isfinite(decode(each, code))) made.back().push_back(decode(each, code));
    }
    return made;
  }();
  return tables[static_cast<std::size_t>(element)];
}

inline double largest(Element element) { return magnitudes(element).back(); }

inline unsigned nan_code(Element element) {
  if (is_integer(element)) return 0;
  return element == Element::e2m1 ? 0x7u : 0x7fu;
}

/// The code of ± the magnitude at `place`.
inline unsigned with_sign(Element element, std::size_t place, bool negative) {
  const auto code = static_cast<unsigned>(place);
  if (!negative) return code;
  if (!is_integer(element)) return code | sign_bit(element);
  return (code_count(element) - code) % code_count(element);
}

/// Place of the greatest magnitude that is not above `value` >= 0.
inline std::size_t place_below(Element element, double value) {
  const auto& table = magnitudes(element);
  return static_cast<std::size_t>(std::upper_bound(table.begin(), table.end(), value) - table.begin()) - 1;
}

/// The nearest value's code, ties to the even code. Values past the largest saturate; with `saturate` off
/// (E4M3 and E5M2) those that would round to the next value of an endless grid become NaN or infinity.
inline unsigned encode(Element element, float value, bool saturate = true) {
  if (std::isnan(value)) return nan_code(element);
  const auto& table = magnitudes(element);
  const double magnitude = std::fabs(static_cast<double>(value));
  std::size_t place = place_below(element, magnitude);
  const std::size_t last = table.size() - 1;
  if (place == last) {
    const double step = table[last] - table[last - 1];
    const double tie = table[last] + step / 2;
    if (!saturate && (magnitude > tie || (magnitude == tie && last % 2 != 0))) place = last + 1;
  } else {
    const double below = magnitude - table[place], above = table[place + 1] - magnitude;
    if (above < below || (above == below && place % 2 != 0)) ++place;
  }
  return with_sign(element, place, std::signbit(value));
}

/// Rounds up when 256ths of the way to the next value, cut to a whole number, and `random` (0 … 255) make
/// 256.
inline unsigned encode_stochastic(Element element, float value, unsigned random) {
  if (std::isnan(value)) return nan_code(element);
  const auto& table = magnitudes(element);
  const double magnitude = std::min(std::fabs(static_cast<double>(value)), table.back());
  std::size_t place = place_below(element, magnitude);
  if (place + 1 < table.size()) {
    const double way = (magnitude - table[place]) / (table[place + 1] - table[place]);
    if (std::floor(256 * way) + random >= 256) ++place;
  }
  return with_sign(element, place, std::signbit(value));
}

/// 2^(code - 127), NaN for 0xff.
inline float decode_e8m0(unsigned code) {
  if (code == 0xffu) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127));
}

/// The code of the smallest power of two that is not below `value` >= 0; past the largest: the largest when
/// saturating, else NaN.
inline unsigned encode_e8m0_up(float value, bool saturate = true) {
  if (std::isnan(value)) return 0xffu;
  for (unsigned code = 0; code < 0xffu; ++code)
    if (static_cast<double>(decode_e8m0(code)) >= static_cast<double>(value)) return code;
  return saturate ? 0xfeu : 0xffu;
}

/// The code of the largest power of two that is not above `value` >= 0, of 2^-127 where there is none;
/// infinity is the largest when saturating, else NaN.
inline unsigned encode_e8m0_down(float value, bool saturate = true) {
  if (std::isnan(value)) return 0xffu;
  if (std::isinf(value)) return saturate ? 0xfeu : 0xffu;
  unsigned code = 0;
  while (code < 0xfeu && static_cast<double>(decode_e8m0(code + 1)) <= static_cast<double>(value)) ++code;
  return code;
}

}  // namespace papillon_test::oracle
