// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms longer than a block, of any axis, and of several axes.
#include <doctest/doctest.h>

#include <vector>

#include "cuda/api.hpp"
#include "gpu_case.hpp"
#include "papillon/cuda.hpp"

using namespace papillon;
using papillon::test::all_types;
using papillon::test::Case;
using papillon::test::compare;
using papillon::test::Fill;
using papillon::test::for_each_signs;
using papillon::test::real_types;

namespace {

Normalization usual(ScalarType type) { return is_integer(type) ? Normalization::none : Normalization::ortho; }

/// (3, n, inner) around its middle axis, dense and with gaps between rows, aligned and not.
void check_columns(ScalarType type, std::int64_t n, std::int64_t inner) {
  Case problem{.type = type, .extents = {3, n, inner}};
  problem.options.axis = 1;
  problem.options.norm = usual(type);
  REQUIRE(compare(problem) == "");
  problem.in_place = true;
  REQUIRE(compare(problem) == "");
  problem.in_place = false;
  problem.x_shift = 1;
  REQUIRE(compare(problem) == "");
  problem.x_shift = 0;
  const std::int64_t row = inner + 8;
  problem.x_strides = {n * row + 16, row, 1};
  REQUIRE(compare(problem) == "");
  problem.y_strides = {n * (inner + 3) + 1, inner + 3, 1};
  problem.fill = Fill::adversarial;
  REQUIRE(compare(problem) == "");
}

}  // namespace

TEST_CASE("rows of 2^16 to 2^22") {
  for (const ScalarType type : all_types) {
    for (int k = 16; k <= 22; ++k) {
      Case problem{.type = type, .extents = {k < 20 ? 3 : 1, std::int64_t{1} << k}};
      problem.options.norm = usual(type);
      REQUIRE(compare(problem) == "");
      problem.in_place = true;
      problem.fill = Fill::adversarial;
      REQUIRE(compare(problem) == "");
      problem.x_shift = 1;  // no 16-byte words
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("long rows: batches beyond the workspace, strides, signs, orders, m 2^k") {
  for (const ScalarType type : real_types) {
    REQUIRE(compare({.type = type, .extents = {37, 1 << 20}}) == "");
    for (const int k : {16, 18}) {
      const std::int64_t n = std::int64_t{1} << k;
      Case problem{.type = type, .extents = {5, n}};
      problem.x_strides = {n + 64, 1};
      problem.y_strides = {n + 8, 1};
      REQUIRE(compare(problem) == "");
      for_each_signs(n, [&](const Signs& signs) {
        problem.options.signs = signs;
        for (const Ordering ordering : {Ordering::natural, Ordering::sequency}) {
          problem.options.ordering = ordering;
          REQUIRE(compare(problem) == "");
        }
      });
    }
    for (const std::int64_t n : {12 << 14, 28 << 13, 60 << 12, 172 << 10}) {
      REQUIRE(compare({.type = type, .extents = {3, n}}) == "");
    }
  }
}

TEST_CASE("columns of every length and width, aligned and not") {
  for (const ScalarType type : all_types) {
    for (int k = 1; k <= 13; ++k) {
      for (const std::int64_t inner : {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 64, 100, 1024}) {
        if ((inner << k) <= (1 << 16)) check_columns(type, std::int64_t{1} << k, inner);
      }
    }
    for (int k = 9; k <= 12; ++k) {  // tall tiles, in clusters
      for (const std::int64_t inner : {24, 40, 64, 192}) check_columns(type, std::int64_t{1} << k, inner);
    }
    check_columns(type, 1 << 16, 8);
    check_columns(type, 12 << 4, 9);
  }
}

TEST_CASE("several axes, and results rounded between them") {
  for (const ScalarType type : all_types) {
    for (const Axes& axes : {Axes{0, 1}, Axes{1, 2}, Axes{0, 2}, Axes{0, 1, 2, 3}, Axes{1, 3}}) {
      Case problem{.type = type, .extents = {16, 64, 8, 32}};
      problem.options = {.norm = usual(type), .axes = axes};
      REQUIRE(compare(problem) == "");
      problem.options.signs.seed = 3;
      problem.in_place = true;
      REQUIRE(compare(problem) == "");
      problem.options.ordering = Ordering::dyadic;
      problem.options.signs.side = SignSide::output;
      REQUIRE(compare(problem) == "");
      problem.in_place = false;
      problem.x_strides = {1, 16, 16 * 64, 16 * 64 * 8};  // column-major
      REQUIRE(compare(problem) == "");
      problem.options.intermediate = Intermediate::storage;
      REQUIRE(compare(problem) == "");
    }
    Case orders{.type = type, .extents = {48, 3, 20}};
    orders.options.axes = {0, 2};
    REQUIRE(compare(orders) == "");
    Case long_axis{.type = type, .extents = {4, 1 << 17}};
    long_axis.options.axes = {0, 1};
    long_axis.options.ordering = Ordering::sequency;
    REQUIRE(compare(long_axis) == "");
  }
  for (const ScalarType type : {ScalarType::float16, ScalarType::bfloat16}) {
    for (const std::int64_t n : {1 << 19, 1 << 20, 12 << 17, 1 << 24}) {
      Case problem{.type = type, .extents = {2, n}};
      problem.options = {.norm = Normalization::ortho, .intermediate = Intermediate::storage};
      problem.in_place = n != 1 << 20;
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("large: rows of 2^24 to 2^30, and 2^32 of a 16-bit type") {
  for (const int k : {24, 26, 28, 30}) {
    Case problem{.type = ScalarType::float32, .extents = {std::int64_t{1} << k}, .in_place = true};
    problem.options.norm = Normalization::ortho;
    REQUIRE(compare(problem) == "");
  }
  Case narrow{.type = ScalarType::bfloat16, .extents = {std::int64_t{1} << 32}, .in_place = true};
  narrow.options = {.norm = Normalization::ortho, .intermediate = Intermediate::storage};
  REQUIRE(compare(narrow) == "");
}

TEST_CASE("passes of long transforms" * doctest::test_suite("reduced")) {
  // Of the pointers only the addresses are looked at.
  alignas(256) static unsigned char memory[512];
  const auto passes = [&](ScalarType type, std::int64_t n, std::int64_t inner, int shift,
                          Intermediate intermediate) {
    const TensorDescriptor array{memory + shift, type, 3, {4, n, inner}, {n * inner, inner, 1}};
    const HadamardOptions options{.axis = 1, .intermediate = intermediate};
    return cuda::traffic(detail::make_hadamard_problem(array, array, options, false)).passes;
  };
  constexpr auto compute = Intermediate::compute;
  for (int k = 1; k <= 33; ++k) {
    const std::int64_t n = std::int64_t{1} << k;
    CAPTURE(k);
    CHECK(passes(ScalarType::float32, n, 1, 0, compute) == (k <= 18 ? 1 : k <= 30 ? 2 : 3));
    CHECK(passes(ScalarType::float64, n, 1, 0, compute) == (k <= 17 ? 1 : k <= 29 ? 2 : 3));
    CHECK(passes(ScalarType::bfloat16, n, 1, 0, compute) == (k <= 18 ? 1 : k <= 25 ? 2 : 3));
    CHECK(passes(ScalarType::float16, n, 1, 0, Intermediate::storage) == (k <= 18 ? 1 : k <= 27 ? 2 : 3));
    CHECK(passes(ScalarType::float32, n, 1, 4, compute) == (k <= 15 ? 1 : k <= 26 ? 2 : 3));  // not aligned
    CHECK(passes(ScalarType::float32, n, 8, 0, compute) == (k <= 13 ? 1 : k <= 24 ? 2 : 3));
  }
}

// What the sanitizers and the emulation run: every kernel of long transforms and columns once or twice.
TEST_CASE("reduced set: long rows, columns, several axes" * doctest::test_suite("reduced")) {
  for (const ScalarType type : real_types) {
    for (int k = 1; k <= 12; ++k) {
      Case columns{.type = type, .extents = {2, std::int64_t{1} << k, 24}};
      columns.options.axis = 1;
      REQUIRE(compare(columns) == "");
      columns.extents[2] = 9;  // not aligned
      REQUIRE(compare(columns) == "");
      columns.x_strides = {11 << k, 11, 1};
      REQUIRE(compare(columns) == "");
      columns = {.type = type, .extents = {k < 6 ? 300 : 3, std::int64_t{1} << k, 3}};
      columns.options.axis = 1;
      REQUIRE(compare(columns) == "");
      columns.extents = {3, std::int64_t{1} << k, 4};  // rows of points and columns
      REQUIRE(compare(columns) == "");
      if (k < 8) continue;
      columns.extents = {1, std::int64_t{1} << k, 96};  // tall tiles
      REQUIRE(compare(columns) == "");
    }
    for (int k = 16; k <= 20; ++k) {
      Case row{.type = type, .extents = {k < 18 ? 3 : 1, std::int64_t{1} << k}};
      REQUIRE(compare(row) == "");
      if (k > 17) continue;
      row.options.signs = {{}, 5, k % 2 == 0 ? SignSide::input : SignSide::output};
      REQUIRE(compare(row) == "");
    }
    Case axes{.type = type, .extents = {32, 5, 64}};
    axes.options.axes = {0, 2};
    axes.options.signs.seed = 7;
    REQUIRE(compare(axes) == "");
    axes.options.intermediate = Intermediate::storage;
    REQUIRE(compare(axes) == "");
    Case high{.type = type, .extents = {1 << 14, 8}};
    high.options.axis = 0;
    REQUIRE(compare(high) == "");
  }
}
