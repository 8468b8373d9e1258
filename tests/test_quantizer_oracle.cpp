// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The oracle of the quantiser against what others publish: the host functions of CUDA's headers, the vectors
// of Random123, tables written out by hand, a second form of the swizzled layout.
#include <doctest/doctest.h>

#ifdef PAPILLON_TESTS_CUDA_FORMATS
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/interesting_floats.hpp"
#include "support/quantizer_oracle.hpp"

namespace {

using namespace papillon_test;
using oracle::Element;
using oracle::Scaling;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Compares `expected(value)` with the oracle's code for every interesting float; names the first difference.
template <class Expected, class Actual>
void compare_codes(const std::vector<float>& values, const Expected& expected, const Actual& actual) {
  std::size_t different = 0;
  for (const float value : values) {
    const unsigned want = expected(value), got = actual(value);
    if (want == got || different++ > 0) continue;
    CAPTURE(value);
    CAPTURE(std::bit_cast<std::uint32_t>(value));
    CHECK(got == want);
  }
  CHECK(different == 0);
}

/// `array` of shape `shape` in the order of its axes given by `order`, row-major before and after.
std::vector<int> permute(const std::vector<int>& array, const std::vector<std::size_t>& shape,
                         const std::vector<std::size_t>& order) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * shape[d];
  std::vector<int> result;
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::size_t rest = i, from = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += rest % shape[order[d]] * strides[order[d]];
      rest /= shape[order[d]];
    }
    result.push_back(array[from]);
  }
  return result;
}

oracle::Parameters nvfp4(Scaling scaling = Scaling::nvfp4_divide) {
  oracle::Parameters p;
  p.scaling = scaling;
  return p;
}

}  // namespace

#ifdef PAPILLON_TESTS_CUDA_FORMATS

TEST_CASE("quantizer oracle: element codes are those of CUDA's host functions") {
  compare_codes(
      interesting_floats(Element::e2m1),
      [](float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); },
      [](float x) { return oracle::encode(Element::e2m1, x); });
  for (const bool saturate : {true, false}) {
    CAPTURE(saturate);
    const auto mode = saturate ? __NV_SATFINITE : __NV_NOSAT;
    compare_codes(
        interesting_floats(Element::e4m3), [&](float x) { return __nv_cvt_float_to_fp8(x, mode, __NV_E4M3); },
        [&](float x) { return oracle::encode(Element::e4m3, x, saturate); });
    compare_codes(
        interesting_floats(Element::e5m2), [&](float x) { return __nv_cvt_float_to_fp8(x, mode, __NV_E5M2); },
        [&](float x) { return oracle::encode(Element::e5m2, x, saturate); });
  }
}

TEST_CASE("quantizer oracle: E8M0 codes are those of CUDA's host functions") {
  auto values = interesting_floats(Element::e4m3);
  std::erase_if(values, [](float x) { return std::signbit(x) && !std::isnan(x); });  // scales have no sign
  for (const bool saturate : {true, false}) {
    CAPTURE(saturate);
    const auto mode = saturate ? __NV_SATFINITE : __NV_NOSAT;
    compare_codes(
        values, [&](float x) { return __nv_cvt_float_to_e8m0(x, mode, cudaRoundPosInf); },
        [&](float x) { return oracle::encode_e8m0_up(x, saturate); });
    compare_codes(
        values, [&](float x) { return __nv_cvt_float_to_e8m0(x, mode, cudaRoundZero); },
        [&](float x) { return oracle::encode_e8m0_down(x, saturate); });
  }
}

TEST_CASE("quantizer oracle: every code means what it means to CUDA's host functions") {
  const auto as_float = [](__half_raw raw) { return static_cast<float>(papillon::half::from_bits(raw.x)); };
  const auto check = [](float got, float want) {
    CHECK((std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(want) ||
           (std::isnan(got) && std::isnan(want))));
  };
  for (unsigned code = 0; code < 256; ++code) {
    CAPTURE(code);
    const auto byte = static_cast<std::uint8_t>(code);
    check(static_cast<float>(oracle::decode(Element::e4m3, code)),
          as_float(__nv_cvt_fp8_to_halfraw(byte, __NV_E4M3)));
    check(static_cast<float>(oracle::decode(Element::e5m2, code)),
          as_float(__nv_cvt_fp8_to_halfraw(byte, __NV_E5M2)));
    const auto power = __nv_cvt_e8m0_to_bf16raw(byte);
    check(oracle::decode_e8m0(code), static_cast<float>(papillon::bfloat16::from_bits(power.x)));
    if (code < 16)
      check(static_cast<float>(oracle::decode(Element::e2m1, code)),
            as_float(__nv_cvt_fp4_to_halfraw(byte, __NV_E2M1)));
  }
}

#endif

TEST_CASE("quantizer oracle: tables of values") {
  CHECK(oracle::magnitudes(Element::e2m1) == std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6});
  CHECK(oracle::magnitudes(Element::int4) == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(oracle::magnitudes(Element::e4m3).size() == 127);
  CHECK(oracle::magnitudes(Element::e4m3)[1] == 0x1p-9);
  CHECK(oracle::largest(Element::e4m3) == 448);
  CHECK(oracle::magnitudes(Element::e5m2).size() == 124);
  CHECK(oracle::magnitudes(Element::e5m2)[1] == 0x1p-16);
  CHECK(oracle::largest(Element::e5m2) == 57344);
  CHECK(oracle::largest(Element::int8) == 127);
  CHECK(oracle::decode(Element::int8, 0x81) == -127);
  CHECK(oracle::decode(Element::int4, 0x9) == -7);
  CHECK(oracle::decode(Element::e2m1, 0xf) == -6);
  CHECK(std::signbit(oracle::decode(Element::e2m1, 0x8)));
  CHECK(oracle::decode(Element::e5m2, 0xfc) == -static_cast<double>(infinity));
  CHECK(std::isnan(oracle::decode(Element::e4m3, 0xff)));
  CHECK(oracle::decode_e8m0(0) == 0x1p-127f);
  CHECK(oracle::decode_e8m0(0xfe) == 0x1p127f);
  CHECK(std::isnan(oracle::decode_e8m0(0xff)));
  for (const Element element : oracle::all_elements)
    for (unsigned code = 0; code < oracle::code_count(element); ++code) {
      const double value = oracle::decode(element, code);
      const bool has_code = !std::isnan(value) && std::fabs(value) <= oracle::largest(element);
      if (!has_code) continue;  // NaN, infinity, -8, -128
      CAPTURE(code);
      CHECK(oracle::encode(element, static_cast<float>(value)) == code);
      for (const unsigned random : {0u, 255u})
        CHECK(oracle::encode_stochastic(element, static_cast<float>(value), random) == code);
    }
}

TEST_CASE("quantizer oracle: ties, signs and edges") {
  const auto e2m1 = [](float x) { return oracle::encode(Element::e2m1, x); };
  const std::vector<std::pair<float, double>> ties = {{0.25f, 0}, {0.75f, 1}, {1.25f, 1}, {1.75f, 2},
                                                      {2.5f, 2},  {3.5f, 4},  {5.0f, 4}};
  for (const auto& [x, value] : ties) {
    CAPTURE(x);
    CHECK(oracle::decode(Element::e2m1, e2m1(x)) == value);
    CHECK(oracle::decode(Element::e2m1, e2m1(-x)) == -value);
    CHECK(oracle::decode(Element::e2m1, e2m1(std::nextafter(x, 0.0f))) <= value);
    CHECK(oracle::decode(Element::e2m1, e2m1(std::nextafter(x, 9.0f))) >= value);
  }
  CHECK(e2m1(-0.0f) == 0x8);
  CHECK(e2m1(-0.25f) == 0x8);
  CHECK(e2m1(infinity) == 0x7);
  CHECK(e2m1(-infinity) == 0xf);
  CHECK(e2m1(-not_a_number) == 0x7);
  CHECK(oracle::encode(Element::e4m3, 464.0f, false) == 0x7e);
  CHECK(oracle::encode(Element::e4m3, 465.0f, false) == 0x7f);
  CHECK(oracle::encode(Element::e4m3, 1e30f) == 0x7e);
  CHECK(oracle::encode(Element::e4m3, 0x1p-10f) == 0);
  CHECK(oracle::encode(Element::e4m3, 7.9839f) == oracle::encode(Element::e4m3, 8.0f));
  CHECK(oracle::encode(Element::e4m3, 31.8698f) == oracle::encode(Element::e4m3, 32.0f));
  CHECK(oracle::encode(Element::e5m2, 61439.0f, false) == 0x7b);
  CHECK(oracle::encode(Element::e5m2, 61440.0f, false) == 0x7c);
  CHECK(oracle::encode(Element::e5m2, -infinity) == 0xfb);
  CHECK(oracle::encode(Element::int8, 2.5f) == 2);
  CHECK(oracle::encode(Element::int8, -3.5f) == 0xfc);
  CHECK(oracle::encode(Element::int8, -0.5f) == 0);
  CHECK(oracle::encode(Element::int8, -1e9f) == 0x81);
  CHECK(oracle::encode(Element::int4, -infinity) == 0x9);
  CHECK(oracle::encode(Element::int4, not_a_number) == 0);
  CHECK(oracle::encode_e8m0_up(0.0f) == 0);
  CHECK(oracle::encode_e8m0_up(std::nextafter(1.0f, 2.0f)) == 128);
  CHECK(oracle::encode_e8m0_up(infinity) == 0xfe);
}

TEST_CASE("quantizer oracle: stochastic rounding goes up with the fraction's probability") {
  for (const Element element : oracle::all_elements) {
    const auto& table = oracle::magnitudes(element);
    for (std::size_t place = 0; place + 1 < table.size(); ++place)
      for (const int eighths : {0, 1, 4, 7}) {
        const double value = table[place] + (table[place + 1] - table[place]) * eighths / 8;
        int up = 0;
        for (unsigned random = 0; random < 256; ++random)
          up += oracle::encode_stochastic(element, static_cast<float>(-value), random) ==
                oracle::with_sign(element, place + 1, true);
        CHECK(up == 32 * eighths);
      }
    CHECK(oracle::encode_stochastic(element, -infinity, 255) == oracle::encode(element, -infinity));
    CHECK(oracle::encode_stochastic(element, not_a_number, 255) == oracle::nan_code(element));
    CHECK(oracle::encode_stochastic(element, 1e-44f, 255) == 0);  // less than 1/256 of the step
  }
  CHECK(oracle::encode_stochastic(Element::e2m1, -0.0f, 255) == 0x8);
}

TEST_CASE("quantizer oracle: Philox gives Random123's known answers") {
  using Words = std::array<std::uint32_t, 4>;
  CHECK(oracle::philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(oracle::philox({ones, ones, ones, ones}, {ones, ones}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  const Words pi = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  const Words answer = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CHECK(oracle::philox(pi, {0xa4093822, 0x299f31d0}) == answer);
  const std::uint64_t seed = 0x299f31d0a4093822, offset = 0x0370734413198a2e, group = 0x85a308d3243f6a88;
  // Positions are 64 bits wide: this group, times sixteen, passes them and wraps; take the upper word away.
  const auto words = oracle::philox({pi[0], 0x05a308d3, pi[2], pi[3]}, {0xa4093822, 0x299f31d0});
  const std::uint64_t position = (group & 0x0fffffffffffffff) * 16;
  for (unsigned i = 0; i < 16; ++i)
    CHECK(oracle::random_byte(seed, offset, position + i) == ((words[i / 4] >> (8 * (i % 4))) & 0xff));
}

TEST_CASE("quantizer oracle: the swizzled layout is a permutation, that of reshapes and transpositions") {
  for (const std::int64_t rows : {1, 31, 128, 129, 384})
    for (const std::int64_t columns : {1, 3, 4, 5, 33}) {
      CAPTURE(rows);
      CAPTURE(columns);
      const std::int64_t row_tiles = (rows + 127) / 128, column_tiles = (columns + 3) / 4;
      const std::int64_t padded_columns = 4 * column_tiles;
      const std::int64_t bytes = 128 * row_tiles * padded_columns;
      CHECK(oracle::swizzled_bytes(rows, columns) == bytes);
      // The padded scales, row-major, numbered; (rows/128, 4, 32, columns/4, 4) with the axes moved about.
      std::vector<int> numbers(static_cast<std::size_t>(bytes));
      std::iota(numbers.begin(), numbers.end(), 0);
      const auto tiles = permute(
          numbers, {static_cast<std::size_t>(row_tiles), 4, 32, static_cast<std::size_t>(column_tiles), 4},
          {0, 3, 2, 1, 4});
      std::vector<int> visits(numbers.size(), 0);
      bool same = true;
      for (std::int64_t r = 0; r < 128 * row_tiles; ++r)
        for (std::int64_t c = 0; c < padded_columns; ++c) {
          const auto at = static_cast<std::size_t>(oracle::swizzled_offset(r, c, columns));
          ++visits.at(at);
          same = same && tiles[at] == static_cast<int>(r * padded_columns + c);
        }
      CHECK(same);
      CHECK(visits == std::vector<int>(visits.size(), 1));
    }
}

TEST_CASE("quantizer oracle: whole tensors worked out by hand") {
  // Two blocks, the second short: amax 12 and 3, the tensor's scale 12 / 2688 = 2^-7 * 4/7.
  std::vector<float> y(20, 0.0f);
  y[0] = 12, y[1] = -6, y[2] = 1, y[16] = 3, y[19] = -0.5f;
  const auto q = oracle::quantize(y, 1, 20, nvfp4());
  CHECK(q.amax == 12);
  CHECK(q.global_scale == 12.0f / 2688.0f);
  // 2 / (12 / 2688) = 448; 0.5 / (12 / 2688) = 112.
  CHECK(q.scales == std::vector<std::uint8_t>{0x7e, 0x6e});
  std::vector<std::uint8_t> payload(16, 0);
  payload[0] = 0xd7;  // 6, -3
  payload[1] = 0x01;  // 0.5
  payload[8] = 0x07;  // 6
  payload[9] = 0xa0;  // -1
  CHECK(q.payload == payload);
  CHECK(q.counts == oracle::Counts{});
  // MXFP4: 12 = 1.5 * 2^3, so 2^(3 - 2); 24 elements past the end are padding.
  oracle::Parameters mx;
  mx.scaling = Scaling::mx_ocp;
  mx.block = 32;
  const auto m = oracle::quantize(y, 1, 20, mx);
  CHECK(m.scales == std::vector<std::uint8_t>{128});
  CHECK(m.payload.size() == 16);
  CHECK(m.payload[0] == 0xd7);
  CHECK(m.payload[8] == 0x03);  // 1.5
  // INT4 of a whole row: the scale is 12 / 7; odd rows end in half a byte.
  oracle::Parameters whole;
  whole.scaling = Scaling::symmetric;
  whole.element = Element::int4;
  whole.block = 5;
  const auto i = oracle::quantize({7, -7, 3.5f, -2.5f, 1}, 1, 5, whole);
  CHECK(i.payload == std::vector<std::uint8_t>{0x97, 0xe4, 0x01});
  CHECK(oracle::dequantize(i, 1, 5, whole) == std::vector<float>{7, -7, 4, -2, 1});
}

TEST_CASE("quantizer oracle: special values") {
  std::vector<float> y(32, 1.0f);
  y[0] = not_a_number, y[1] = infinity, y[2] = -infinity, y[3] = -0.0f;
  const auto q = oracle::quantize(y, 1, 32, nvfp4());
  CHECK(q.amax == 1);
  CHECK(q.scales == std::vector<std::uint8_t>{0x7e, 0x7e});
  CHECK(q.payload[0] == 0x77);
  CHECK(q.payload[1] == 0x8f);
  CHECK(q.counts == oracle::Counts{1, 2, 0, 0, 0});
  CHECK(oracle::quantize(y, 1, 32, nvfp4(Scaling::nvfp4_transformer_engine)).payload[1] == 0x0f);
  const std::vector<float> zeros(32, -0.0f);
  for (const auto scaling : {Scaling::nvfp4_divide, Scaling::nvfp4_transformer_engine}) {
    const auto z = oracle::quantize(zeros, 1, 32, nvfp4(scaling));
    CHECK(z.global_scale == 1);
    CHECK(z.payload == std::vector<std::uint8_t>(16, 0));
    CHECK(z.scales == std::vector<std::uint8_t>(2, 0));
  }
  for (const float tiny : {5.7e-35f, 6.3e-38f, 1e-44f}) {
    const auto t = oracle::quantize(std::vector<float>(16, tiny), 1, 16, nvfp4());
    CHECK(t.amax == tiny);
    CHECK(t.counts.nan == 0);
    if (tiny > 1e-40f) CHECK(t.payload == std::vector<std::uint8_t>(8, 0x77));
  }
  auto p = nvfp4();
  p.global_scale = oracle::GlobalScale::kept;
  for (const float bad : {0.0f, -1.0f, infinity, not_a_number}) {
    p.scale_given = bad;
    CHECK(oracle::quantize(y, 1, 32, p).counts.bad_global_scale == 1);
  }
  p.scale_given = 1e-6f;  // too small for 1.0: scales stop at 448, elements at 6
  const auto small = oracle::quantize(std::vector<float>(16, 1.0f), 1, 16, p);
  CHECK(small.scales[0] == 0x7e);
  CHECK(small.payload == std::vector<std::uint8_t>(8, 0x77));
  CHECK(small.counts.saturated == 16);
}

TEST_CASE("quantizer oracle: lines of a square block share their scale") {
  oracle::Parameters p = nvfp4();
  p.square = true;
  p.lines = 18;  // groups of 16 and 2 lines, in each of two slices
  std::vector<float> y(36 * 17, 1.0f);
  const auto at = [&](std::size_t r, std::size_t i) -> float& { return y[r * 17 + i]; };
  at(3, 2) = 8, at(17, 16) = 4, at(20, 0) = 2;
  const auto q = oracle::quantize(y, 36, 17, p);
  const auto scale = [&](std::size_t r, std::size_t b) {
    return std::lround(oracle::decode(Element::e4m3, q.scales[2 * r + b]) * 8 / 448);
  };
  for (std::size_t r = 0; r < 36; ++r) {
    CHECK(scale(r, 0) == (r < 16 ? 8 : r >= 18 && r < 34 ? 2 : 1));
    CHECK(scale(r, 1) == (r == 16 || r == 17 ? 4 : 1));
  }
}
