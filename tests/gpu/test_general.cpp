// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "gpu_case.hpp"

using namespace papillon;
using papillon::test::all_types;
using papillon::test::Case;
using papillon::test::compare;
using papillon::test::Fill;
using papillon::test::for_each_signs;

TEST_CASE("orders m * 2^k") {
  for (const ScalarType type : all_types) {
    for (const std::int64_t n :
         {12,  20,  28,   36,   40,   44,   48,    52,    60,    80,    92,    96,   172, 192,
          640, 684, 1004, 1376, 3584, 7168, 10944, 11008, 13696, 14336, 28672, 2044, 4092}) {
      Case problem{.type = type, .extents = {7, n}};
      REQUIRE(compare(problem) == "");
      problem.extents[0] = 4096 / n + 1;
      problem.fill = Fill::adversarial;
      problem.in_place = true;
      REQUIRE(compare(problem) == "");
      problem.options.transpose = true;
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("long transforms in several passes") {
  for (const ScalarType type : all_types) {
    for (const int k : {16, 17, 20}) {
      Case problem{.type = type, .extents = {3, std::int64_t{1} << k}};
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("any axis of arrays of rank 3 to 5, and other strides") {
  for (const ScalarType type : all_types) {
    for (const int axis : {0, 1, 2, 3, 4}) {
      Case problem{.type = type, .extents = {4, 6, 8, 12, 2}};
      if (axis == 1) problem.extents = {4, 16, 3, 5, 7};
      problem.options.axis = axis;
      if (problem.extents[static_cast<std::size_t>(axis)] == 6) problem.options.group = 2;
      REQUIRE(compare(problem) == "");
    }
    for (const std::int64_t n : {2, 64, 1024, 4096, 16384}) {
      for (const std::int64_t inner : {1, 3, 17, 64}) {
        if (n * inner > 100000) continue;
        Case problem{.type = type, .extents = {2, n, inner}};
        problem.options.axis = 1;
        REQUIRE(compare(problem) == "");
        problem.x_strides = {1, 2 * inner, 2 * n * inner};  // transposed
        problem.y_strides = {n * (inner + 5), inner + 5, 1};
        REQUIRE(compare(problem) == "");
      }
    }
  }
}

TEST_CASE("orderings, signs and groups") {
  for (const ScalarType type : all_types) {
    for (const int k : {1, 2, 5, 7, 10, 13, 15, 17}) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const Ordering ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
        Case problem{.type = type, .extents = {3, n}};
        problem.options.ordering = ordering;
        REQUIRE(compare(problem) == "");
        for_each_signs(n, [&](const Signs& signs) {
          problem.options.signs = signs;
          REQUIRE(compare(problem) == "");
        });
      }
    }
    for (const std::int64_t group : {2, 16, 12, 128, 1024}) {
      Case problem{.type = type, .extents = {5, group * 3}};
      problem.options.group = group;
      REQUIRE(compare(problem) == "");
    }
  }
}

TEST_CASE("empty arrays and transforms of one point") {
  Case problem{.type = ScalarType::float32, .extents = {7, 1}};
  problem.options.scale = 3;
  CHECK(compare(problem) == "");
}
