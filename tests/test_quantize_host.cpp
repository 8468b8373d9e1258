// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// quantize and dequantize: the vector kernels of host spaces, with every instruction set, give the bits of
// the plain form.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "papillon/generic/simd/quantize.hpp"
#include "papillon/quantize.hpp"
#include "support/guarded.hpp"
#include "support/spaces.hpp"
#include "support/targets.hpp"

namespace {

using namespace papillon_test;
using papillon::BlockFormat;
using papillon::BlockShape;
using papillon::GlobalScaleSource;
using papillon::QuantizedLayout;
using papillon::QuantizeOptions;
using papillon::QuantizeStatistics;
using papillon::Rounding;
using papillon::ScaleLayout;
using papillon::ScaleRule;
using papillon::detail::BlockScaling;
using papillon::detail::ElementFormat;
using papillon::detail::GlobalScale;
using papillon::detail::RoundingBits;
namespace core = papillon::detail;
namespace simd = papillon::simd;

/// A format with one of its rules.
struct Scheme {
  BlockFormat format;
  ScaleRule rule;
};
constexpr Scheme all_schemes[] = {
    {BlockFormat::nvfp4, ScaleRule::divide},       {BlockFormat::nvfp4, ScaleRule::transformer_engine},
    {BlockFormat::mxfp4, ScaleRule::ocp},          {BlockFormat::mxfp4, ScaleRule::round_up},
    {BlockFormat::mxfp8_e4m3, ScaleRule::ocp},     {BlockFormat::mxfp8_e4m3, ScaleRule::round_up},
    {BlockFormat::mxfp8_e5m2, ScaleRule::ocp},     {BlockFormat::mxfp8_e5m2, ScaleRule::round_up},
    {BlockFormat::fp8_e4m3, ScaleRule::symmetric}, {BlockFormat::fp8_e5m2, ScaleRule::symmetric},
    {BlockFormat::int8, ScaleRule::symmetric},     {BlockFormat::int4, ScaleRule::symmetric}};

std::string name_of(const Scheme& scheme) {
  return std::string(papillon::name_of(scheme.format)) + " " + std::string(papillon::name_of(scheme.rule));
}

constexpr std::size_t step = simd::code_step;

/// All sign and exponent bits with 7 bits of the significand, and the floats around and half-way between
/// them.
std::vector<float> floats_of_all_kinds() {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0x0u, 0x1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  REQUIRE(values.size() % step == 0);
  return values;
}

std::uint8_t code_at(const std::vector<std::uint8_t>& payload, std::size_t i, bool nibbles) {
  return nibbles ? payload[i / 2] >> (4 * (i % 2)) & 0xf : payload[i];
}

bool has_nibbles(BlockFormat format) {
  const ElementFormat element = core::element_format(format);
  return element == ElementFormat::e2m1 || element == ElementFormat::int4;
}

/// What a call writes.
struct Result {
  std::vector<std::uint8_t> payload, scales;
  float global = -1.0f;
  float amax = -1.0f;
  QuantizeStatistics statistics;
};

void check_same(const Result& a, const Result& b) {
  CHECK(first_difference(a.scales, b.scales) == -1);
  CHECK(first_difference(a.payload, b.payload) == -1);
  CHECK(same_bits(a.global, b.global));
  CHECK(same_bits(a.amax, b.amax));
  CHECK(a.statistics.nan == b.statistics.nan);
  CHECK(a.statistics.infinite == b.statistics.infinite);
  CHECK(a.statistics.saturated == b.statistics.saturated);
  CHECK(a.statistics.zero_scale_blocks == b.statistics.zero_scale_blocks);
  CHECK(a.statistics.bad_global_scale == b.statistics.bad_global_scale);
}

/// A call on an array of T.
template <class T>
struct Call {
  Shape shape;
  QuantizeOptions options = {};
  Memory memory = Memory::row_major;
  bool counts = false;  ///< asks for amax and statistics
  float kept = 1.0f;
  std::vector<T> x = {};

  QuantizedLayout layout() const { return papillon::quantized_layout(shape, options); }

  template <class Run>
  Result run(const Run& quantize) const {
    constexpr std::size_t guard = 64;
    const QuantizedLayout layout = this->layout();
    Guarded<T> array(shape, memory, x);
    Result result;
    result.global = kept;
    // Guards of 64 bytes keep the alignment that is asked for.
    using Buffer = Kokkos::View<std::uint8_t*, Kokkos::HostSpace>;
    Buffer payload("payload", layout.payload_bytes + 2 * guard),
        scales("scales", layout.scale_bytes + 2 * guard);
    std::memset(payload.data(), 0xa5, payload.size());
    std::memset(scales.data(), 0xa5, scales.size());
    const papillon::BlockScaledView q{{payload.data() + guard, layout.payload_bytes},
                                      {scales.data() + guard, layout.scale_bytes},
                                      &result.global};
    QuantizeOptions all = options;
    if (counts) {
      all.amax = &result.amax;
      all.statistics = &result.statistics;
    }
    const auto before = array.bytes();
    quantize(core::make_quantize_problem(array.const_descriptor(), q, all, true));
    CHECK_MESSAGE(array.bytes() == before, "the input was written");
    const auto inside = [&](const Buffer& buffer, std::size_t bytes) {
      for (std::size_t i = 0; i < guard; ++i) {
        CHECK(buffer[i] == 0xa5);
        CHECK(buffer[guard + bytes + i] == 0xa5);
      }
      return std::vector<std::uint8_t>(buffer.data() + guard, buffer.data() + guard + bytes);
    };
    result.payload = inside(payload, layout.payload_bytes);
    result.scales = inside(scales, layout.scale_bytes);
    return result;
  }

  template <class Run>
  std::vector<T> run_back(const Result& codes, const Run& dequantize) const {
    Guarded<T> array(shape, memory);
    using Buffer = Kokkos::View<std::uint8_t*, Kokkos::HostSpace>;
    Buffer payload("payload", codes.payload.size()), scales("scales", codes.scales.size());
    std::copy(codes.payload.begin(), codes.payload.end(), payload.data());
    std::copy(codes.scales.begin(), codes.scales.end(), scales.data());
    const papillon::ConstBlockScaledView q{
        {payload.data(), payload.size()}, {scales.data(), scales.size()}, &codes.global};
    dequantize(core::make_dequantize_problem(q, array.descriptor(), options, true));
    CHECK_MESSAGE(array.surroundings_intact(), "something beside the output was written");
    return array.get();
  }

  /// Compares the vector kernels with the plain form. `covered`: the vector kernels are to take it.
  void check(bool covered = true) const {
    const Kokkos::DefaultHostExecutionSpace space;
    const Result expected =
        run([&](const auto& problem) { papillon::generic::run_plain_quantize(space, problem); });
    // Codes that no call would make, too: of special values.
    Result any = expected;
    std::mt19937 random(static_cast<unsigned>(x.size()));
    for (auto& byte : any.payload) byte = static_cast<std::uint8_t>(random());
    const bool floats = core::has_float_scales(options.format);
    if (!floats)
      for (auto& byte : any.scales) byte = static_cast<std::uint8_t>(random());
    const auto plain_back = [&](const auto& problem) {
      papillon::generic::run_plain_dequantize(space, problem);
    };
    const std::vector<T> back = run_back(expected, plain_back), any_back = run_back(any, plain_back);
    on_every_target([&] {
      check_same(run([&](const auto& problem) {
                   CHECK(papillon::generic::HostQuantize(problem).fits() == covered);
                   papillon::generic::run_quantize<true>(space, problem);
                 }),
                 expected);
      const auto vector_back = [&](const auto& problem) {
        papillon::generic::run_dequantize<true>(space, problem);
      };
      CHECK(first_difference(run_back(expected, vector_back), back) == -1);
      CHECK(first_difference(run_back(any, vector_back), any_back) == -1);
    });
  }
};

/// Numbers of all sizes, with some blocks of zeros and of subnormals, and special values if wanted.
template <class T>
std::vector<T> draw(std::size_t count, unsigned seed, bool special) {
  std::mt19937 random(seed);
  std::vector<T> values = random_values<T>(count, seed, Data::scaled);
  const auto put = [&](std::size_t i, float value) { values[i] = static_cast<T>(value); };
  for (std::size_t i = 0; i < count; ++i)
    if (i / 48 % 7 == 3) put(i, i % 2 == 0 ? 0.0f : -0.0f);
  for (std::size_t i = 0; i < count; ++i)
    if (i / 80 % 11 == 5) put(i, static_cast<float>(random() % 64) * 0x1p-149f);
  for (std::size_t i = 0; i < count; ++i)
    if (i / 32 % 5 == 2) put(i, static_cast<float>(static_cast<int>(random() % 49) - 24) * 0.25f);  // ties
  if (!special || count == 0) return values;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {infinity, -infinity, nan, -nan, 3e38f, -1e-40f, -0.0f})
    for (int i = 0; i < 3; ++i) put(random() % count, value);
  return values;
}

}  // namespace

TEST_CASE("quantize on vectors: the code of every kind of float") {
  const std::vector<float> values = floats_of_all_kinds();
  const std::size_t count = values.size();
  std::vector<std::uint8_t> random(count);
  std::mt19937 generator(3);
  for (auto& byte : random) byte = static_cast<std::uint8_t>(generator());
  on_every_target([&] {
    for (const Scheme& scheme : all_schemes) {
      CAPTURE(name_of(scheme));
      const BlockScaling scaling{scheme.format, scheme.rule};
      const bool nibbles = has_nibbles(scheme.format);
      const bool mx = core::is_mx(scheme.format);
      for (const float divisor : {1.0f, 0.3f, 0x1p-127f, 3e38f, 0x1p127f, 0x1p-3f, -1.0f})
        for (const bool stochastic : {false, true}) {
          CAPTURE(divisor);
          CAPTURE(stochastic);
          int unused = 0;
          core::BlockScale scale;
          scale.multiplies = scheme.rule == ScaleRule::transformer_engine;
          scale.factor = divisor;
          scale.zero = divisor < 0;
          if (mx && (scale.zero || std::abs(std::frexp(divisor, &unused)) != 0.5f)) continue;
          const float factor = mx ? 1.0f / divisor : divisor;
          const std::vector<float> factors(count / 16, factor);
          std::vector<std::uint8_t> codes(count);
          simd::make_codes(scaling, values.data(), static_cast<std::int64_t>(count), 32, factors.data(),
                           stochastic ? random.data() : nullptr, codes.data());
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < count; ++i)
            wrong += code_at(codes, i, nibbles) !=
                     scaling.encode(scale, values[i], {stochastic, stochastic ? random[i] : 0u});
          CHECK(wrong == 0);
        }
    }
  });
}

TEST_CASE("quantize on vectors: the scale of every kind of amax") {
  std::vector<float> amax;
  for (const float value : floats_of_all_kinds())
    if (!std::signbit(value) && value == value) amax.push_back(value);
  std::vector<float> values;  // blocks of 16
  for (std::size_t i = 0; i < amax.size(); ++i) {
    values.resize(16 * i + 16, -amax[i] / 2);
    values[16 * i + i % 16] = i % 2 == 0 ? amax[i] : -amax[i];
  }
  while (values.size() % step != 0) values.push_back(0.0f);
  const std::size_t room = values.size() / 16 + 16;
  on_every_target([&] {
    for (const Scheme& scheme : all_schemes)
      for (const float global : {1.0f, 0.0037f, 1e-41f, 3e38f}) {
        CAPTURE(name_of(scheme));
        CAPTURE(global);
        const BlockScaling scaling{scheme.format, scheme.rule};
        const GlobalScale scale = GlobalScale::of(global);
        std::vector<float> stored(room), factors(room);
        std::vector<std::uint8_t> codes(room);
        const auto count = static_cast<std::int64_t>(values.size());
        simd::raise_block_amax(scaling, values.data(), count, 16, stored.data());
        const std::uint64_t zeros =
            simd::make_scales(scaling, scale, count / 16, {stored.data(), factors.data(), codes.data()});
        std::size_t wrong = 0;
        std::uint64_t expected_zeros = 0;
        for (std::size_t i = 0; i < amax.size(); ++i) {
          float block_amax = 0.0f;
          for (std::size_t j = 0; j < 16; ++j) block_amax = scaling.amax(block_amax, values[16 * i + j]);
          const core::BlockScale expected = scaling.of(block_amax, scale);
          if (core::has_float_scales(scheme.format)) {
            wrong += !same_bits(stored[i], expected.stored);
          } else {
            wrong += codes[i] != expected.code;
          }
          // Powers of two are multiplied with.
          const float factor = core::is_mx(scheme.format) ? 1.0f / expected.factor : expected.factor;
          wrong += expected.zero ? !(factors[i] < 0) : !same_bits(factors[i], factor);
          expected_zeros += expected.zero && block_amax > 0;
        }
        CHECK(wrong == 0);
        CHECK(zeros == expected_zeros);
      }
  });
}

TEST_CASE("dequantize on vectors: every code") {
  on_every_target([] {
    for (const ElementFormat format : {ElementFormat::e2m1, ElementFormat::e4m3, ElementFormat::e5m2,
                                       ElementFormat::int8, ElementFormat::int4}) {
      CAPTURE(static_cast<int>(format));
      const bool nibbles = format == ElementFormat::e2m1 || format == ElementFormat::int4;
      std::vector<std::uint8_t> codes(256);
      for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i);
      const std::size_t count = nibbles ? 512 : 256;
      std::vector<float> factors(count / 16), values(count);
      for (std::size_t b = 0; b < factors.size(); ++b) factors[b] = 0.37f * static_cast<float>(b);
      simd::decode_codes(format, codes.data(), static_cast<std::int64_t>(count), 16, factors.data(),
                         values.data());
      for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        const float code = core::decode_element(format, code_at(codes, i, nibbles));
        CHECK(same_bits(values[i], code * factors[i / 16]));
      }
    }
  });
}

TEST_CASE("quantize on vectors: random bytes") {
  on_every_target([] {
    const RoundingBits random{0x0123456789abcdefu, 0xfedcba9876543210u};
    for (const std::int64_t first :
         {std::int64_t{0}, std::int64_t{12345}, (std::int64_t{1} << 32) - 5, (std::int64_t{7} << 32) - 1}) {
      CAPTURE(first);
      constexpr std::int64_t runs = 33;
      std::vector<std::uint8_t> bytes(std::size_t{48} * 16);
      simd::random_bytes(random, first, runs, bytes.data());
      for (std::int64_t r = 0; r < runs; ++r) {
        const core::RandomWords words = random.of_run(first + r);
        for (int i = 0; i < 16; ++i)
          CHECK(bytes[static_cast<std::size_t>(16 * r + i)] == core::random_byte(words, i));
      }
    }
  });
}

TEST_CASE_TEMPLATE("quantize on vectors: lengths, layouts and options at random", T, PAPILLON_REAL_SCALARS) {
  std::mt19937 random(11);
  const auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
  for (int round = 0; round < 240; ++round) {
    CAPTURE(round);
    const Scheme scheme = all_schemes[static_cast<std::size_t>(round) % std::size(all_schemes)];
    CAPTURE(name_of(scheme));
    Call<T> call;
    QuantizeOptions& o = call.options;
    o.format = scheme.format;
    o.scale_rule = scheme.rule;
    constexpr std::int64_t rotations[] = {0, 0, 16, 128, 2, 12, 40, papillon::whole_axis};
    o.rotation = pick(rotations);
    CAPTURE(o.rotation);
    // Whole-axis rotations need an offered length; others a multiple of the group.
    constexpr std::int64_t offered[] = {1, 8, 16, 48, 64, 320, 512, 8192};
    const std::int64_t unit = std::max<std::int64_t>(o.rotation, 1);
    const std::int64_t n =
        o.rotation == papillon::whole_axis
            ? pick(offered)
            : unit * (1 + static_cast<std::int64_t>(random()) % (9000 / unit / (1 + round % 9)));
    CAPTURE(n);
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random()) % 9;
    const int rank = 1 + static_cast<int>(random() % 3);
    call.shape = rank == 1 ? Shape{n} : rank == 2 ? Shape{rows, n} : Shape{2, rows, n};
    if (rank > 1 && random() % 4 == 0) {
      std::swap(call.shape[0], call.shape.back());
      o.axis = 0;
    }
    call.memory = pick(all_memories);
    CAPTURE(to_string(call.memory));
    if (core::has_float_scales(o.format)) {
      constexpr std::int64_t blocks[] = {0, 16, 48, 128, 4096};
      o.block = pick(blocks);
    } else if (random() % 3 == 0) {
      o.scale_layout = ScaleLayout::swizzled;
    }
    std::vector<std::int8_t> signs;
    if (o.rotation != 0 && random() % 2 == 0) {
      if (random() % 2 == 0) {
        o.signs.seed = random();
      } else {
        signs.resize(static_cast<std::size_t>(o.rotation == papillon::whole_axis ? n : o.rotation));
        for (auto& sign : signs) sign = random() % 2 == 0 ? 1 : -1;
        o.signs.values = signs;
      }
    }
    constexpr GlobalScaleSource sources[] = {GlobalScaleSource::computed, GlobalScaleSource::given,
                                             GlobalScaleSource::kept};
    o.global_scale_source = pick(sources);
    o.global_scale = 0.004f;
    constexpr float kept[] = {0.01f, 1e-40f, 0.0f, -1.0f, std::numeric_limits<float>::infinity()};
    call.kept = pick(kept);
    if (random() % 3 == 0) {
      o.rounding = Rounding::stochastic;
      o.random_seed = random();
      o.random_offset = std::uint64_t{random()} << 20;
    }
    if (!(core::has_float_scales(o.format) && o.block == 0) && random() % 3 == 0)
      o.block_shape = BlockShape::square;
    call.counts = random() % 2 == 0;
    // Blocks of other lengths than multiples of 16, and more rows of long ones than scratch holds, are not
    // for vectors.
    call.x = draw<T>(volume(call.shape), random(), random() % 3 == 0);
    call.check();
  }
}

TEST_CASE("quantize on vectors: many pieces among threads") {
  for (const Scheme& scheme : all_schemes) {
    CAPTURE(name_of(scheme));
    Call<papillon::bfloat16> call;
    call.options.format = scheme.format;
    call.options.scale_rule = scheme.rule;
    call.options.rotation = 8;
    call.options.signs.seed = 5;
    call.counts = true;
    // Rows that are joined, rows with a gap, rows with a ragged end; scales of more than one tile.
    for (const auto& [columns, memory] :
         {std::pair{std::int64_t{4096}, Memory::row_major}, std::pair{std::int64_t{4096}, Memory::padded},
          std::pair{std::int64_t{1000}, Memory::row_major}}) {
      CAPTURE(columns);
      call.shape = {133, columns};
      call.memory = memory;
      call.x = draw<papillon::bfloat16>(volume(call.shape), 1, true);
      call.check();
    }
    if (core::has_float_scales(scheme.format)) {
      call.options.block = 32;
    } else {
      call.options.scale_layout = ScaleLayout::swizzled;
    }
    call.options.rounding = Rounding::stochastic;
    call.check();
    // Rows side by side, in pieces of some of them each, for one outer index and for three.
    call.options.axis = -2;
    call.shape = {1, 1000, 133};
    call.check();
    call.options.block_shape = BlockShape::square;
    call.check();
    call.shape = {3, 1000, 45};
    call.x.resize(volume(call.shape));
    call.check();
    call.options.block_shape = BlockShape::vector;
    call.check();
  }
}

TEST_CASE("quantize on vectors: what is left to the plain form") {
  Call<float> odd{{3, 100}, {}};
  odd.options.format = BlockFormat::int8;
  odd.options.block = 20;
  odd.x = draw<float>(300, 1, false);
  odd.check(false);
  Call<float> longest{{2, 1 << 19}, {}};
  longest.options.format = BlockFormat::fp8_e4m3;
  longest.x = draw<float>(2 << 19, 1, false);
  longest.check(false);
  Call<float> whole{{2, 1 << 18}, {}};  // the longest that is not
  whole.options.format = BlockFormat::fp8_e4m3;
  whole.options.rotation = papillon::whole_axis;
  whole.x = draw<float>(2 << 18, 1, false);
  whole.check();
}
