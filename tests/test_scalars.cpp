// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// half and bfloat16 against the compiler's own 16-bit types, or an integer reference where it has none.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string_view>
#include <type_traits>

#include "papillon/core/scalar.hpp"

namespace {

using papillon::bfloat16;
using papillon::half;

/// A 16-bit binary format by its definition: 1 sign bit, `exponent_bits`, the rest fraction.
struct Format {
  int exponent_bits;
  int fraction_bits() const { return 15 - exponent_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  bool is_nan(std::uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
  std::uint16_t infinity() const {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits());
  }

  /// Its value as the definition states it.
  double value(std::uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> fraction_bits(), fraction = bits & ((1 << fraction_bits()) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1)
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias() - fraction_bits());
    return sign * std::ldexp(fraction + (1 << fraction_bits()), exponent - bias() - fraction_bits());
  }

  /// The nearest number, ties to even, by searching: magnitudes ascend with their bits, so the neighbours of
  /// a value are found by bisection and compared by distance. Infinity stands for the next power of two.
  std::uint16_t nearest(float real) const {
    const auto sign = static_cast<std::uint16_t>(std::signbit(real) ? 0x8000 : 0);
    const double magnitude = std::fabs(static_cast<double>(real));
    if (std::isinf(real)) return static_cast<std::uint16_t>(sign | infinity());
    const auto finite = [&](int bits) {
      return bits == infinity() ? std::ldexp(1.0, bias() + 1) : value(static_cast<std::uint16_t>(bits));
    };
    int low = 0, high = infinity();
    if (magnitude >= finite(high)) return static_cast<std::uint16_t>(sign | infinity());
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (finite(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - finite(low), above = finite(high) - magnitude;
    const bool up = above < below || (above == below && low % 2 != 0);
    return static_cast<std::uint16_t>(sign | (up ? high : low));
  }
};

/// Bits of a float around the range of half, where a uniform draw of bits seldom falls.
std::uint32_t near_half(std::mt19937& engine) {
  const auto sign = static_cast<std::uint32_t>(engine() & 0x80000000u);
  return sign | (0x32000000u + static_cast<std::uint32_t>(engine() % 0x16000000u));
}

constexpr Format half_format{5}, bfloat16_format{8};

template <class T>
const Format& format_of() {
  return std::is_same_v<T, half> ? half_format : bfloat16_format;
}

template <class T>
void check_rounding(float real) {
  const Format& format = format_of<T>();
  const std::uint16_t bits = T(real).bits;
  if (std::isnan(real)) {
    // A NaN of the same sign, made quiet.
    REQUIRE(format.is_nan(bits));
    REQUIRE((bits & (1 << (format.fraction_bits() - 1))) != 0);
    REQUIRE(((bits & 0x8000) != 0) == std::signbit(real));
  } else {
    INFO("value ", real);
    REQUIRE(bits == format.nearest(real));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("scalars: all 2^16 values convert to float exactly, and back to themselves", T, half,
                   bfloat16) {
  const Format& format = format_of<T>();
  for (std::uint32_t i = 0; i < 0x10000u; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const T value = T::from_bits(bits);
    REQUIRE(value.bits == bits);
    const float real = value;
    if (format.is_nan(bits)) {
      REQUIRE(std::isnan(real));
      REQUIRE(std::signbit(real) == ((bits & 0x8000) != 0));
      const auto quiet = static_cast<std::uint16_t>(bits | (1 << (format.fraction_bits() - 1)));
      REQUIRE(T(real).bits == quiet);
    } else {
      REQUIRE(std::bit_cast<std::uint64_t>(static_cast<double>(real)) ==
              std::bit_cast<std::uint64_t>(format.value(bits)));
      REQUIRE(T(real).bits == bits);
    }
  }
}

TEST_CASE_TEMPLATE("scalars: ties between all neighbours go to even, and one unit beside them do not", T,
                   half, bfloat16) {
  const Format& format = format_of<T>();
  for (int low = 0; low < format.infinity(); ++low)
    for (const int sign : {0, 0x8000}) {
      const auto bits = [&](int magnitude) { return static_cast<std::uint16_t>(magnitude | sign); };
      const double a = format.value(bits(low));
      const double b = low + 1 == format.infinity()
                           ? std::copysign(std::ldexp(1.0, format.bias() + 1), sign == 0 ? 1.0 : -1.0)
                           : format.value(bits(low + 1));
      const double middle = a + (b - a) / 2;
      const auto tie = static_cast<float>(middle);
      REQUIRE(static_cast<double>(tie) == middle);  // the test's own arithmetic is exact
      REQUIRE(T(tie).bits == bits(low % 2 == 0 ? low : low + 1));
      REQUIRE(T(std::nextafter(tie, 0.0f)).bits == bits(low));
      REQUIRE(T(std::nextafter(tie, std::copysign(std::numeric_limits<float>::infinity(), tie))).bits ==
              bits(low + 1));
    }
}

TEST_CASE_TEMPLATE("scalars: random and special floats round as the definition says", T, half, bfloat16) {
  std::mt19937 engine(3);
  for (int i = 0; i < 400000; ++i)
    check_rounding<T>(std::bit_cast<float>(static_cast<std::uint32_t>(engine())));
  for (int i = 0; i < 400000; ++i) check_rounding<T>(std::bit_cast<float>(near_half(engine)));
  for (const float real : {0.0f,
                           -0.0f,
                           65504.0f,
                           65519.0f,
                           65519.996f,
                           65520.0f,
                           65536.0f,
                           0x1p-14f,
                           0x1.ffcp-15f,
                           0x1p-24f,
                           0x1p-25f,
                           0x1.000002p-25f,
                           0x1.8p-24f,
                           0x1p-126f,
                           0x1p-133f,
                           0x1p-134f,
                           0x1.000002p-134f,
                           0x1p-149f,
                           0x1.fffffep127f,
                           0x1.fep127f,
                           0x1.fefffep127f,
                           0x1.ffp127f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::signaling_NaN()}) {
    check_rounding<T>(real);
    check_rounding<T>(-real);
  }
  // NaNs whose payload lies in the bits that are cut off.
  for (const std::uint32_t bits :
       {0x7f800001u, 0x7f801fffu, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu})
    check_rounding<T>(std::bit_cast<float>(bits));
}

#ifdef __FLT16_MAX__
TEST_CASE("scalars: half agrees with the compiler's _Float16") {
  __extension__ using Native = _Float16;
  std::mt19937 engine(5);
  for (std::uint32_t i = 0; i < 0x10000u; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto native = static_cast<float>(std::bit_cast<Native>(bits));
    const float own = half::from_bits(bits);
    REQUIRE((std::bit_cast<std::uint32_t>(own) == std::bit_cast<std::uint32_t>(native) ||
             (own != own && native != native)));
  }
  for (int i = 0; i < 400000; ++i) {
    const auto real = std::bit_cast<float>(near_half(engine));
    REQUIRE(half(real).bits == std::bit_cast<std::uint16_t>(static_cast<Native>(real)));
  }
}
#endif

#ifdef __STDCPP_BFLOAT16_T__
#define PAPILLON_TEST_BFLOAT16 std::bfloat16_t
#elif defined(__BFLT16_MAX__)
#define PAPILLON_TEST_BFLOAT16 __bf16
#endif
#ifdef PAPILLON_TEST_BFLOAT16
TEST_CASE("scalars: bfloat16 agrees with the compiler's type") {
  using Native = PAPILLON_TEST_BFLOAT16;
  std::mt19937 engine(7);
  for (int i = 0; i < 400000; ++i) {
    const auto real = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (real != real) continue;
    INFO("value ", real);
    REQUIRE(bfloat16(real).bits == std::bit_cast<std::uint16_t>(static_cast<Native>(real)));
  }
}
#endif

TEST_CASE("scalars: conversions are constant expressions") {
  static_assert(half(1.0f).bits == 0x3c00 && half(65504.0f).bits == 0x7bff && half(0x1p-24f).bits == 0x0001);
  static_assert(bfloat16(1.0f).bits == 0x3f80 && bfloat16(-2.0f).bits == 0xc000);
  static_assert(static_cast<float>(half::from_bits(0x3555)) == 0.333251953125f);
  static_assert(static_cast<float>(bfloat16::from_bits(0x3eab)) == 0.333984375f);
  static_assert(std::is_trivially_copyable_v<half> && std::is_trivially_copyable_v<bfloat16>);
  static_assert(!std::is_convertible_v<float, half> && !std::is_convertible_v<float, bfloat16>);
}

TEST_CASE("scalars: every type has its size, its name and its parts") {
  using papillon::ScalarType;
  std::set<std::string_view> names;
  for (const ScalarType type : papillon::all_scalar_types) names.insert(papillon::name_of(type));
  CHECK(names == std::set<std::string_view>{"float32", "float64", "float16", "bfloat16", "int32", "int64",
                                            "complex64", "complex128"});
  const auto check = []<class T>(T, ScalarType type, std::string_view name, ScalarType real) {
    CHECK(papillon::scalar_type_of<T> == type);
    CHECK(papillon::size_of(type) == sizeof(T));
    CHECK(papillon::name_of(type) == name);
    CHECK(papillon::real_of(type) == real);
    CHECK(papillon::is_complex(type) == (real != type));
    CHECK(papillon::is_integer(type) == std::is_integral_v<T>);
  };
  check(float{}, ScalarType::float32, "float32", ScalarType::float32);
  check(double{}, ScalarType::float64, "float64", ScalarType::float64);
  check(half{}, ScalarType::float16, "float16", ScalarType::float16);
  check(bfloat16{}, ScalarType::bfloat16, "bfloat16", ScalarType::bfloat16);
  check(std::int32_t{}, ScalarType::int32, "int32", ScalarType::int32);
  check(std::int64_t{}, ScalarType::int64, "int64", ScalarType::int64);
  check(0LL, ScalarType::int64, "int64", ScalarType::int64);
  check(std::complex<float>{}, ScalarType::complex64, "complex64", ScalarType::float32);
  check(std::complex<double>{}, ScalarType::complex128, "complex128", ScalarType::float64);
  static_assert(std::is_same_v<papillon::compute_type<half>, float> &&
                std::is_same_v<papillon::compute_type<bfloat16>, float>);
  static_assert(std::is_same_v<papillon::compute_type<double>, double> &&
                std::is_same_v<papillon::compute_type<std::int32_t>, std::int32_t>);
  static_assert(!papillon::Scalar<char> && !papillon::Scalar<unsigned> && !papillon::Scalar<bool> &&
                !papillon::Scalar<long double>);
}
