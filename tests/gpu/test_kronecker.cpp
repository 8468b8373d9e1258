// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kronecker products on the GPU against the CPU layer.
#include <doctest/doctest.h>

#include <random>

#include "kronecker_case.hpp"

using namespace papillon;
using papillon::test::compare;
using papillon::test::ProductCase;

namespace {

constexpr ScalarType product_types[] = {ScalarType::float32,  ScalarType::float64,   ScalarType::float16,
                                        ScalarType::bfloat16, ScalarType::complex64, ScalarType::complex128};

std::vector<ProductCase::Matrix> powers(std::int64_t size, int count) {
  return std::vector<ProductCase::Matrix>(static_cast<std::size_t>(count), {size, size});
}

/// Whole numbers, bit for bit, and normal ones within the bound.
void check(ProductCase problem) {
  for (const bool whole : {true, false}) {
    problem.whole = whole;
    CAPTURE(whole);
    REQUIRE(compare(problem) == "");
  }
}

}  // namespace

TEST_SUITE_BEGIN("reduced");

TEST_CASE("reduced set: kronecker, factors of every size") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32, 40, 64, 100, 128}) {
      CAPTURE(size);
      const int count = size <= 5 ? 4 : size <= 17 ? 2 : 1;
      ProductCase problem{.type = type, .extents = {5, 0}, .matrices = powers(size, count)};
      check(problem);
      problem.in_place = true;
      problem.extents = {13, 0, 3};
      problem.options.axis = 1;
      check(problem);
    }
  }
}

TEST_CASE("reduced set: kronecker, rectangular factors, sides, adjoints, layouts at random") {
  std::mt19937 random(3);
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (const ScalarType type : product_types) {
    for (int round = 0; round < 30; ++round) {
      CAPTURE(static_cast<int>(type));
      CAPTURE(round);
      ProductCase problem{.type = type};
      const int rank = pick(1, 4);
      for (int d = 0; d < rank; ++d) problem.extents.push_back(pick(1, 6));
      problem.options.axis = pick(0, rank - 1);
      problem.options.vectors = pick(0, 1) == 1 ? VectorSide::left : VectorSide::right;
      problem.options.adjoint = pick(0, 1) == 1;
      problem.options.scale = pick(0, 2) == 0 ? -2.0 : 1.0;
      if (rank > 1 && pick(0, 2) == 0) problem.options.batch_axis = (problem.options.axis + 1) % rank;
      const int count = pick(1, 4);
      for (int i = 0; i < count; ++i)
        problem.matrices.push_back({pick(1, 20 / count), pick(1, 20 / count), pick(0, 1) == 1,
                                    pick(0, 1) == 1, problem.options.batch_axis && pick(0, 1) == 1});
      problem.transposed = pick(0, 1) == 1;
      problem.gap = pick(0, 1) * pick(0, 5);
      problem.shift = pick(0, 1) * pick(0, 3);
      check(problem);
    }
  }
}

TEST_CASE("reduced set: kronecker, several passes") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    for (const bool grows : {false, true}) {
      ProductCase problem{.type = type, .extents = {2, 0, 3}, .matrices = {{31, 40}, {2, 33}, {30, 24}}};
      if (grows) problem.matrices = {{40, 3}, {50, 20}, {33, 1}};
      problem.options.axis = 1;
      check(problem);
    }
    ProductCase square{.type = type, .extents = {3, 0}, .matrices = powers(40, 3)};
    check(square);
    square.in_place = true;
    check(square);
  }
}

TEST_SUITE_END();

TEST_CASE("kronecker, sizes of the tables") {
  for (const ScalarType type : product_types) {
    CAPTURE(static_cast<int>(type));
    const auto run = [&](std::int64_t rows, std::int64_t size, int count) {
      CAPTURE(size);
      ProductCase problem{.type = type, .extents = {rows, 0}, .matrices = powers(size, count)};
      check(problem);
      problem.in_place = true;
      check(problem);
    };
    run(70, 2, 10);
    run(21, 4, 6);
    run(3, 8, 5);
    run(3, 16, 4);
    run(3, 32, 3);
    run(9, 64, 2);
    run(1, 64, 3);
    run(3, 128, 2);
    run(3, 1000, 1);
  }
}

TEST_CASE("kronecker, factors too large for a tile") {
  for (const ScalarType type : product_types) {
    ProductCase problem{.type = type, .extents = {2, 0}, .matrices = {{20000, 3}, {2, 5}}};
    check(problem);
    problem.matrices = {{3, 30000}};
    check(problem);
  }
}
