// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What quantize and dequantize refuse: the argument and its value are named, and nothing has been written.
#include <limits>
#include <stdexcept>

#include "support/quantize_case.hpp"

namespace {

using namespace papillon_test;
using papillon::BlockFormat;
using papillon::BlockShape;
using papillon::GlobalScaleSource;
using papillon::QuantizeOptions;
using papillon::ScaleLayout;
using papillon::ScaleRule;

using Space = Kokkos::DefaultHostExecutionSpace;
using Bytes = ByteBuffer<Space>;

/// Buffers for a (32, 64) array of floats in any format, and the calls that should be refused.
struct Refusal {
  Guarded<float> x{{32, 64}};
  Bytes payload{32 * 64}, scales{32 * 64 * 4}, global_scale{4}, amax{4};
  Bytes statistics{sizeof(papillon::QuantizeStatistics)};
  papillon::ConstTensorDescriptor array = x.const_descriptor();

  papillon::BlockScaledView view(const QuantizeOptions& options) {
    try {
      const auto layout = papillon::quantized_layout(array.shape(), options);
      return {payload.span().first(layout.payload_bytes), scales.span().first(layout.scale_bytes),
              global_scale.pointer<float>()};
    } catch (const std::invalid_argument&) {
      return {payload.span(), scales.span(), global_scale.pointer<float>()};
    }
  }

  void untouched() {
    CHECK(x.untouched());
    for (auto* buffer : {&payload, &scales, &global_scale, &amax, &statistics}) CHECK(buffer->untouched());
  }

  /// Message of the refused quantize.
  std::string operator()(QuantizeOptions options, const papillon::BlockScaledView& q) {
    options.amax = amax.pointer<float>();
    options.statistics = statistics.pointer<papillon::QuantizeStatistics>();
    std::string message = "not refused";
    try {
      papillon::quantize(Space{}, array, q, options);
    } catch (const std::invalid_argument& error) {
      message = error.what();
      untouched();
    }
    Space{}.fence();
    return message;
  }
  std::string operator()(const QuantizeOptions& options) { return (*this)(options, view(options)); }

  /// Message of the refused dequantize into `array`.
  std::string back(const QuantizeOptions& options, const papillon::BlockScaledView& q) {
    papillon::TensorDescriptor y{const_cast<void*>(array.data), array.type, array.rank, array.extents,
                                 array.strides};
    std::string message = "not refused";
    try {
      papillon::dequantize(Space{}, papillon::ConstBlockScaledView{q.payload, q.scales, q.global_scale}, y,
                           options);
    } catch (const std::invalid_argument& error) {
      message = error.what();
      untouched();
    }
    Space{}.fence();
    return message;
  }
};

/// Every part occurs in the text.
void says(const std::string& text, std::initializer_list<const char*> parts) {
  INFO(text);
  for (const char* part : parts) {
    INFO("looking for: ", part);
    CHECK(text.find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("quantize refuses: options") {
  const auto message = [](const QuantizeOptions& options) { return Refusal{}(options); };
  CHECK(message({}) == "not refused");
  says(message({.axis = 2}), {"papillon::quantize: ", "axis", "2"});
  says(message({.axis = -3}), {"axis", "-3"});
  says(message({.format = static_cast<BlockFormat>(99)}), {"format", "99"});
  says(message({.block_shape = static_cast<BlockShape>(98)}), {"block_shape", "98"});
  says(message({.scale_rule = static_cast<ScaleRule>(97)}), {"scale_rule", "97"});
  says(message({.scale_layout = static_cast<ScaleLayout>(96)}), {"scale_layout", "96"});
  says(message({.global_scale_source = static_cast<GlobalScaleSource>(95)}), {"global_scale_source", "95"});
  says(message({.rounding = static_cast<papillon::Rounding>(94)}), {"rounding", "94"});
  says(message({.block = 17}), {"block", "17", "nvfp4"});
  says(message({.format = BlockFormat::mxfp4, .block = 16}), {"block", "16", "mxfp4"});
  says(message({.format = BlockFormat::int8, .block = -1}), {"block", "-1"});
  says(message({.format = BlockFormat::int8, .block_shape = BlockShape::square}), {"block"});
  says(message({.scale_rule = ScaleRule::ocp}), {"scale_rule", "ocp", "nvfp4"});
  says(message({.format = BlockFormat::mxfp4, .scale_rule = ScaleRule::divide}),
       {"scale_rule", "divide", "mxfp4"});
  says(message({.format = BlockFormat::fp8_e4m3, .scale_rule = ScaleRule::transformer_engine}),
       {"scale_rule", "transformer_engine", "fp8_e4m3"});
  says(message({.format = BlockFormat::mxfp8_e4m3, .scale_rule = ScaleRule::symmetric}),
       {"scale_rule", "symmetric", "mxfp8_e4m3"});
  for (const auto format :
       {BlockFormat::int8, BlockFormat::int4, BlockFormat::fp8_e4m3, BlockFormat::fp8_e5m2})
    says(message({.format = format, .scale_layout = ScaleLayout::swizzled}),
         {"scale_layout", "swizzled", std::string(papillon::name_of(format)).c_str()});
  says(message({.rotation = 48}), {"rotation", "48", "64"});
  says(message({.rotation = -2}), {"rotation", "-2"});
  says(message({.rotation = 128}), {"rotation", "128", "64"});
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0f, -0.5f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()})
    says(message({.global_scale_source = GlobalScaleSource::given, .global_scale = bad}),
         {"global_scale", std::isnan(bad)   ? "nan"
                          : std::isinf(bad) ? "inf"
                          : bad == 0        ? "0"
                                            : "-0.5"});
}

TEST_CASE("quantize refuses: signs that do not fit") {
  const std::vector<std::int8_t> signs(32, 1);
  QuantizeOptions options{.rotation = 16, .signs = {.values = signs}};
  says(Refusal{}(options), {"signs", "32", "16"});
  options.signs = {.values = {signs.data(), 16}, .seed = 3u};
  says(Refusal{}(options), {"signs", "seed"});
  options.signs = {.values = {signs.data(), 16}, .side = papillon::SignSide::output};
  says(Refusal{}(options), {"signs", "output"});
  options = {.signs = {.seed = 3u}};  // no rotation
  says(Refusal{}(options), {"signs", "rotation"});
}

TEST_CASE("quantize refuses: a whole axis without a Hadamard matrix") {
  Refusal refusal;
  refusal.array.extents[1] = 23;
  says(refusal({.rotation = papillon::whole_axis}), {"23"});
}

TEST_CASE("quantize refuses: buffers of the wrong size") {
  for (const auto format : {BlockFormat::nvfp4, BlockFormat::mxfp8_e5m2, BlockFormat::int4})
    for (const auto layout : {ScaleLayout::row_major, ScaleLayout::swizzled}) {
      if (format == BlockFormat::int4 && layout == ScaleLayout::swizzled) continue;
      Refusal refusal;
      const QuantizeOptions options{.format = format, .scale_layout = layout};
      const auto q = refusal.view(options);
      const auto text = [](std::size_t bytes) { return std::to_string(bytes); };
      for (const int change : {-1, 1, 16}) {
        const auto resized = [&](std::span<std::uint8_t> bytes) {
          return std::span<std::uint8_t>(bytes.data(), bytes.size() + static_cast<std::size_t>(change));
        };
        auto wrong = q;
        wrong.payload = resized(q.payload);
        says(refusal(options, wrong),
             {"payload", text(wrong.payload.size()).c_str(), text(q.payload.size()).c_str()});
        says(refusal.back(options, wrong),
             {"papillon::dequantize: ", "payload", text(q.payload.size()).c_str()});
        wrong = q;
        wrong.scales = resized(q.scales);
        says(refusal(options, wrong),
             {"scales", text(wrong.scales.size()).c_str(), text(q.scales.size()).c_str()});
        says(refusal.back(options, wrong), {"scales", text(q.scales.size()).c_str()});
      }
      auto wrong = q;
      wrong.payload = {};
      says(refusal(options, wrong), {"payload"});
      wrong = q;
      wrong.scales = {};
      says(refusal(options, wrong), {"scales"});
      wrong = q;
      wrong.payload = {static_cast<std::uint8_t*>(nullptr), q.payload.size()};
      says(refusal(options, wrong), {"payload", "null"});
      says(refusal.back(options, wrong), {"payload", "null"});
    }
  Refusal refusal;
  auto q = refusal.view({});
  q.global_scale = nullptr;
  says(refusal({}, q), {"global_scale", "null"});
  says(refusal.back({}, q), {"global_scale", "null"});
}

TEST_CASE("quantize refuses: buffers that are not aligned") {
  Refusal refusal;
  const auto q = refusal.view({});
  for (const std::size_t shift : {1, 8}) {
    auto wrong = q;
    wrong.payload = {q.payload.data() + shift, q.payload.size()};
    says(refusal({}, wrong), {"payload", "align"});
    says(refusal.back({}, wrong), {"payload", "align"});
    wrong = q;
    wrong.scales = {q.scales.data() + shift, q.scales.size()};
    says(refusal({}, wrong), {"scales", "align"});
    says(refusal.back({}, wrong), {"scales", "align"});
  }
  auto wrong = q;
  wrong.global_scale = reinterpret_cast<float*>(reinterpret_cast<std::uintptr_t>(q.global_scale) + 1);
  says(refusal({}, wrong), {"global_scale", "align"});
}

TEST_CASE("quantize refuses: buffers that overlap") {
  Refusal refusal;
  const auto q = refusal.view({});
  auto* const inside = const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(refusal.array.data));
  const auto aligned =
      reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(inside) + 63) / 64 * 64);
  auto wrong = q;
  wrong.payload = {aligned, q.payload.size()};
  says(refusal({}, wrong), {"payload", "overlap"});
  says(refusal.back({}, wrong), {"payload", "overlap"});
  wrong = q;
  wrong.scales = {aligned, q.scales.size()};
  says(refusal({}, wrong), {"scales", "overlap"});
  says(refusal.back({}, wrong), {"scales", "overlap"});
  wrong = q;
  wrong.global_scale = reinterpret_cast<float*>(aligned);
  says(refusal({}, wrong), {"global_scale", "overlap"});
  says(refusal.back({}, wrong), {"global_scale", "overlap"});
  wrong = q;
  wrong.scales = {q.payload.data() + 16, q.scales.size()};
  says(refusal({}, wrong), {"payload", "scales", "overlap"});
  wrong = q;
  wrong.global_scale = reinterpret_cast<float*>(q.scales.data());
  says(refusal({}, wrong), {"global_scale", "scales", "overlap"});
  const papillon::Workspace workspace{q.payload.data() + 16, 64};
  says(refusal({.workspace = workspace}, q), {"payload", "workspace", "overlap"});
}

TEST_CASE("quantize refuses: arrays of the wrong kind") {
  Refusal refusal;
  for (const auto type : {papillon::ScalarType::int32, papillon::ScalarType::int64,
                          papillon::ScalarType::complex64, papillon::ScalarType::complex128}) {
    refusal.array.type = type;
    says(refusal({}, refusal.view({})), {"x", std::string(papillon::name_of(type)).c_str()});
    says(refusal.back({}, refusal.view({})), {"y", std::string(papillon::name_of(type)).c_str()});
  }
  refusal.array = refusal.x.const_descriptor();
  refusal.array.rank = 5;
  refusal.array.extents = {1, 1, 1, 32, 64};
  refusal.array.strides = {0, 0, 0, 64, 1};
  says(refusal({}), {"rank", "5"});
  refusal.array.rank = 0;
  says(refusal({}), {"rank", "0"});
  refusal.array = refusal.x.const_descriptor();
  refusal.array.extents[0] = -1;
  says(refusal({}), {"-1"});
  refusal.array = refusal.x.const_descriptor();
  refusal.array.data = nullptr;
  says(refusal({}), {"x", "null"});
  says(refusal.back({}, refusal.view({})), {"y", "null"});
  refusal.array = refusal.x.const_descriptor();
  refusal.array.strides[0] = 0;  // every row of y would be one
  says(refusal.back({}, refusal.view({})), {"y"});
}

TEST_CASE("quantize refuses: a workspace that is too small") {
  for_each_space([](const auto& space) {
    using ThisSpace = std::decay_t<decltype(space)>;
    QuantizeCase<papillon::bfloat16> problem{{3, 1 << 16}, {.rotation = papillon::whole_axis}};
    problem.x = random_values<papillon::bfloat16>(volume(problem.shape), 3);
    const auto expected = problem.expected();
    Guarded<papillon::bfloat16, ThisSpace> x(problem.shape, Memory::row_major, problem.x);
    ByteBuffer<ThisSpace> payload(expected.payload.size()), scales(expected.scales.size()), global_scale(4);
    const papillon::BlockScaledView q{payload.span(), scales.span(), global_scale.template pointer<float>()};
    const std::size_t bytes =
        papillon::quantize_workspace_bytes(space, x.const_descriptor(), q, problem.options);
    if (bytes == 0) return;
    ByteBuffer<ThisSpace> workspace(bytes);
    problem.options.workspace = {workspace.span().data(), bytes - 1};
    CHECK_THROWS_WITH_AS(papillon::quantize(space, x.const_descriptor(), q, problem.options),
                         doctest::Contains("workspace"), std::invalid_argument);
    for (auto* buffer : {&payload, &scales, &global_scale, &workspace}) CHECK(buffer->untouched());
    problem.options.workspace.bytes = bytes;
    papillon::quantize(space, x.const_descriptor(), q, problem.options);
    space.fence();
    check_same_bytes(payload.get(), expected.payload, "payload");
    check_same_bytes(scales.get(), expected.scales, "scales");
    CHECK(workspace.surroundings_intact());
  });
}

TEST_CASE("quantized_layout: sizes, and what it refuses") {
  const auto layout = [](std::vector<std::int64_t> shape, const QuantizeOptions& options) {
    return papillon::quantized_layout(shape, options);
  };
  auto l = layout({90, 48}, {.scale_layout = ScaleLayout::swizzled});
  CHECK(l.rows == 90);
  CHECK(l.columns == 48);
  CHECK(l.block == 16);
  CHECK(l.blocks == 3);
  CHECK(l.element_bits == 4);
  CHECK(l.scale_element_bytes == 1);
  CHECK(l.row_bytes == 24);
  CHECK(l.scale_rows == 128);
  CHECK(l.scale_columns == 4);
  CHECK(l.payload_bytes == 90 * 24);
  CHECK(l.scale_bytes == 512);
  l = layout({3, 5, 7}, {.format = BlockFormat::int4, .axis = 1});
  CHECK(l.rows == 21);
  CHECK(l.columns == 5);
  CHECK(l.block == 5);
  CHECK(l.blocks == 1);
  CHECK(l.row_bytes == 3);
  CHECK(l.scale_bytes == 84);
  l = layout({4, 33}, {.format = BlockFormat::mxfp8_e4m3});
  CHECK(l.row_bytes == 64);
  CHECK(l.payload_bytes == 256);
  CHECK(l.scale_bytes == 8);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& shape : {std::vector<std::int64_t>{most, 16}, {16, most}, {1 << 30, 1 << 30, 1 << 30}})
    CHECK_THROWS_AS(layout(shape, {}), std::invalid_argument);
  CHECK_THROWS_AS(layout({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(layout({1, 1, 1, 1, 1}, {}), std::invalid_argument);
  CHECK_THROWS_AS(layout({4, -1}, {}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(layout({4, 4}, {.axis = 7}), doctest::Contains("axis = 7"), std::invalid_argument);
  // More elements than 32 bits count: sizes are right.
  l = layout({(std::int64_t{1} << 31) + 1, 64}, {});
  CHECK(l.rows == (std::int64_t{1} << 31) + 1);
  CHECK(l.payload_bytes == 32 * ((std::size_t{1} << 31) + 1));
}
