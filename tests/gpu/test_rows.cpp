// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "gpu_case.hpp"

using namespace papillon;
using papillon::test::Case;
using papillon::test::compare;
using papillon::test::Fill;
using papillon::test::real_types;

namespace {

/// Row counts around the boundaries of every packing: rows of a word, a warp, a block, a wave of blocks.
std::vector<std::int64_t> row_counts(std::int64_t n) {
  std::vector<std::int64_t> counts;
  for (std::int64_t boundary = 1; boundary * n <= (1 << 15) || boundary <= 4; boundary *= 2) {
    for (std::int64_t d = -1; d <= 1; ++d) counts.push_back(boundary + d);
  }
  for (const std::int64_t blocks : {132, 264, 528}) {
    if (n >= 128) counts.insert(counts.end(), {blocks, blocks + 1});
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.front() == 0) counts.erase(counts.begin());
  return counts;
}

}  // namespace

TEST_CASE("rows of every power of two, every scalar, row counts around every boundary") {
  for (const ScalarType type : real_types) {
    for (int k = 0; k <= 15; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const std::int64_t rows : row_counts(n)) {
        Case problem{.type = type, .extents = {rows, n}};
        problem.in_place = rows % 2 == 0;
        if (!is_integer(type)) problem.options.norm = Normalization::ortho;
        REQUIRE(compare(problem) == "");
      }
    }
  }
}

TEST_CASE("adversarial values and arbitrary bit patterns keep their bits") {
  for (const ScalarType type : real_types) {
    for (int k = 1; k <= 15; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const Fill fill : {Fill::adversarial, Fill::bits}) {
        Case problem{.type = type, .extents = {std::max<std::int64_t>(65536 / n, 5), n}};
        problem.fill = fill;
        REQUIRE(compare(problem) == "");
        if (!is_integer(type)) {
          problem.options.norm = Normalization::inverse;
          problem.options.scale = -1.75;
          REQUIRE(compare(problem) == "");
        }
      }
    }
  }
}

TEST_CASE("many rows: persistent blocks go round several times") {
  for (const ScalarType type : real_types) {
    for (int k = 10; k <= 15; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      Case problem{.type = type, .extents = {(std::int64_t{1} << 24) / n + 3, n}};
      if (!is_integer(type)) problem.options.norm = Normalization::ortho;
      REQUIRE(compare(problem) == "");
      problem.in_place = true;
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("row strides and addresses aligned to the scalar only") {
  for (const ScalarType type : real_types) {
    for (const int k : {1, 3, 4, 7, 9, 10, 11, 12, 14, 15}) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const std::int64_t pad : {0, 1, 8, 16}) {
        for (const std::int64_t shift : {0, 1, 8}) {
          Case problem{.type = type, .extents = {19, n}};
          problem.x_strides = {n + pad, 1};
          problem.y_strides = {n + 2 * pad, 1};
          problem.x_shift = shift;
          problem.y_shift = 2 * shift;
          REQUIRE(compare(problem) == "");
          problem.in_place = true;
          REQUIRE(compare(problem) == "");
        }
      }
      Case reversed{.type = type, .extents = {19, n}};
      reversed.x_strides = {-n, 1};
      REQUIRE(compare(reversed) == "");
      Case repeated{.type = type, .extents = {19, n}};
      repeated.x_strides = {0, 1};
      REQUIRE(compare(repeated) == "");
    }
  }
}

TEST_CASE("signs on rows of every power of two, on either side, from a seed or a vector") {
  const std::vector<std::int8_t> signs = papillon::test::sign_vector(1 << 15);
  for (const ScalarType type : real_types) {
    for (int k = 1; k <= 15; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{5}, (std::int64_t{1} << 16) / n + 3}) {
        for (const SignSide side : {SignSide::input, SignSide::output}) {
          Case problem{.type = type, .extents = {rows, n}};
          problem.in_place = rows == 5;
          problem.options.signs = {{signs.data(), static_cast<std::size_t>(n)}, {}, side};
          REQUIRE(compare(problem) == "");
          problem.sign_shift = 3;
          REQUIRE(compare(problem) == "");
          problem.options.signs = {{}, 17, side};
          REQUIRE(compare(problem) == "");
          problem.fill = Fill::adversarial;
          REQUIRE(compare(problem) == "");
        }
      }
    }
  }
}

TEST_CASE("m 2^k: row counts around every packing, strides, signs") {
  for (const ScalarType type : real_types) {
    for (const std::int64_t m : {12, 20, 28, 36, 44, 52, 60}) {
      for (const int k : {0, 1, 3, 5, 6, 8, 9}) {
        const std::int64_t n = m << k;
        for (const std::int64_t rows : {1, 2, 7, 8, 9, 33, 260}) {
          if (rows * n > (1 << 17)) continue;
          Case problem{.type = type, .extents = {rows, n}};
          REQUIRE(compare(problem) == "");
          problem.options.signs = {{}, 5, rows % 2 == 0 ? SignSide::input : SignSide::output};
          problem.in_place = rows == 33;
          REQUIRE(compare(problem) == "");
        }
        Case padded{.type = type, .extents = {9, n}};
        padded.x_strides = {n + 3, 1};
        padded.y_strides = {n + 16, 1};
        padded.options.transpose = true;
        REQUIRE(compare(padded) == "");
        padded.x_shift = 1;
        padded.y_shift = 3;
        padded.options.signs = {{}, 6, SignSide::output};
        REQUIRE(compare(padded) == "");
      }
    }
  }
}

// What the sanitizers run: every kernel once or twice, with a tail.
TEST_CASE("reduced set: every kernel with few rows" * doctest::test_suite("reduced")) {
  for (const ScalarType type : real_types) {
    for (int k = 1; k <= 15; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      Case problem{.type = type, .extents = {n <= 2048 ? 2048 / n + 1 : 3, n}};
      REQUIRE(compare(problem) == "");
      problem.options.signs = {{}, 11, k % 2 == 0 ? SignSide::input : SignSide::output};
      REQUIRE(compare(problem) == "");
    }
    for (const std::int64_t n : {24, 20 * 16, 28 * 64, 60 * 32}) {
      Case orders{.type = type, .extents = {5, n}};
      REQUIRE(compare(orders) == "");
      orders.x_shift = 1;
      REQUIRE(compare(orders) == "");
    }
    for (const int k : {4, 9, 12}) {
      Case ordered{.type = type, .extents = {3, std::int64_t{1} << k}};
      ordered.y_shift = 1;
      ordered.options.ordering = Ordering::dyadic;
      REQUIRE(compare(ordered) == "");
    }
    Case grid{.type = type, .extents = {135, 32768}};
    REQUIRE(compare(grid) == "");
    Case columns{.type = type, .extents = {3, 12, 5}};
    columns.options.axis = 1;
    columns.options.signs.seed = 3;
    REQUIRE(compare(columns) == "");
    Case long_row{.type = type, .extents = {2, 1 << 17}};
    long_row.options.ordering = Ordering::sequency;
    REQUIRE(compare(long_row) == "");
    Case many{.type = type, .extents = {2, 172 * 4}};
    REQUIRE(compare(many) == "");
  }
}
