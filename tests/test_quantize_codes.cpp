// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every code of every format through the library: floats to codes with a scale of 1, codes and scales to
// floats.
#include <algorithm>
#include <cmath>

#include "support/interesting_floats.hpp"
#include "support/quantize_case.hpp"

namespace {

using namespace papillon_test;
using oracle::Element;
using papillon::BlockFormat;
using papillon::QuantizeOptions;
using papillon::Rounding;

struct Format {
  BlockFormat format;
  Element element;
};
constexpr Format formats[] = {
    {BlockFormat::nvfp4, Element::e2m1},      {BlockFormat::mxfp4, Element::e2m1},
    {BlockFormat::mxfp8_e4m3, Element::e4m3}, {BlockFormat::mxfp8_e5m2, Element::e5m2},
    {BlockFormat::fp8_e4m3, Element::e4m3},   {BlockFormat::fp8_e5m2, Element::e5m2},
    {BlockFormat::int8, Element::int8},       {BlockFormat::int4, Element::int4}};

/// Blocks of interesting values that the format's largest leads, so that the scale is 1 by every rule.
QuantizeCase<float> encode_case(const Format& format, bool stochastic) {
  const auto largest = static_cast<float>(oracle::largest(format.element));
  auto values = interesting_floats(format.element);
  // NaN stays; MX scales stay at 1 below the next power of two, which values past the largest may fill.
  const bool mx = format.format >= BlockFormat::mxfp4 && format.format <= BlockFormat::mxfp8_e5m2;
  const float bound = mx ? std::nextafter(std::ldexp(1.0f, std::ilogb(largest) + 1), 0.0f) : largest;
  std::erase_if(values, [&](float value) { return std::fabs(value) > bound; });
  const std::size_t block = format.format == BlockFormat::nvfp4 ? 16 : 32;
  QuantizeCase<float> problem;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (problem.x.size() % block == 0) problem.x.push_back(largest);
    problem.x.push_back(values[i]);
  }
  problem.shape = {static_cast<std::int64_t>(problem.x.size())};
  problem.options.format = format.format;
  if (format.format >= BlockFormat::fp8_e4m3) problem.options.block = 32;
  if (format.format == BlockFormat::nvfp4) {
    problem.options.global_scale_source = papillon::GlobalScaleSource::given;
    problem.options.global_scale = 1;
  }
  if (stochastic) problem.options.rounding = Rounding::stochastic;
  return problem;
}

}  // namespace

TEST_CASE("quantize: all interesting floats of every format to codes") {
  for (const auto& format : formats)
    for (const bool stochastic : {false, true}) {
      const auto problem = encode_case(format, stochastic);
      INFO(problem.describe());
      const auto q = problem.expected();
      // The scale is 1 in every block, so that codes are those of the values themselves.
      std::vector<std::uint8_t> scale = {format.format == BlockFormat::nvfp4 ? std::uint8_t{0x38}
                                                                             : std::uint8_t{127}};
      if (format.format >= BlockFormat::fp8_e4m3) scale = {0, 0, 0x80, 0x3f};
      bool all_ones = true;
      for (std::size_t i = 0; i < q.scales.size(); ++i)
        all_ones = all_ones && q.scales[i] == scale[i % scale.size()];
      CHECK(all_ones);
      check_everywhere(problem);
      if (stochastic) continue;
      // And past the oracle's tensor code: element by element.
      const auto written = problem.run(Kokkos::DefaultHostExecutionSpace{});
      std::size_t different = 0;
      for (std::size_t i = 0; i < problem.x.size(); ++i) {
        const bool half = oracle::bits_of(format.element) == 4;
        const unsigned byte = written.payload[half ? i / 2 : i];
        const unsigned code = !half ? byte : i % 2 == 0 ? byte & 15u : byte >> 4;
        different += code != oracle::encode(format.element, problem.x[i]);
      }
      CHECK(different == 0);
    }
}

TEST_CASE("quantize: every power of two as amax, and its neighbours") {
  for (const auto& format : formats)
    for (const auto rule : {papillon::ScaleRule::automatic, papillon::ScaleRule::round_up,
                            papillon::ScaleRule::transformer_engine}) {
      const bool mx = format.format >= BlockFormat::mxfp4 && format.format <= BlockFormat::mxfp8_e5m2;
      if (rule == papillon::ScaleRule::round_up && !mx) continue;
      if (rule == papillon::ScaleRule::transformer_engine && format.format != BlockFormat::nvfp4) continue;
      QuantizeCase<float> problem;
      problem.options.format = format.format;
      problem.options.scale_rule = rule;
      if (format.format >= BlockFormat::fp8_e4m3) problem.options.block = 32;
      if (format.format == BlockFormat::nvfp4) {
        problem.options.global_scale_source = papillon::GlobalScaleSource::given;
        problem.options.global_scale = 0x1p-3f;
      }
      const auto largest = static_cast<float>(oracle::largest(format.element));
      for (int exponent = -149; exponent < 128; ++exponent)
        for (const float factor : {1.0f, largest / std::ldexp(1.0f, std::ilogb(largest))}) {
          const float power = factor * std::ldexp(1.0f, exponent);
          for (const float amax : {std::nextafter(power, 0.0f), power, std::nextafter(power, INFINITY)})
            for (int i = 0; i < 32; ++i)
              problem.x.push_back((i % 2 == 0 ? amax : -amax) / static_cast<float>(1 + i % 16));
        }
      problem.shape = {static_cast<std::int64_t>(problem.x.size())};
      check_everywhere(problem);
    }
}

TEST_CASE_TEMPLATE("dequantize: every code times every scale", T, PAPILLON_REAL_SCALARS) {
  for (const auto& format : formats) {
    QuantizeCase<T> problem;
    problem.options.format = format.format;
    if (format.format >= BlockFormat::fp8_e4m3) problem.options.block = 32;
    const std::int64_t block = format.format == BlockFormat::nvfp4 ? 16 : 32;
    const std::int64_t codes = oracle::code_count(format.element);
    const std::int64_t groups = oracle::ceil_div(codes, block);  // blocks that hold every code
    problem.shape = {256, groups * block};
    const auto p = problem.parameters();
    oracle::Quantized q;
    const float floats[] = {1.0f, 0.3f, 1e-44f, 1e-30f, 3e38f, 0.0f, INFINITY, NAN};
    for (unsigned scale = 0; scale < 256; ++scale)
      for (std::int64_t b = 0; b < groups; ++b) {
        std::uint8_t bytes[4] = {static_cast<std::uint8_t>(scale)};
        if (p.scaling == oracle::Scaling::symmetric) std::memcpy(bytes, &floats[scale % 8], 4);
        q.scales.insert(q.scales.end(), bytes, bytes + oracle::scale_bytes(p.scaling));
        for (std::int64_t i = 0; i < block; ++i) {
          const std::int64_t code = (b * block + i) % codes;
          if (oracle::bits_of(p.element) == 8)
            q.payload.push_back(static_cast<std::uint8_t>(code));
          else if (i % 2 == 0)
            q.payload.push_back(static_cast<std::uint8_t>(code | ((code + 1) % 16) << 4));
        }
      }
    for (const float global_scale : {1.0f, 0.7f, 1e-40f, 1e38f}) {
      q.global_scale = global_scale;
      INFO(problem.describe(), ", global scale ", global_scale);
      const auto expected = problem.expected_values(q);
      for_each_space([&](const auto& space) {
        CHECK(first_difference(problem.run_dequantize(space, q), expected) == -1);
      });
      CHECK(first_difference(problem.run_dequantize(Kokkos::DefaultHostExecutionSpace{}, q, Memory::row_major,
                                                    Style::team),
                             expected) == -1);
    }
  }
}
