// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every option of hadamard, alone and in combination, on the value that it is documented to give.
#include <cmath>
#include <complex>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;
using papillon::Ordering;
using papillon::SignSide;

template <class T>
void check(const auto& space, const Shape& shape, const HadamardOptions& options) {
  const auto values = random_values<T>(volume(shape), 19u);
  const auto expected = reference(shape, values, options);
  INFO(describe_case(shape, options));
  check_same(transform(space, shape, values, options), expected);
  check_same(transform_in_place(space, shape, values, options), expected);
  check_same(transform(space, shape, values, options, Memory::column_major, Memory::padded), expected);
}

/// The norms that T can have: an integer cannot be divided by n.
template <class T>
std::vector<Normalization> norms() {
  if (std::is_integral_v<T>) return {Normalization::none};
  return {Normalization::none, Normalization::ortho, Normalization::inverse};
}

std::vector<std::int8_t> sign_vector(std::int64_t n, std::uint64_t seed) {
  auto signs = random_values<std::int32_t>(static_cast<std::size_t>(n), seed);
  std::vector<std::int8_t> result;
  for (const auto sign : signs) result.push_back(sign < 0 ? -1 : 1);
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: normalisation and scale", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {1, 2, 8, 12, 64, 80, 128, 684, 2048})
      for (const auto norm : norms<T>())
        for (const double scale : {1.0, -1.0, 2.0, 3.0, 0.0, 0.1, -1e-3}) {
          if (std::is_integral_v<T> && scale != std::floor(scale)) continue;
          check<T>(space, {3, n}, {.norm = norm, .scale = scale});
          check<T>(space, {n, 3}, {.norm = norm, .scale = scale, .axis = 0});
        }
  });
}

TEST_CASE_TEMPLATE("hadamard: orderings along rows and columns", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (int k = 0; k <= 13; ++k)
      for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
        const std::int64_t n = std::int64_t{1} << k;
        check<T>(space, {3, n}, {.ordering = ordering});
        if (k <= 11) check<T>(space, {2, n, 5}, {.axis = 1, .ordering = ordering});
        if (k <= 8) check<T>(space, {n, 70}, {.axis = 0, .ordering = ordering});
      }
  });
}

TEST_CASE_TEMPLATE("hadamard: sign vectors and seeded signs on either side", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    for (const std::int64_t n : {1, 2, 16, 64, 12, 80, 172, 1024, 4096})
      for (const auto side : {SignSide::input, SignSide::output})
        for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
          if (ordering != Ordering::natural && (n & (n - 1)) != 0) continue;
          const auto signs = sign_vector(n, 23u);
          Kokkos::View<std::int8_t*, typename Space::memory_space> device("signs", signs.size());
          Kokkos::deep_copy(device,
                            Kokkos::View<const std::int8_t*, Kokkos::HostSpace>(signs.data(), signs.size()));
          for (const Shape& shape : {Shape{3, n}, Shape{2, n, 3}}) {
            HadamardOptions options{
                .axis = 1, .ordering = ordering, .signs = {.values = signs, .side = side}};
            const auto values = random_values<T>(volume(shape), 19u);
            const auto expected = reference(shape, values, options);
            options.signs.values = {device.data(), device.size()};
            INFO(describe_case(shape, options));
            check_same(transform(space, shape, values, options), expected);
            check_same(transform_in_place(space, shape, values, options), expected);
            for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{77}, ~std::uint64_t{0}})
              check<T>(space, shape,
                       {.axis = 1, .ordering = ordering, .signs = {.seed = seed, .side = side}});
          }
        }
  });
}

TEST_CASE_TEMPLATE("hadamard: groups", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    const struct {
      std::int64_t n, group;
    } cases[] = {{12, 4},      {12, 1},     {12, 12},     {28, 4},      {11, 1},
                 {96, 32},     {96, 24},    {100, 20},    {7 * 64, 64}, {5120, 1024},
                 {13696, 128}, {13696, 64}, {3 * 12, 12}, {6, 2},       {65536, 256}};
    for (const auto& [n, group] : cases) {
      if (n <= 13696) check<T>(space, {2, n, 3}, {.axis = 1, .group = group});
      check<T>(space, {3, n}, {.axis = 1, .signs = {.seed = 5u}, .group = group});
      for (const auto norm : norms<T>()) check<T>(space, {n}, {.norm = norm, .group = group});
      if ((group & (group - 1)) == 0)
        check<T>(space, {2, n},
                 {.ordering = Ordering::sequency,
                  .signs = {.seed = 6u, .side = SignSide::output},
                  .group = group});
    }
    const auto signs = sign_vector(32, 3u);
    check<T>(space, {3, 96}, {.signs = {.values = signs}, .group = 32});
  });
}

TEST_CASE_TEMPLATE("hadamard: all options at once", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const auto norm : norms<T>())
      for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic})
        for (const auto side : {SignSide::input, SignSide::output})
          for (const int axis : {0, 1, -1, 3, -4})
            for (const std::int64_t group : {0, 4}) {
              Shape shape{3, 2, 5, 4};
              shape[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)] = 16;
              check<T>(space, shape,
                       {.norm = norm,
                        .scale = -3,
                        .axis = axis,
                        .ordering = ordering,
                        .signs = {.seed = 12345u, .side = side},
                        .group = group,
                        .algorithm = papillon::Algorithm::butterfly});
            }
  });
}

// Extras: laws that hold of the right operator, never the only evidence.
TEST_CASE_TEMPLATE("hadamard: involution, linearity, Parseval on exact data", T, PAPILLON_REAL_SCALARS) {
  for_each_space([](const auto& space) {
    const Shape shape{256};  // n and sqrt(n) are powers of two, so exact data stay exact
    std::vector<T> a(256), b(256), sum(256);
    const auto random = random_values<std::int32_t>(512, 2u, Data::integers);
    for (std::size_t i = 0; i < 256; ++i) {
      a[i] = T(static_cast<float>(random[i] % 2));
      b[i] = T(static_cast<float>(random[256 + i] % 2));
      sum[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
    }
    const auto ya = transform(space, shape, a, {}), yb = transform(space, shape, b, {}),
               ysum = transform(space, shape, sum, {});
    double energy_in = 0, energy_out = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      CHECK(static_cast<double>(ysum[i]) == static_cast<double>(ya[i]) + static_cast<double>(yb[i]));
      energy_in += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      energy_out += static_cast<double>(ya[i]) * static_cast<double>(ya[i]);
    }
    CHECK(energy_out == 256 * energy_in);
    // Equal as numbers: a sum that cancels is +0, also where the input had -0.
    const auto check_equal = [](const std::vector<T>& actual, const std::vector<T>& expected) {
      for (std::size_t i = 0; i < expected.size(); ++i)
        REQUIRE(static_cast<double>(actual[i]) == static_cast<double>(expected[i]));
    };
    check_equal(transform(space, shape, transform(space, shape, a, {.norm = Normalization::ortho}),
                          {.norm = Normalization::ortho}),
                a);
    check_equal(transform(space, shape, ya, {.norm = Normalization::inverse}), a);
    // Signs on the output undo signs on the input.
    const auto rotated = transform(space, shape, a, {.norm = Normalization::ortho, .signs = {.seed = 4u}});
    check_equal(transform(space, shape, rotated,
                          {.norm = Normalization::ortho, .signs = {.seed = 4u, .side = SignSide::output}}),
                a);
  });
}
