// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of Kronecker-sparse factors on the GPU against the CPU layer, bit for bit.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <memory>
#include <random>
#include <vector>

#include "gpu_case.hpp"
#include "papillon/butterfly.hpp"
#include "papillon/cuda.hpp"

using namespace papillon;
using papillon::test::DeviceBuffer;
using papillon::test::Fill;
using papillon::test::first_difference;
using papillon::test::make_data;
using papillon::test::require_cuda;

namespace {

constexpr ScalarType product_types[] = {ScalarType::float32,  ScalarType::float64,   ScalarType::float16,
                                        ScalarType::bfloat16, ScalarType::complex64, ScalarType::complex128};

struct Pattern {
  std::int64_t a, b, c, d;
};

struct ButterflyCase {
  ScalarType type = ScalarType::float32;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::vector<Pattern> patterns = {};  ///< F1 first
  bool adjoint = false;
  bool batched = false;  ///< own values for each outer index
  bool permuted = false;
  bool in_place = false;
  std::int64_t gap = 0;  ///< elements left free after each outer index of y
};

std::shared_ptr<DeviceBuffer> to_device(const std::vector<unsigned char>& bytes) {
  auto buffer = std::make_shared<DeviceBuffer>(std::max<std::size_t>(bytes.size(), 1));
  require_cuda(cudaMemcpy(buffer->as<>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  return buffer;
}

/// The number of the first element that differs, -1 if none.
std::int64_t difference(const ButterflyCase& problem) {
  const Pattern& first = problem.patterns.front();
  const Pattern& last = problem.patterns.back();
  std::int64_t columns = last.a * last.c * last.d;
  std::int64_t rows = first.a * first.b * first.d;
  const std::int64_t permuted = columns;
  if (problem.adjoint) std::swap(rows, columns);
  const std::int64_t x_count = problem.outer * columns * problem.inner;
  const std::int64_t y_step = rows * problem.inner + problem.gap;
  const auto x = make_data(problem.type, x_count, Fill::normal, 1);
  auto expected = problem.in_place ? x : make_data(problem.type, problem.outer * y_step, Fill::normal, 2);
  const auto device_x = to_device(x);
  const auto device_y = to_device(expected);

  std::vector<std::vector<unsigned char>> values;
  std::vector<std::shared_ptr<DeviceBuffer>> device_values;
  std::vector<ButterflyFactor> host, device;
  for (const Pattern& p : problem.patterns) {
    const std::int64_t count = p.a * p.b * p.c * p.d;
    values.push_back(make_data(problem.type, count * (problem.batched ? problem.outer : 1), Fill::normal,
                               3 + values.size()));
    device_values.push_back(to_device(values.back()));
    ButterflyFactor factor = row_major_butterfly<float>(nullptr, p.a, p.b, p.c, p.d);
    factor.type = problem.type;
    factor.batch_stride = problem.batched ? count : 0;
    factor.data = values.back().data();
    host.push_back(factor);
    factor.data = device_values.back()->as<>();
    device.push_back(factor);
  }
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(permuted));
  for (std::size_t i = 0; i < permutation.size(); ++i)
    permutation[i] = static_cast<std::int64_t>(permutation.size() - 1 - i);
  DeviceBuffer device_permutation(permutation.size() * 8 + 1);
  require_cuda(cudaMemcpy(device_permutation.as<>(), permutation.data(), permutation.size() * 8,
                          cudaMemcpyHostToDevice));

  const auto call = [&](const auto& where, const auto& factors, const void* source, void* target,
                        const std::int64_t* indices) {
    ButterflyOptions options{.scale = 0.5, .axis = 1, .adjoint = problem.adjoint};
    if (problem.batched) options.batch_axis = 0;
    if (problem.permuted) options.x_permutation = {indices, permutation.size()};
    butterfly(where, factors,
              ConstTensorDescriptor{source,
                                    problem.type,
                                    3,
                                    {problem.outer, columns, problem.inner},
                                    {columns * problem.inner, problem.inner, 1}},
              TensorDescriptor{
                  target, problem.type, 3, {problem.outer, rows, problem.inner}, {y_step, problem.inner, 1}},
              options);
  };
  const Kokkos::DefaultHostExecutionSpace space;
  call(space, host, problem.in_place ? expected.data() : x.data(), expected.data(), permutation.data());
  space.fence();
  call(cudaStream_t{}, device, problem.in_place ? device_y->as<>() : device_x->as<>(), device_y->as<>(),
       device_permutation.as<std::int64_t>());
  std::vector<unsigned char> actual(expected.size()), x_after(x.size());
  require_cuda(cudaMemcpy(actual.data(), device_y->as<>(), actual.size(), cudaMemcpyDeviceToHost));
  require_cuda(cudaMemcpy(x_after.data(), device_x->as<>(), x_after.size(), cudaMemcpyDeviceToHost));
  CHECK(x_after == x);
  return first_difference(problem.type, actual.data(), expected.data(),
                          static_cast<std::int64_t>(expected.size() / size_of(problem.type)));
}

/// 2 x 2 blocks, d rising from the factor applied first on, or falling.
std::vector<Pattern> pairs(int k, bool rising) {
  std::vector<Pattern> result;
  for (int i = 0; i < k; ++i) {
    const int bit = rising ? k - 1 - i : i;
    result.push_back({std::int64_t{1} << (k - 1 - bit), 2, 2, std::int64_t{1} << bit});
  }
  return result;
}

}  // namespace

TEST_SUITE_BEGIN("reduced");

TEST_CASE("reduced set: butterfly, 2 x 2 blocks") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    for (const int k : {3, 8, 9, 10}) {
      CAPTURE(k);
      ButterflyCase problem{.type = type, .outer = 5, .patterns = pairs(k, true)};
      CHECK(difference(problem) == -1);
      problem.patterns = pairs(k, false);
      problem.in_place = true;
      CHECK(difference(problem) == -1);
    }
    // Bits in no order.
    ButterflyCase mixed{.type = type, .outer = 3};
    for (const int bit : {0, 5, 4, 6, 7, 1, 2, 3, 3})
      mixed.patterns.push_back({std::int64_t{128} >> bit, 2, 2, std::int64_t{1} << bit});
    mixed.gap = 8;
    CHECK(difference(mixed) == -1);
  }
}

TEST_CASE("reduced set: butterfly, other patterns") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    for (const bool adjoint : {false, true}) {
      CAPTURE(adjoint);
      // Rectangular blocks, several passes, a Monarch pair, own values for each outer index.
      ButterflyCase problem{
          .type = type, .outer = 3, .inner = 2, .patterns = {{2, 3, 2, 4}, {1, 8, 5, 2}, {5, 2, 7, 1}}};
      problem.adjoint = adjoint;
      CHECK(difference(problem) == -1);
      problem.permuted = true;
      problem.gap = 3;
      CHECK(difference(problem) == -1);
      problem.permuted = false;
      problem.batched = true;
      CHECK(difference(problem) == -1);
      ButterflyCase wide{
          .type = type, .outer = 2, .patterns = {{1, 40, 50, 60}, {60, 50, 45, 1}}, .adjoint = adjoint};
      CHECK(difference(wide) == -1);
    }
  }
}

TEST_SUITE_END();

TEST_CASE("butterfly, large") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    for (const int k : {11, 12, 14}) {
      CAPTURE(k);
      ButterflyCase problem{.type = type, .outer = 37, .patterns = pairs(k, false)};
      CHECK(difference(problem) == -1);
      problem.inner = 3;
      problem.patterns = pairs(k, true);
      CHECK(difference(problem) == -1);
    }
    ButterflyCase direct{.type = type, .outer = 2, .patterns = {{1, 3, 30000, 1}}};
    CHECK(difference(direct) == -1);
  }
}
