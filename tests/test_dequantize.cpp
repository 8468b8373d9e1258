// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dequantize against the oracle, bit for bit, and round trips.
#include <cmath>
#include <random>

#include "support/quantize_case.hpp"

namespace {

using namespace papillon_test;
using papillon::BlockFormat;
using papillon::BlockShape;
using papillon::GlobalScaleSource;
using papillon::QuantizeOptions;
using papillon::ScaleLayout;
using papillon::ScaleRule;

constexpr BlockFormat all_formats[] = {
    BlockFormat::nvfp4,    BlockFormat::mxfp4,    BlockFormat::mxfp8_e4m3, BlockFormat::mxfp8_e5m2,
    BlockFormat::fp8_e4m3, BlockFormat::fp8_e5m2, BlockFormat::int8,       BlockFormat::int4};

bool has_byte_scales(BlockFormat format) { return format <= BlockFormat::mxfp8_e5m2; }

template <class T>
void check_everywhere(const QuantizeCase<T>& problem, const oracle::Quantized& q,
                      Memory memory = Memory::row_major) {
  INFO(problem.describe(), ", y ", to_string(memory));
  const auto expected = problem.expected_values(q);
  for_each_space([&](const auto& space) {
    CHECK(first_difference(problem.run_dequantize(space, q, memory), expected) == -1);
  });
  INFO("team kernel");
  CHECK(first_difference(problem.run_dequantize(Kokkos::DefaultHostExecutionSpace{}, q, memory, Style::team),
                         expected) == -1);
}

}  // namespace

TEST_CASE_TEMPLATE("dequantize: any format, rank, axis, layout and rotation", T, PAPILLON_REAL_SCALARS) {
  std::mt19937 random(23);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    QuantizeCase<T> problem;
    auto& options = problem.options;
    options.format = all_formats[random() % std::size(all_formats)];
    const std::size_t rank = 1 + random() % 4;
    for (std::size_t d = 0; d < rank; ++d)
      problem.shape.push_back(1 + static_cast<std::int64_t>(random() % (rank < 3 ? 60 : 12)));
    options.axis = static_cast<int>(random() % (2 * rank)) - static_cast<int>(rank);
    if (random() % 2 == 0) {
      const std::int64_t group = std::int64_t{1} << random() % 7;
      problem.shape[problem.axis()] = group * (1 + static_cast<std::int64_t>(random() % 4));
      options.rotation = group;
      if (random() % 4 == 0) {
        problem.shape[problem.axis()] = 12 * group;
        options.rotation = papillon::whole_axis;
      }
      if (random() % 2 == 0) options.signs.seed = random();
    }
    if (has_byte_scales(options.format)) {
      options.scale_layout = random() % 2 == 0 ? ScaleLayout::swizzled : ScaleLayout::row_major;
      if (random() % 4 == 0) options.block_shape = BlockShape::square;
    } else {
      options.block = random() % 2 == 0 ? 0 : 1 + random() % 40;
    }
    problem.x = random_values<T>(volume(problem.shape), random());
    check_everywhere(problem, problem.expected(), all_memories[random() % std::size(all_memories)]);
  }
}

TEST_CASE("dequantize: long rotated rows") {
  for (const std::int64_t n : {4096, 28672, 1 << 17}) {
    QuantizeCase<papillon::bfloat16> problem{{2, n},
                                             {.rotation = papillon::whole_axis, .signs = {.seed = 1u}}};
    problem.x = random_values<papillon::bfloat16>(volume(problem.shape), 3);
    check_everywhere(problem, problem.expected());
  }
}

TEST_CASE("dequantize: no rows, no columns") {
  for (const auto format : all_formats)
    for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{0}}) {
      const QuantizeCase<float> problem{shape, {.format = format}};
      check_everywhere(problem, problem.expected());
    }
}

TEST_CASE("dequantize: Views of any layout") {
  const Kokkos::DefaultHostExecutionSpace space;
  QuantizeCase<float> problem{{33, 48}, {.format = BlockFormat::mxfp8_e4m3, .rotation = 16}};
  problem.x = random_values<float>(volume(problem.shape), 3);
  auto q = problem.expected();
  const auto expected = problem.expected_values(q);
  const auto check = [&](const auto& y) {
    ByteBuffer<Kokkos::DefaultHostExecutionSpace> payload(q.payload.data(), q.payload.size()),
        scales(q.scales.data(), q.scales.size());
    papillon::dequantize(space, papillon::ConstBlockScaledView{payload.span(), scales.span()}, y,
                         problem.options);
    space.fence();
    std::vector<float> values;
    for (std::size_t i = 0; i < y.extent(0); ++i)
      for (std::size_t j = 0; j < y.extent(1); ++j) values.push_back(y(i, j));
    CHECK(first_difference(values, expected) == -1);
  };
  check(Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>("right", 33, 48));
  check(Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace>("left", 33, 48));
  check(Kokkos::View<float**, Kokkos::LayoutStride, Kokkos::HostSpace>("strided",
                                                                       Kokkos::LayoutStride(33, 1, 48, 40)));
  const Kokkos::View<float***, Kokkos::LayoutRight, Kokkos::HostSpace> cube("cube", 33, 48, 2);
  check(Kokkos::subview(cube, Kokkos::ALL, Kokkos::ALL, 1));
}

TEST_CASE_TEMPLATE("dequantize: a second round trip gives the values of the first", T, float, double) {
  const Kokkos::DefaultHostExecutionSpace space;
  for (const auto format : all_formats)
    for (const auto rule : {ScaleRule::automatic, ScaleRule::round_up, ScaleRule::transformer_engine})
      for (const auto shape : {BlockShape::vector, BlockShape::square}) {
        const bool mx = has_byte_scales(format) && format != BlockFormat::nvfp4;
        if (rule == ScaleRule::round_up && !mx) continue;
        if (rule == ScaleRule::transformer_engine && format != BlockFormat::nvfp4) continue;
        QuantizeCase<T> problem{{20, 96}, {.format = format, .block_shape = shape, .scale_rule = rule}};
        problem.x = random_values<T>(volume(problem.shape), 8, Data::smooth);
        auto& options = problem.options;
        if (!has_byte_scales(format)) {
          // Scales that are powers of two, so that the amax that comes back is the amax that went in.
          options.block = 32;
          const double amax = oracle::largest(problem.parameters().element) / 64;
          for (std::size_t i = 0; i < problem.x.size(); i += 32) {
            for (std::size_t j = i; j < i + 32; ++j)
              problem.x[j] = T(std::remainder(double(problem.x[j]), 2 * amax));
            problem.x[i + 5] = T(i % 64 == 0 ? amax : -amax);
          }
        }
        CAPTURE(problem.describe());
        const auto first = problem.run(space);
        auto again = problem;
        again.x = problem.run_dequantize(space, first);
        again.kept = first.global_scale;
        if (format == BlockFormat::nvfp4) again.options.global_scale_source = GlobalScaleSource::kept;
        const auto second = again.run(space);
        if (rule != ScaleRule::round_up) {
          check_same_bytes(second.payload, first.payload, "payload");
          check_same_bytes(second.scales, first.scales, "scales");
        }
        CHECK(first_difference(again.run_dequantize(space, second), again.x) == -1);
      }
}

TEST_CASE("dequantize: a rotation and its inverse leave the error of the codes alone") {
  // Relative L2 error of E4M3 elements: at most half a step of 2^-3 at the value's power of two.
  const Kokkos::DefaultHostExecutionSpace space;
  for (const std::int64_t rotation :
       {std::int64_t{0}, std::int64_t{16}, std::int64_t{96}, papillon::whole_axis}) {
    QuantizeCase<float> problem{{20, 192}, {.format = BlockFormat::mxfp8_e4m3, .rotation = rotation}};
    if (rotation != 0) problem.options.signs.seed = 4u;
    problem.x = random_values<float>(volume(problem.shape), 5);
    const auto y = problem.run_dequantize(space, problem.run(space));
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      error += std::pow(double(y[i]) - double(problem.x[i]), 2);
      norm += std::pow(double(problem.x[i]), 2);
    }
    CHECK(std::sqrt(error / norm) < 0x1p-4);
    CHECK(error > 0);
  }
}
