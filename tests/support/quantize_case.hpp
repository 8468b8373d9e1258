// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "papillon/hadamard.hpp"
#include "papillon/quantize.hpp"
#include "support/byte_buffer.hpp"
#include "support/guarded.hpp"
#include "support/quantizer_oracle.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// Which of the library's implementations a host space runs.
enum class Style { chosen, team };

/// One quantisation of one array: the oracle's result and the library's.
template <class T>
struct QuantizeCase {
  Shape shape;
  papillon::QuantizeOptions options = {};
  std::vector<T> x = {};  ///< row-major
  float kept = 1;         ///< what the global scale holds before the call

  std::size_t axis() const {
    return static_cast<std::size_t>(options.axis < 0 ? options.axis + static_cast<int>(shape.size())
                                                     : options.axis);
  }
  std::int64_t n() const { return shape[axis()]; }
  std::int64_t rows() const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) product *= d == axis() ? 1 : shape[d];
    return product;
  }
  bool has_global_scale() const { return options.format == papillon::BlockFormat::nvfp4; }

  std::string describe() const {
    std::string text = "shape (";
    for (const auto extent : shape) text += std::to_string(extent) + ",";
    text += ") axis " + std::to_string(options.axis) + " " + std::string(papillon::name_of(options.format)) +
            " block " + std::to_string(options.block) + " " +
            std::string(papillon::name_of(options.block_shape)) + " " +
            std::string(papillon::name_of(options.scale_rule)) + " " +
            std::string(papillon::name_of(options.scale_layout)) + " " +
            std::string(papillon::name_of(options.rounding)) + " rotation " +
            std::to_string(options.rotation) + " global scale " +
            std::string(papillon::name_of(options.global_scale_source));
    if (options.signs.seed) text += " sign seed " + std::to_string(*options.signs.seed);
    if (!options.signs.values.empty()) text += " sign vector";
    return text;
  }

  oracle::Parameters parameters() const {
    using papillon::BlockFormat;
    using papillon::ScaleRule;
    oracle::Parameters p;
    switch (options.format) {
      case BlockFormat::nvfp4:
      case BlockFormat::mxfp4:
        p.element = oracle::Element::e2m1;
        break;
      case BlockFormat::mxfp8_e4m3:
      case BlockFormat::fp8_e4m3:
        p.element = oracle::Element::e4m3;
        break;
      case BlockFormat::mxfp8_e5m2:
      case BlockFormat::fp8_e5m2:
        p.element = oracle::Element::e5m2;
        break;
      case BlockFormat::int8:
        p.element = oracle::Element::int8;
        break;
      case BlockFormat::int4:
        p.element = oracle::Element::int4;
        break;
    }
    if (options.format == BlockFormat::nvfp4) {
      p.scaling = options.scale_rule == ScaleRule::transformer_engine
                      ? oracle::Scaling::nvfp4_transformer_engine
                      : oracle::Scaling::nvfp4_divide;
      p.block = 16;
    } else if (options.format <= BlockFormat::mxfp8_e5m2) {
      p.scaling =
          options.scale_rule == ScaleRule::round_up ? oracle::Scaling::mx_round_up : oracle::Scaling::mx_ocp;
      p.block = 32;
    } else {
      p.scaling = oracle::Scaling::symmetric;
      p.block = options.block > 0 ? options.block : std::max<std::int64_t>(n(), 1);
    }
    if (shape.size() > 1) p.lines = axis() + 1 == shape.size() ? shape[shape.size() - 2] : shape.back();
    p.square = options.block_shape == papillon::BlockShape::square;
    p.swizzled = options.scale_layout == papillon::ScaleLayout::swizzled;
    p.stochastic = options.rounding == papillon::Rounding::stochastic;
    p.seed = options.random_seed;
    p.offset = options.random_offset;
    p.global_scale = static_cast<oracle::GlobalScale>(options.global_scale_source);
    p.scale_given = p.global_scale == oracle::GlobalScale::given ? options.global_scale : kept;
    return p;
  }

  /// Values in row-major order of `shape` to rows x n, the quantised axis last; and back.
  template <class V>
  std::vector<V> to_rows(const std::vector<V>& values, bool back = false) const {
    std::int64_t inner = 1;
    for (std::size_t d = axis() + 1; d < shape.size(); ++d) inner *= shape[d];
    std::vector<V> result(values.size());
    for (std::int64_t r = 0; r < rows(); ++r)
      for (std::int64_t i = 0; i < n(); ++i) {
        const auto in_array = static_cast<std::size_t>((r / inner * n() + i) * inner + r % inner);
        const auto in_rows = static_cast<std::size_t>(r * n() + i);
        (back ? result[in_array] : result[in_rows]) = values[back ? in_rows : in_array];
      }
    return result;
  }

  /// The rotation, or its inverse, of values in row-major order of `shape`, by the tested `hadamard`.
  template <class V>
  std::vector<V> rotate(std::vector<V> values, bool inverse) const {
    if (options.rotation == 0 || values.empty()) return values;
    papillon::HadamardOptions rotation;
    rotation.norm = papillon::Normalization::ortho;
    rotation.axis = options.axis;
    rotation.group = options.rotation == papillon::whole_axis ? 0 : options.rotation;
    rotation.signs = options.signs;
    rotation.signs.side = inverse ? papillon::SignSide::output : papillon::SignSide::input;
    rotation.transpose = inverse;
    const auto array =
        papillon::detail::make_row_major<void*>(values.data(), papillon::scalar_type_of<V>, shape);
    papillon::hadamard(Kokkos::DefaultHostExecutionSpace{}, array, array, rotation);
    Kokkos::DefaultHostExecutionSpace{}.fence();
    return values;
  }

  /// What is quantised: x, rotated, in float32, rows x n.
  std::vector<float> rotated() const {
    using Wide = papillon::compute_type<T>;
    const auto y = rotate(std::vector<Wide>(x.begin(), x.end()), false);
    std::vector<float> rounded;
    for (const Wide value : y) rounded.push_back(static_cast<float>(value));
    return to_rows(rounded);
  }

  oracle::Quantized expected() const { return oracle::quantize(rotated(), rows(), n(), parameters()); }

  /// What `dequantize` gives for `q`, in row-major order of `shape`.
  std::vector<T> expected_values(const oracle::Quantized& q) const {
    const auto y = rotate(to_rows(oracle::dequantize(q, rows(), n(), parameters()), true), true);
    std::vector<T> values;
    for (const float value : y) values.push_back(T(value));
    return values;
  }

  /// The library's result on guarded, poisoned buffers.
  template <class Space>
  oracle::Quantized run(const Space& space, Memory memory = Memory::row_major,
                        Style style = Style::chosen) const {
    INFO(describe(), ", x ", to_string(memory), style == Style::team ? ", team kernel" : "");
    const auto layout = papillon::quantized_layout(shape, options);
    Guarded<T, Space> input(shape, memory, x);
    const auto before = input.bytes();
    ByteBuffer<Space> payload(layout.payload_bytes), scales(layout.scale_bytes);
    ByteBuffer<Space> global_scale(sizeof(float)), amax(sizeof(float));
    ByteBuffer<Space> statistics(sizeof(papillon::QuantizeStatistics));
    if (options.global_scale_source == papillon::GlobalScaleSource::kept) global_scale.set(&kept);
    papillon::QuantizeOptions with_outputs = options;
    with_outputs.amax = amax.template pointer<float>();
    with_outputs.statistics = statistics.template pointer<papillon::QuantizeStatistics>();
    const papillon::BlockScaledView q{payload.span(), scales.span(),
                                      has_global_scale() ? global_scale.template pointer<float>() : nullptr};
    if (style == Style::chosen)
      papillon::quantize(space, input.const_descriptor(), q, with_outputs);
    else
      papillon::generic::run_quantize<false>(
          space, papillon::detail::make_quantize_problem(input.const_descriptor(), q, with_outputs, true));
    space.fence();
    CHECK_MESSAGE(input.bytes() == before, "the input was written");
    for (auto* buffer : {&payload, &scales, &global_scale, &amax, &statistics})
      CHECK_MESSAGE(buffer->surroundings_intact(), "something beside an output was written");
    if (!has_global_scale()) CHECK(global_scale.untouched());
    oracle::Quantized result;
    result.payload = payload.get();
    result.scales = scales.get();
    if (has_global_scale()) result.global_scale = global_scale.template get_as<float>();
    result.amax = amax.template get_as<float>();
    const auto counts = statistics.template get_as<papillon::QuantizeStatistics>();
    const auto number = [](std::uint64_t count) { return static_cast<std::int64_t>(count); };
    result.counts = {number(counts.nan), number(counts.infinite), number(counts.saturated),
                     number(counts.zero_scale_blocks), number(counts.bad_global_scale)};
    return result;
  }

  /// The library's `dequantize`, in row-major order of `shape`.
  template <class Space>
  std::vector<T> run_dequantize(const Space& space, const oracle::Quantized& q,
                                Memory memory = Memory::row_major, Style style = Style::chosen) const {
    INFO(describe(), ", y ", to_string(memory), style == Style::team ? ", team kernel" : "");
    ByteBuffer<Space> payload(q.payload.data(), q.payload.size()), scales(q.scales.data(), q.scales.size());
    ByteBuffer<Space> global_scale(&q.global_scale, sizeof(float));
    Guarded<T, Space> y(shape, memory);
    const papillon::ConstBlockScaledView view{payload.span(), scales.span(),
                                              global_scale.template pointer<const float>()};
    if (style == Style::chosen)
      papillon::dequantize(space, view, y.descriptor(), options);
    else
      papillon::generic::run_dequantize<false>(
          space, papillon::detail::make_dequantize_problem(view, y.descriptor(), options, true));
    space.fence();
    CHECK_MESSAGE(y.surroundings_intact(), "something beside the output was written");
    CHECK(payload.get() == q.payload);
    CHECK(scales.get() == q.scales);
    return y.get();
  }
};

inline bool same_float(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

/// Names the first byte that differs.
inline void check_same_bytes(const std::vector<std::uint8_t>& actual,
                             const std::vector<std::uint8_t>& expected, const char* name) {
  REQUIRE(actual.size() == expected.size());
  const auto at = std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin();
  if (static_cast<std::size_t>(at) == actual.size()) return;
  INFO(name, " byte ", at, " of ", actual.size());
  CHECK(static_cast<int>(actual[static_cast<std::size_t>(at)]) ==
        static_cast<int>(expected[static_cast<std::size_t>(at)]));
}

/// Compares bit for bit.
inline void check_same(const oracle::Quantized& actual, const oracle::Quantized& expected) {
  CHECK_MESSAGE(same_float(actual.amax, expected.amax), "amax ", actual.amax, ", expected ", expected.amax);
  CHECK_MESSAGE((same_float(actual.global_scale, expected.global_scale) ||
                 (std::isnan(actual.global_scale) && std::isnan(expected.global_scale))),
                "global scale ", actual.global_scale, ", expected ", expected.global_scale);
  check_same_bytes(actual.scales, expected.scales, "scales");
  check_same_bytes(actual.payload, expected.payload, "payload");
  CHECK(actual.counts.nan == expected.counts.nan);
  CHECK(actual.counts.infinite == expected.counts.infinite);
  CHECK(actual.counts.saturated == expected.counts.saturated);
  CHECK(actual.counts.zero_scale_blocks == expected.counts.zero_scale_blocks);
  CHECK(actual.counts.bad_global_scale == expected.counts.bad_global_scale);
}

/// Runs the case in every enabled space and through the team kernel, with the given layout of x.
template <class T>
void check_everywhere(const QuantizeCase<T>& problem, Memory memory = Memory::row_major) {
  INFO(problem.describe(), ", x ", to_string(memory));
  const auto expected = problem.expected();
  for_each_space([&](const auto& space) { check_same(problem.run(space, memory), expected); });
  INFO("team kernel");
  check_same(problem.run(Kokkos::DefaultHostExecutionSpace{}, memory, Style::team), expected);
}

}  // namespace papillon_test
