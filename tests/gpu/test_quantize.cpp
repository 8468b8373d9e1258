// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The quantiser on the GPU against the plain form on the CPU, bit for bit: codes, scales, global scale, amax,
// statistics, and what dequantize makes of them.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gpu_case.hpp"
#include "papillon/cuda.hpp"
#include "papillon/quantize.hpp"

using namespace papillon;
using papillon::test::DeviceBuffer;
using papillon::test::Fill;
using papillon::test::make_data;
using papillon::test::require_cuda;

namespace {

constexpr BlockFormat formats[] = {BlockFormat::nvfp4,      BlockFormat::mxfp4,    BlockFormat::mxfp8_e4m3,
                                   BlockFormat::mxfp8_e5m2, BlockFormat::fp8_e4m3, BlockFormat::fp8_e5m2,
                                   BlockFormat::int8,       BlockFormat::int4};
constexpr ScalarType scalars[] = {ScalarType::bfloat16, ScalarType::float16, ScalarType::float32};

struct QuantizeCase {
  ScalarType type = ScalarType::bfloat16;
  std::vector<std::int64_t> extents = {};
  std::vector<std::int64_t> strides = {};  ///< of x in elements; empty: dense
  std::int64_t shift = 0;                  ///< elements that x starts behind an aligned address
  Fill fill = Fill::normal;
  double scale = 1.0;  ///< of float32 data
  bool finds_amax = true;
  bool counts = false;
  QuantizeOptions options = {};
};

/// What a call writes.
struct Result {
  std::vector<std::uint8_t> payload;
  std::vector<std::uint8_t> scales;
  float global_scale = 3.0f;
  float amax = -1.0f;
  QuantizeStatistics statistics{};
  std::vector<float> values;
};

std::vector<unsigned char> data_of(const QuantizeCase& c, std::int64_t count) {
  auto bytes = make_data(c.type, count, c.fill, 5);
  if (c.type == ScalarType::float32 && c.scale != 1.0) {
    for (std::int64_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      value = static_cast<float>(value * c.scale);
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
  }
  // Blocks of zeros, of one value, and of ties of E2M1 under a scale of 1.
  if (c.fill == Fill::adversarial && c.type == ScalarType::float32 && count > 4096) {
    constexpr float ties[] = {.25f, .75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 6.0f};
    for (int i = 0; i < 192; ++i) {
      const float value = i < 64 ? 0.0f : i < 128 ? 2.5f : (i % 2 != 0 ? -ties[i % 8] : ties[i % 8]);
      std::memcpy(bytes.data() + 4 * (i + 2048), &value, 4);
    }
  }
  return bytes;
}

struct Layout {
  QuantizedLayout q;
  std::int64_t elements = 0;  ///< of x with its gaps
  ConstTensorDescriptor x;
};

Layout layout_of(const QuantizeCase& c) {
  Layout layout;
  layout.q = quantized_layout(c.extents, c.options);
  layout.x = detail::make_row_major<const void*>(nullptr, c.type, c.extents);
  if (!c.strides.empty())
    for (std::size_t d = 0; d < c.strides.size(); ++d) layout.x.strides[d] = c.strides[d];
  std::int64_t last = 0;
  for (std::size_t d = 0; d < c.extents.size(); ++d) last += (c.extents[d] - 1) * layout.x.strides[d];
  layout.elements = last + 1 + c.shift;
  return layout;
}

Result on_cpu(const QuantizeCase& c, const Layout& layout, const std::vector<unsigned char>& x) {
  const Kokkos::DefaultHostExecutionSpace space;
  Result result;
  Kokkos::View<std::uint8_t*, Kokkos::HostSpace> payload("payload", layout.q.payload_bytes);
  Kokkos::View<std::uint8_t*, Kokkos::HostSpace> scales("scales", layout.q.scale_bytes);
  QuantizeOptions options = c.options;
  if (c.finds_amax) options.amax = &result.amax;
  if (c.counts) options.statistics = &result.statistics;
  ConstTensorDescriptor source = layout.x;
  source.data = x.data() + c.shift * static_cast<std::int64_t>(size_of(c.type));
  const BlockScaledView q{
      {payload.data(), layout.q.payload_bytes}, {scales.data(), layout.q.scale_bytes}, &result.global_scale};
  generic::run_plain_quantize(space, detail::make_quantize_problem(source, q, options, true));
  result.payload.assign(payload.data(), payload.data() + layout.q.payload_bytes);
  result.scales.assign(scales.data(), scales.data() + layout.q.scale_bytes);
  std::int64_t count = 1;
  for (const std::int64_t extent : c.extents) count *= extent;
  result.values.resize(static_cast<std::size_t>(count));
  const TensorDescriptor y =
      detail::make_row_major<void*>(result.values.data(), ScalarType::float32, c.extents);
  generic::run_plain_dequantize(
      space, detail::make_dequantize_problem({q.payload, q.scales, q.global_scale}, y, c.options, true));
  return result;
}

Result on_gpu(const QuantizeCase& c, const Layout& layout, const std::vector<unsigned char>& x) {
  const DeviceBuffer device_x(x.size() + 16);
  const DeviceBuffer payload(layout.q.payload_bytes + 16);
  const DeviceBuffer scales(layout.q.scale_bytes + 16);
  const DeviceBuffer global(sizeof(float));
  const DeviceBuffer amax(sizeof(float));
  const DeviceBuffer statistics(sizeof(QuantizeStatistics));
  std::vector<std::int8_t> signs(c.options.signs.values.begin(), c.options.signs.values.end());
  const DeviceBuffer device_signs(signs.size() + 1);
  Result result;
  require_cuda(cudaMemcpy(device_x.as(), x.data(), x.size(), cudaMemcpyHostToDevice));
  require_cuda(cudaMemset(payload.as(), 0xab, layout.q.payload_bytes + 16));
  require_cuda(cudaMemset(scales.as(), 0xcd, layout.q.scale_bytes + 16));
  require_cuda(cudaMemcpy(global.as(), &result.global_scale, sizeof(float), cudaMemcpyHostToDevice));
  require_cuda(cudaMemcpy(device_signs.as(), signs.data(), signs.size(), cudaMemcpyHostToDevice));
  QuantizeOptions options = c.options;
  if (!signs.empty()) options.signs.values = {device_signs.as<std::int8_t>(), signs.size()};
  if (c.finds_amax) options.amax = amax.as<float>();
  if (c.counts) options.statistics = statistics.as<QuantizeStatistics>();
  ConstTensorDescriptor source = layout.x;
  source.data = device_x.as<unsigned char>() + c.shift * static_cast<std::int64_t>(size_of(c.type));
  const BlockScaledView q{{payload.as<std::uint8_t>(), layout.q.payload_bytes},
                          {scales.as<std::uint8_t>(), layout.q.scale_bytes},
                          global.as<float>()};
  quantize(cudaStream_t{nullptr}, source, q, options);
  const auto fetch = [&](auto& target, const void* from, std::size_t bytes) {
    require_cuda(cudaMemcpy(target, from, bytes, cudaMemcpyDeviceToHost));
  };
  result.payload.resize(layout.q.payload_bytes + 16);
  result.scales.resize(layout.q.scale_bytes + 16);
  auto* codes = result.payload.data();
  auto* bytes = result.scales.data();
  fetch(codes, payload.as(), result.payload.size());
  fetch(bytes, scales.as(), result.scales.size());
  for (std::size_t i = 0; i < 16; ++i) {  // nothing behind the end
    REQUIRE(result.payload[layout.q.payload_bytes + i] == 0xab);
    REQUIRE(result.scales[layout.q.scale_bytes + i] == 0xcd);
  }
  result.payload.resize(layout.q.payload_bytes);
  result.scales.resize(layout.q.scale_bytes);
  auto* global_value = &result.global_scale;
  fetch(global_value, global.as(), sizeof(float));
  auto* amax_value = &result.amax;
  if (c.finds_amax) fetch(amax_value, amax.as(), sizeof(float));
  auto* counted = &result.statistics;
  if (c.counts) fetch(counted, statistics.as(), sizeof(QuantizeStatistics));
  std::int64_t count = 1;
  for (const std::int64_t extent : c.extents) count *= extent;
  const DeviceBuffer y(static_cast<std::size_t>(count) * 4);
  const QuantizeOptions decode = options;
  dequantize(cudaStream_t{nullptr}, ConstBlockScaledView{q.payload, q.scales, q.global_scale},
             detail::make_row_major<void*>(y.as(), ScalarType::float32, c.extents), decode);
  result.values.resize(static_cast<std::size_t>(count));
  auto* values = result.values.data();
  fetch(values, y.as(), result.values.size() * 4);
  std::vector<unsigned char> after(x.size());
  auto* untouched = after.data();
  fetch(untouched, device_x.as(), x.size());
  REQUIRE(after == x);
  return result;
}

template <class Values>
std::int64_t first_difference_of(const Values& a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i])) return static_cast<std::int64_t>(i);
  return -1;
}

/// Empty when both give the same; else what differs.
std::string compare(const QuantizeCase& c) {
  const Layout layout = layout_of(c);
  const auto x = data_of(c, layout.elements);
  const Result expected = on_cpu(c, layout, x);
  const Result actual = on_gpu(c, layout, x);
  std::string what;
  const auto note = [&](const std::string& name, std::int64_t index, auto a, auto b) {
    what += name + (index >= 0 ? " " + std::to_string(index) : "") + ": " + std::to_string(a) +
            " on the CPU, " + std::to_string(b) + " on the GPU; ";
  };
  const auto each = [&](const std::string& name, const auto& a, const auto& b) {
    const std::int64_t i = first_difference_of(a, b);
    if (i >= 0) note(name, i, a[static_cast<std::size_t>(i)], b[static_cast<std::size_t>(i)]);
  };
  each("scale", expected.scales, actual.scales);
  each("code", expected.payload, actual.payload);
  each("value", expected.values, actual.values);
  if (expected.global_scale != actual.global_scale)
    note("global scale", -1, expected.global_scale, actual.global_scale);
  if (expected.amax != actual.amax) note("amax", -1, expected.amax, actual.amax);
  const QuantizeStatistics& a = expected.statistics;
  const QuantizeStatistics& b = actual.statistics;
  if (a.nan != b.nan) note("nan", -1, a.nan, b.nan);
  if (a.infinite != b.infinite) note("infinite", -1, a.infinite, b.infinite);
  if (a.saturated != b.saturated) note("saturated", -1, a.saturated, b.saturated);
  if (a.zero_scale_blocks != b.zero_scale_blocks)
    note("zero scale blocks", -1, a.zero_scale_blocks, b.zero_scale_blocks);
  if (a.bad_global_scale != b.bad_global_scale)
    note("bad global scale", -1, a.bad_global_scale, b.bad_global_scale);
  return what;
}

ScaleRule other_rule(BlockFormat format) {
  if (format == BlockFormat::nvfp4) return ScaleRule::transformer_engine;
  return detail::is_mx(format) ? ScaleRule::round_up : ScaleRule::automatic;
}

/// Calls check(case) for every format, both rules of it, and both roundings.
template <class Check>
void for_each_rule(const QuantizeCase& base, const Check& check) {
  for (const BlockFormat format : formats) {
    for (const bool other : {false, true}) {
      if (other && other_rule(format) == ScaleRule::automatic) continue;
      for (const Rounding rounding : {Rounding::nearest_even, Rounding::stochastic}) {
        QuantizeCase c = base;
        c.options.format = format;
        c.options.scale_rule = other ? other_rule(format) : ScaleRule::automatic;
        c.options.rounding = rounding;
        c.options.random_seed = 0x123456789abcdefu;
        c.options.random_offset = 42;
        CAPTURE(name_of(format));
        CAPTURE(other);
        CAPTURE(name_of(rounding));
        check(c);
      }
    }
  }
}

void check_rows(std::initializer_list<std::int64_t> row_counts, std::initializer_list<std::int64_t> lengths) {
  for (const ScalarType type : scalars) {
    for (const Fill fill : {Fill::normal, Fill::adversarial}) {
      for (const std::int64_t rows : row_counts) {
        for (const std::int64_t n : lengths) {
          CAPTURE(name_of(type));
          CAPTURE(rows);
          CAPTURE(n);
          for_each_rule({.type = type, .extents = {rows, n}, .fill = fill},
                        [](const QuantizeCase& c) { REQUIRE(compare(c) == ""); });
        }
      }
    }
  }
}

}  // namespace

TEST_SUITE_BEGIN("reduced");

TEST_CASE("reduced set: quantised rows") { check_rows({3}, {64, 80, 2048}); }

TEST_CASE("reduced set: rotated rows") {
  for (const ScalarType type : scalars) {
    for (const std::int64_t group : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
      QuantizeCase c{.type = type, .extents = {3, 2048}};
      c.options.rotation = group;
      if (group % 3 == 1) c.options.signs.seed = 9;
      CAPTURE(name_of(type));
      CAPTURE(group);
      for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp4, BlockFormat::mxfp8_e4m3}) {
        c.options.format = format;
        REQUIRE(compare(c) == "");
      }
    }
  }
}

TEST_CASE("reduced set: swizzled scales, square blocks, other axes, gaps, statistics") {
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp8_e5m2}) {
    CAPTURE(name_of(format));
    for (const std::int64_t rows : {32, 90, 129}) {
      for (const std::int64_t n : {48, 64, 528}) {
        QuantizeCase c{.extents = {rows, n}};
        c.options.format = format;
        c.options.scale_layout = ScaleLayout::swizzled;
        REQUIRE(compare(c) == "");
        c.options.axis = 0;
        REQUIRE(compare(c) == "");
        c.options.block_shape = BlockShape::square;
        REQUIRE(compare(c) == "");
      }
    }
    QuantizeCase gaps{.extents = {2, 5, 128}, .strides = {2000, 136, 1}};
    gaps.options.format = format;
    REQUIRE(compare(gaps) == "");
    gaps.shift = 8;
    gaps.strides = {2000, 200, 1};
    REQUIRE(compare(gaps) == "");
    gaps.strides = {1, 2, 10};
    REQUIRE(compare(gaps) == "");
    QuantizeCase counted{
        .type = ScalarType::float32, .extents = {40, 128}, .fill = Fill::adversarial, .counts = true};
    counted.options.format = format;
    REQUIRE(compare(counted) == "");
  }
}

TEST_SUITE_END();

TEST_CASE("quantised rows of many lengths") { check_rows({1, 5, 300}, {1, 15, 16, 64, 192, 528, 4096}); }

TEST_CASE("rotated rows, signs, whole rows and other orders") {
  for (const ScalarType type : scalars) {
    for (const std::int64_t group : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
      const auto values = test::sign_vector(static_cast<std::size_t>(group));
      for (const int signs : {0, 1, 2}) {
        for (const std::int64_t rows : {1, 7, 130}) {
          QuantizeCase c{.type = type, .extents = {rows, 4096}};
          c.options.rotation = group;
          if (signs == 1) c.options.signs.seed = 11;
          if (signs == 2) c.options.signs.values = values;
          CAPTURE(name_of(type));
          CAPTURE(group);
          CAPTURE(signs);
          for (const BlockFormat format : formats) {
            c.options.format = format;
            REQUIRE(compare(c) == "");
          }
          c.options.format = BlockFormat::nvfp4;
          c.fill = Fill::adversarial;
          c.options.rounding = Rounding::stochastic;
          c.options.scale_rule = ScaleRule::transformer_engine;
          REQUIRE(compare(c) == "");
        }
      }
    }
    for (const std::int64_t n : {64, 320, 512, 1024, 2048, 4096, 8192, 7168, 192}) {
      QuantizeCase c{.type = type, .extents = {33, n}};
      c.options.rotation = whole_axis;
      c.options.signs.seed = 3;
      CAPTURE(n);
      REQUIRE(compare(c) == "");
    }
  }
}

TEST_CASE("magnitudes from the least to the largest, given and kept scales") {
  for (const double scale : {3e-46, 1e-45, 1e-44, 1e-40, 1e-36, 1e-30, 1e-18, 1e-3, 1e18, 1e30, 1e37}) {
    QuantizeCase base{.type = ScalarType::float32, .extents = {9, 256}, .scale = scale};
    CAPTURE(scale);
    for (const std::int64_t rotation : {0, 16, 64, 128, 256}) {
      base.options.rotation = rotation;
      for_each_rule(base, [](const QuantizeCase& c) { REQUIRE(compare(c) == ""); });
    }
  }
  for (const GlobalScaleSource source : {GlobalScaleSource::given, GlobalScaleSource::kept}) {
    for (const float given : {1e-3f, 1.5e-3f, 1e-7f, 1e3f, 1e-38f, 1e-44f, 3e38f, 1.0f / 3.0f}) {
      QuantizeCase c{.type = ScalarType::float32, .extents = {9, 256}, .counts = false};
      c.options.global_scale_source = source;
      c.options.global_scale = given;
      CAPTURE(given);
      for_each_rule(c, [](const QuantizeCase& d) {
        if (d.options.format == BlockFormat::nvfp4) REQUIRE(compare(d) == "");
      });
    }
  }
}

namespace {

/// Empty when both copies of x along two axes are what the plain form gives on the CPU; else what differs.
std::string compare_pair(QuantizeCase c, int axis, int other_axis) {
  c.options.axis = axis;
  const Layout layout = layout_of(c);
  QuantizeCase other = c;
  other.options.axis = other_axis;
  other.finds_amax = false;
  const Layout other_layout = layout_of(other);
  const auto x = data_of(c, layout.elements);
  const Result expected[] = {on_cpu(c, layout, x), on_cpu(other, other_layout, x)};
  const DeviceBuffer device_x(x.size() + 16);
  require_cuda(cudaMemcpy(device_x.as(), x.data(), x.size(), cudaMemcpyHostToDevice));
  const QuantizedLayout layouts[] = {layout.q, other_layout.q};
  const DeviceBuffer payloads[] = {DeviceBuffer(layout.q.payload_bytes),
                                   DeviceBuffer(other_layout.q.payload_bytes)};
  const DeviceBuffer scales[] = {DeviceBuffer(layout.q.scale_bytes),
                                 DeviceBuffer(other_layout.q.scale_bytes)};
  const DeviceBuffer globals[] = {DeviceBuffer(4), DeviceBuffer(4)};
  const DeviceBuffer amax(4);
  const auto view = [&](int i) {
    return BlockScaledView{{payloads[i].as<std::uint8_t>(), layouts[i].payload_bytes},
                           {scales[i].as<std::uint8_t>(), layouts[i].scale_bytes},
                           globals[i].as<float>()};
  };
  for (int i = 0; i < 2; ++i) {
    require_cuda(cudaMemset(payloads[i].as(), 0xab, layouts[i].payload_bytes));
    require_cuda(cudaMemset(scales[i].as(), 0xab, layouts[i].scale_bytes));
    require_cuda(cudaMemset(globals[i].as(), 0, 4));
  }
  QuantizeOptions options = c.options;
  options.amax = amax.as<float>();
  ConstTensorDescriptor source = layout.x;
  source.data = device_x.as();
  quantize(cudaStream_t{nullptr}, source, view(0), view(1), other_axis, options);
  std::string what;
  for (int i = 0; i < 2; ++i) {
    std::vector<std::uint8_t> codes(layouts[i].payload_bytes), bytes(layouts[i].scale_bytes);
    float global = 0;
    require_cuda(cudaMemcpy(codes.data(), payloads[i].as(), codes.size(), cudaMemcpyDeviceToHost));
    require_cuda(cudaMemcpy(bytes.data(), scales[i].as(), bytes.size(), cudaMemcpyDeviceToHost));
    require_cuda(cudaMemcpy(&global, globals[i].as(), 4, cudaMemcpyDeviceToHost));
    const std::string name = i == 0 ? "first" : "second";
    if (codes != expected[i].payload) what += name + ": codes differ; ";
    if (bytes != expected[i].scales) what += name + ": scales differ; ";
    if (c.options.format == BlockFormat::nvfp4 && global != expected[i].global_scale)
      what += name + ": global scales differ; ";
  }
  float found = 0;
  require_cuda(cudaMemcpy(&found, amax.as(), 4, cudaMemcpyDeviceToHost));
  if (found != expected[0].amax) what += "amax differs; ";
  return what;
}

}  // namespace

TEST_SUITE_BEGIN("reduced");

TEST_CASE("reduced set: two copies of one array") {
  for (const ScalarType type : scalars) {
    for (const Fill fill : {Fill::normal, Fill::adversarial}) {
      for (const std::int64_t rotation : {0, 16, 32, 64}) {
        QuantizeCase c{.type = type, .extents = {192, 320}, .fill = fill};
        c.options.rotation = rotation;
        if (rotation == 32) c.options.signs.seed = 5;
        if (rotation == 16) c.options.scale_layout = ScaleLayout::swizzled;
        CAPTURE(name_of(type));
        CAPTURE(rotation);
        for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp4, BlockFormat::mxfp8_e4m3}) {
          c.options.format = format;
          CAPTURE(name_of(format));
          REQUIRE(compare_pair(c, 1, 0) == "");
          REQUIRE(compare_pair(c, -2, -1) == "");
        }
        c.options.format = BlockFormat::nvfp4;
        QuantizeCase grouped = c;
        grouped.extents = {256, 512};
        REQUIRE(compare_pair(grouped, 1, 0) == "");
        c.options.scale_rule = ScaleRule::transformer_engine;
        REQUIRE(compare_pair(c, 1, 0) == "");
        c.options.global_scale_source = GlobalScaleSource::given;
        c.options.global_scale = 1e-3f;
        REQUIRE(compare_pair(c, 1, 0) == "");
        c.options.scale_rule = ScaleRule::automatic;
        c.strides = {328, 1};
        REQUIRE(compare_pair(c, 0, 1) == "");
      }
    }
  }
}

TEST_SUITE_END();
