// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// quantize against the oracle, bit for bit: codes, scales, global scale, amax, statistics.
#include "papillon/quantize.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "support/quantize_case.hpp"

namespace {

using namespace papillon_test;
using papillon::BlockFormat;
using papillon::BlockShape;
using papillon::GlobalScaleSource;
using papillon::QuantizeOptions;
using papillon::Rounding;
using papillon::ScaleLayout;
using papillon::ScaleRule;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Every format with every rule and several block lengths where they are free.
std::vector<QuantizeOptions> formats_and_rules() {
  std::vector<QuantizeOptions> all;
  for (const auto rule : {ScaleRule::automatic, ScaleRule::divide, ScaleRule::transformer_engine})
    all.push_back({.format = BlockFormat::nvfp4, .scale_rule = rule});
  for (const auto format : {BlockFormat::mxfp4, BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2})
    for (const auto rule : {ScaleRule::automatic, ScaleRule::ocp, ScaleRule::round_up})
      all.push_back({.format = format, .scale_rule = rule});
  for (const auto format :
       {BlockFormat::fp8_e4m3, BlockFormat::fp8_e5m2, BlockFormat::int8, BlockFormat::int4})
    for (const std::int64_t block : {0, 1, 7, 32, 1000})
      all.push_back({.format = format,
                     .block = block,
                     .scale_rule = block == 7 ? ScaleRule::symmetric : ScaleRule::automatic});
  return all;
}

bool has_byte_scales(const QuantizeOptions& options) { return options.format <= BlockFormat::mxfp8_e5m2; }

/// Every combination of format, rule, layout, shape and rounding that exists.
std::vector<QuantizeOptions> all_options() {
  std::vector<QuantizeOptions> all;
  for (QuantizeOptions options : formats_and_rules())
    for (const auto layout : {ScaleLayout::row_major, ScaleLayout::swizzled})
      for (const auto shape : {BlockShape::vector, BlockShape::square})
        for (const auto rounding : {Rounding::nearest_even, Rounding::stochastic}) {
          if (layout == ScaleLayout::swizzled && !has_byte_scales(options)) continue;
          if (shape == BlockShape::square && !has_byte_scales(options) && options.block == 0) continue;
          options.scale_layout = layout;
          options.block_shape = shape;
          options.rounding = rounding;
          options.random_seed = 0x0123456789abcdef;
          options.random_offset = 0xfedcba9876543210;
          all.push_back(options);
        }
  return all;
}

/// Data with magnitudes over many powers of two and blocks of zeros.
template <class T>
std::vector<T> drawn(const Shape& shape, std::uint64_t seed) {
  auto values = random_values<T>(volume(shape), seed, Data::scaled);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / 50 % 7 == 3) values[i] = T(0.0f);
  return values;
}

/// Puts NaN, infinities, zeros of both signs, subnormals and the largest number among the values.
template <class T>
void sprinkle(std::vector<T>& values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const float specials[] = {not_a_number, -not_a_number, infinity,
                            -infinity,    0.0f,          -0.0f,
                            1e-44f,       -3e-39f,       std::numeric_limits<float>::max()};
  for (T& value : values)
    if (engine() % 11 == 0) value = T(specials[engine() % std::size(specials)]);
}

template <class T>
QuantizeCase<T> make_case(const Shape& shape, const QuantizeOptions& options, std::uint64_t seed = 1) {
  return {shape, options, drawn<T>(shape, seed)};
}

}  // namespace

TEST_CASE_TEMPLATE("quantize: every format, rule, layout, block shape and rounding", T,
                   PAPILLON_REAL_SCALARS) {
  for (const auto& options : all_options()) {
    check_everywhere(make_case<T>({35, 70}, options));
    auto special = make_case<T>({3, 18, 45}, options, 2);
    sprinkle(special.x, 3);
    check_everywhere(special);
  }
}

TEST_CASE("quantize: every shape") {
  using T = papillon::bfloat16;
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 90, 127, 128, 129, 384})
    for (const std::int64_t n : {1, 15, 16, 17, 48, 64, 528, 1040, 2048}) {
      const Shape shape{rows, n};
      check_everywhere(make_case<T>(shape, {.scale_layout = ScaleLayout::swizzled}));
      check_everywhere(make_case<T>(shape, {.format = BlockFormat::mxfp8_e4m3,
                                            .block_shape = BlockShape::square,
                                            .scale_layout = ScaleLayout::swizzled,
                                            .rounding = Rounding::stochastic}));
      check_everywhere(make_case<T>(shape, {.format = BlockFormat::int4, .block = 24}));
      check_everywhere(make_case<T>(shape, {.format = BlockFormat::mxfp4}));
      check_everywhere(make_case<T>(shape, {.axis = 0, .block_shape = BlockShape::square}));
    }
}

TEST_CASE("quantize: square blocks longer than rows, or than there are rows") {
  for (const auto format : {BlockFormat::int8, BlockFormat::int4, BlockFormat::fp8_e4m3})
    for (const Shape& shape : {Shape{64, 48}, Shape{48, 64}, Shape{130, 40}, Shape{3, 64, 48}})
      for (const std::int64_t block : {48, 64, 128})
        check_everywhere(
            make_case<float>(shape, {.format = format, .block = block, .block_shape = BlockShape::square}));
}

TEST_CASE("quantize: the sizes of matrix products, with the rotation in the same pass") {
  using T = papillon::bfloat16;
  for (const std::int64_t rows : {32, 90, 384, 512, 1024})
    for (const std::int64_t n : {48, 64, 528, 1040, 2048}) {
      const QuantizeOptions options{
          .scale_layout = ScaleLayout::swizzled, .rotation = 16, .signs = {.seed = 5u}};
      check_everywhere(make_case<T>({rows, n}, options));
    }
}

TEST_CASE_TEMPLATE("quantize: any rank, axis and memory layout", T, PAPILLON_REAL_SCALARS) {
  std::mt19937 random(17);
  const auto options = all_options();
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::size_t rank = 1 + random() % 4;
    Shape shape;
    for (std::size_t d = 0; d < rank; ++d)
      shape.push_back(1 + static_cast<std::int64_t>(random() % (rank == 1 ? 2000 : rank == 2 ? 70 : 20)));
    auto problem = make_case<T>(shape, options[random() % options.size()], random());
    problem.options.axis = static_cast<int>(random() % (2 * rank)) - static_cast<int>(rank);
    if (problem.options.block > problem.n()) problem.options.block = 0;
    if (problem.options.block == 0 && !has_byte_scales(problem.options))
      problem.options.block_shape = BlockShape::vector;
    if (random() % 4 == 0) sprinkle(problem.x, random());
    check_everywhere(problem, all_memories[random() % std::size(all_memories)]);
  }
}

TEST_CASE("quantize: a repeated input, stride 0") {
  const Kokkos::DefaultHostExecutionSpace space;
  QuantizeCase<float> problem = make_case<float>({6, 40}, {.format = BlockFormat::mxfp4});
  for (std::size_t i = 40; i < problem.x.size(); ++i) problem.x[i] = problem.x[i - 40];
  const auto expected = problem.expected();
  auto x = papillon::row_major(problem.x.data(), {6, 40});
  x.strides[0] = 0;
  ByteBuffer<Kokkos::DefaultHostExecutionSpace> payload(expected.payload.size()),
      scales(expected.scales.size());
  papillon::quantize(space, papillon::ConstTensorDescriptor(x), {payload.span(), scales.span()},
                     problem.options);
  space.fence();
  CHECK(payload.get() == expected.payload);
  CHECK(scales.get() == expected.scales);
}

TEST_CASE_TEMPLATE("quantize: a rotation in the same pass is hadamard and then quantize", T,
                   PAPILLON_REAL_SCALARS) {
  // The oracle rotates by `hadamard` to float32 (double for double) before it quantises.
  static constexpr std::int8_t pattern[4096] = {1, -1, -1, 1, 1, 1, -1, 1, -1};
  std::vector<std::int8_t> signs(std::begin(pattern), std::end(pattern));
  for (std::size_t i = 9; i < signs.size(); ++i) signs[i] = i % 3 == 1 ? -1 : 1;
  const struct {
    std::int64_t n, rotation;
  } rotations[] = {{64, 16},
                   {64, 32},
                   {128, 64},
                   {256, 128},
                   {512, 256},
                   {80, 16},
                   {96, 32},
                   {24, 12},
                   {40, 20},
                   {16, papillon::whole_axis},
                   {1, papillon::whole_axis},
                   {2, papillon::whole_axis},
                   {12, papillon::whole_axis},
                   {80, papillon::whole_axis},
                   {192, papillon::whole_axis},
                   {1024, papillon::whole_axis},
                   {3584, papillon::whole_axis},
                   {4096, papillon::whole_axis}};
  for (const auto& [n, rotation] : rotations)
    for (auto options : formats_and_rules()) {
      if (options.block > n || options.block == 7) continue;
      options.rotation = rotation;
      for (const int kind : {0, 1, 2}) {
        const std::int64_t length = rotation == papillon::whole_axis ? n : rotation;
        options.signs = {};
        if (kind == 1) options.signs.seed = 77u;
        if (kind == 2) options.signs.values = {signs.data(), static_cast<std::size_t>(length)};
        options.rounding = kind == 1 ? Rounding::stochastic : Rounding::nearest_even;
        const std::int64_t rows = n > 1000 ? 2 : 5;
        options.axis = -1;
        check_everywhere(make_case<T>({rows, n}, options));
        if (n > 300) continue;
        options.axis = 0;
        check_everywhere(make_case<T>({n, rows}, options), Memory::strided);
        options.axis = 1;
        auto special = make_case<T>({2, n, 3}, options, 4);
        special.x[special.x.size() / 2] = T(not_a_number);
        special.x[special.x.size() / 3] = T(infinity);
        check_everywhere(special);
      }
    }
}

TEST_CASE("quantize: a long rotated row") {
  for (const std::int64_t n : {1 << 15, 28672, 1 << 18, 12 << 15}) {
    const QuantizeOptions options{.rotation = papillon::whole_axis, .signs = {.seed = 3u}};
    check_everywhere(make_case<papillon::half>({2, n}, options));
    check_everywhere(make_case<float>(
        {n, 2}, {.format = BlockFormat::mxfp8_e5m2, .axis = 0, .rotation = papillon::whole_axis}));
  }
}

TEST_CASE_TEMPLATE("quantize: the global scale computed, given and kept", T, PAPILLON_REAL_SCALARS) {
  for (const auto rule : {ScaleRule::divide, ScaleRule::transformer_engine})
    for (const float scale : {1.0f, 0.37f, 1e-6f, 1e6f, 1e-40f, 1e-45f, 3e38f,
                              std::numeric_limits<float>::min(), std::numeric_limits<float>::max()})
      for (const auto source : {GlobalScaleSource::given, GlobalScaleSource::kept}) {
        CAPTURE(scale);
        auto problem = make_case<T>({4, 100}, {.scale_rule = rule, .global_scale_source = source});
        problem.options.global_scale = source == GlobalScaleSource::given ? scale : 0.0f;
        problem.kept = scale;
        check_everywhere(problem);
        sprinkle(problem.x, 9);
        check_everywhere(problem);
      }
  for (const auto rule : {ScaleRule::divide, ScaleRule::transformer_engine})
    for (const float bad : {0.0f, -0.0f, -1.0f, infinity, -infinity, not_a_number}) {
      CAPTURE(bad);
      auto problem =
          make_case<T>({4, 100}, {.scale_rule = rule, .global_scale_source = GlobalScaleSource::kept});
      problem.kept = bad;
      check_everywhere(problem);
    }
}

TEST_CASE("quantize: scales at the ties of E4M3, where the order of the roundings shows") {
  const auto& values = oracle::magnitudes(oracle::Element::e4m3);
  for (const auto rule : {ScaleRule::divide, ScaleRule::transformer_engine})
    for (const float scale : {1.0f, 0.37f, 1.0f / 3, 0.0123f, 17.7f}) {
      QuantizeCase<float> problem;
      problem.options = {
          .scale_rule = rule, .global_scale_source = GlobalScaleSource::given, .global_scale = scale};
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        auto amax = static_cast<float>((values[i] + values[i + 1]) / 2 * 6 * static_cast<double>(scale));
        for (int ulp = 0; ulp < 4; ++ulp) amax = std::nextafter(amax, 0.0f);
        for (int ulp = 0; ulp < 9; ++ulp, amax = std::nextafter(amax, infinity))
          for (int element = 0; element < 16; ++element)
            problem.x.push_back(amax / static_cast<float>(1 + element));
      }
      problem.shape = {static_cast<std::int64_t>(problem.x.size())};
      check_everywhere(problem);
    }
}

TEST_CASE_TEMPLATE("quantize: tensors and blocks of one value", T, PAPILLON_REAL_SCALARS) {
  const float values[] = {
      0.0f,     -0.0f,     1.0f,         6.0f,    448.0f,   65504.0f, 5.7e-35f,
      6.3e-38f, 1e-40f,    2e-42f,       1e-44f,  1.5e-45f, 3.3e38f,  std::numeric_limits<float>::max(),
      infinity, -infinity, not_a_number, 7.9839f, 31.8698f, 7.0f,     3.9f};
  for (const auto& options : all_options())
    for (const float value : values) {
      if (options.rounding == Rounding::stochastic && options.block_shape == BlockShape::square) continue;
      CAPTURE(value);
      QuantizeCase<T> whole{{3, 40}, options, std::vector<T>(120, T(value))};
      check_everywhere(whole);
      QuantizeCase<T> one_block = make_case<T>({3, 40}, options);
      for (std::size_t i = 40; i < 56; ++i) one_block.x[i] = T(value);
      check_everywhere(one_block);
      QuantizeCase<T> alone{{1, 40}, options, std::vector<T>(40, T(0.0f))};
      alone.x[17] = T(value);
      check_everywhere(alone);
    }
}

TEST_CASE("quantize: a scale just below a power of two rounds up") {
  const Kokkos::DefaultHostExecutionSpace space;
  const struct {
    float scale;
    unsigned code;  // E4M3
  } cases[] = {{7.9839f, 0x50}, {31.8698f, 0x60}, {7.0f, 0x4e}, {3.9f, 0x48}};
  for (const auto& [scale, code] : cases) {
    CAPTURE(scale);
    QuantizeCase<float> problem{{1, 16},
                                {.global_scale_source = GlobalScaleSource::given, .global_scale = 1},
                                std::vector<float>(16, 6 * scale)};
    const auto q = problem.run(space);
    CHECK(static_cast<unsigned>(q.scales[0]) == code);
    CHECK(q.payload == std::vector<std::uint8_t>(8, 0x77));
  }
}

TEST_CASE("quantize: no rows, no columns") {
  for (const auto& options : all_options()) {
    check_everywhere(make_case<float>({0, 40}, options));
    check_everywhere(make_case<float>({40, 0, 3}, options));
    auto axis = options;
    axis.axis = 1;
    check_everywhere(make_case<float>({40, 0}, axis));
  }
}

TEST_CASE("quantize: stochastic rounding is that of the seed and the offset") {
  const Kokkos::DefaultHostExecutionSpace space;
  const auto codes = [&](std::uint64_t seed, std::uint64_t offset) {
    auto problem =
        make_case<float>({9, 333}, {.format = BlockFormat::int8, .rounding = Rounding::stochastic});
    problem.options.random_seed = seed;
    problem.options.random_offset = offset;
    check_everywhere(problem);
    return problem.run(space).payload;
  };
  const auto first = codes(1, 0);
  CHECK(codes(1, 0) == first);
  CHECK(codes(2, 0) != first);
  CHECK(codes(1, 1) != first);
  CHECK(codes(1, std::uint64_t{1} << 32) != first);
  CHECK(codes(std::uint64_t{1} << 32 | 1, 0) != first);
}

TEST_CASE("quantize: Views of any layout") {
  const auto fill = [](const auto& x) {
    for (std::size_t i = 0; i < x.extent(0); ++i)
      for (std::size_t j = 0; j < x.extent(1); ++j)
        x(i, j) = papillon::bfloat16(static_cast<float>(static_cast<int>((37 * i + 11 * j) % 101) - 50));
  };
  const QuantizeOptions options{.scale_layout = ScaleLayout::swizzled, .rotation = 16};
  QuantizeCase<papillon::bfloat16> problem{{33, 48}, options};
  for (std::size_t i = 0; i < 33; ++i)
    for (std::size_t j = 0; j < 48; ++j)
      problem.x.emplace_back(static_cast<float>(static_cast<int>((37 * i + 11 * j) % 101) - 50));
  const auto expected = problem.expected();
  const auto check = [&](const auto& x) {
    const Kokkos::DefaultHostExecutionSpace space;
    fill(x);
    ByteBuffer<Kokkos::DefaultHostExecutionSpace> payload(expected.payload.size()),
        scales(expected.scales.size()), global_scale(4);
    papillon::quantize(space, x, {payload.span(), scales.span(), global_scale.pointer<float>()}, options);
    space.fence();
    check_same_bytes(payload.get(), expected.payload, "payload");
    check_same_bytes(scales.get(), expected.scales, "scales");
    CHECK(same_float(global_scale.get_as<float>(), expected.global_scale));
    CHECK(payload.surroundings_intact());
    CHECK(scales.surroundings_intact());
    CHECK(global_scale.surroundings_intact());
  };
  using T = papillon::bfloat16;
  check(Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>("right", 33, 48));
  check(Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::HostSpace>("left", 33, 48));
  check(Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace>(
      Kokkos::view_alloc(Kokkos::AllowPadding, "padded"), 33, 48));
  check(Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::HostSpace>("strided",
                                                                   Kokkos::LayoutStride(33, 60, 48, 1)));
  const Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::HostSpace> larger("larger", 40, 61);
  check(Kokkos::subview(larger, std::pair(5, 38), std::pair(7, 55)));
  const Kokkos::View<T***, Kokkos::LayoutLeft, Kokkos::HostSpace> cube("cube", 33, 2, 48);
  check(Kokkos::subview(cube, Kokkos::ALL, 1, Kokkos::ALL));
}

TEST_CASE("quantize: outputs that are not asked for are not written, and change no bit") {
  for_each_space([](const auto& space) {
    using Space = std::decay_t<decltype(space)>;
    const auto problem = make_case<float>({20, 50}, {.rotation = 0});
    const auto expected = problem.expected();
    Guarded<float, Space> x(problem.shape, Memory::row_major, problem.x);
    ByteBuffer<Space> payload(expected.payload.size()), scales(expected.scales.size()), global_scale(4);
    papillon::quantize(space, x.const_descriptor(),
                       {payload.span(), scales.span(), global_scale.template pointer<float>()},
                       problem.options);
    space.fence();
    check_same_bytes(payload.get(), expected.payload, "payload");
    check_same_bytes(scales.get(), expected.scales, "scales");
  });
}

TEST_CASE_TEMPLATE("quantize: two copies along two axes are what two calls give", T, PAPILLON_REAL_SCALARS) {
  for (const auto& options : all_options()) {
    if (options.block == 1000) continue;
    for_each_space([&](const auto& space) {
      using Space = std::decay_t<decltype(space)>;
      auto first = make_case<T>({3, 32, 48}, options);
      if (options.format != BlockFormat::int4) first.options.rotation = 16;
      first.options.axis = 2;
      auto second = first;
      second.options.axis = 1;
      const auto one = first.expected(), other = second.expected();
      INFO(first.describe());
      Guarded<T, Space> x(first.shape, Memory::padded, first.x);
      ByteBuffer<Space> payload(one.payload.size()), scales(one.scales.size()), global(4);
      ByteBuffer<Space> other_payload(other.payload.size()), other_scales(other.scales.size()),
          other_global(4);
      ByteBuffer<Space> amax(4);
      auto with_outputs = first.options;
      with_outputs.amax = amax.template pointer<float>();
      const bool scaled = first.has_global_scale();
      papillon::quantize(space, x.const_descriptor(),
                         {payload.span(), scales.span(), scaled ? global.template pointer<float>() : nullptr},
                         {other_payload.span(), other_scales.span(),
                          scaled ? other_global.template pointer<float>() : nullptr},
                         -2, with_outputs);
      space.fence();
      check_same_bytes(payload.get(), one.payload, "payload");
      check_same_bytes(scales.get(), one.scales, "scales");
      check_same_bytes(other_payload.get(), other.payload, "payload of the other copy");
      check_same_bytes(other_scales.get(), other.scales, "scales of the other copy");
      CHECK(same_float(amax.template get_as<float>(), one.amax));
      if (scaled) {
        CHECK(same_float(global.template get_as<float>(), one.global_scale));
        CHECK(same_float(other_global.template get_as<float>(), other.global_scale));
      }
      for (auto* buffer : {&payload, &scales, &global, &other_payload, &other_scales, &other_global, &amax})
        CHECK(buffer->surroundings_intact());
    });
  }
}
