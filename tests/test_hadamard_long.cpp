// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hadamard on transforms that take several passes, some through a workspace.
#include <bit>
#include <complex>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;
using papillon::Ordering;

template <class T>
void check_long(const auto& space, const Shape& shape, const HadamardOptions& options,
                bool in_place = false) {
  const auto values = random_values<T>(volume(shape), 29u, Data::smooth);
  INFO(describe_case(shape, options), std::string(in_place ? ", in place" : ""));
  check_same(
      in_place ? transform_in_place(space, shape, values, options) : transform(space, shape, values, options),
      reference(shape, values, options));
}

/// The rows of arrays that are not dense, on either side.
template <class T>
void check_long_strided(const auto& space, const Shape& shape) {
  const HadamardOptions options{.norm = Normalization::ortho};
  const auto values = random_values<T>(volume(shape), 37u);
  const auto expected = reference(shape, values, options);
  for (const auto memory : {Memory::column_major, Memory::strided, Memory::reversed}) {
    INFO(to_string(memory));
    check_same(transform(space, shape, values, options, memory, Memory::row_major), expected);
    check_same(transform(space, shape, values, options, Memory::row_major, memory), expected);
    check_same(transform_in_place(space, shape, values, options, memory), expected);
  }
}

template <class T>
constexpr Normalization usual = std::is_integral_v<T> ? Normalization::none : Normalization::ortho;

}  // namespace

TEST_CASE_TEMPLATE("hadamard: rows of 2^17 to 2^19, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (int k = 17; k <= 19; ++k) {
      check_long<T>(space, {1, std::int64_t{1} << k}, {.norm = usual<T>});
      check_long<T>(space, {1, std::int64_t{1} << k}, {.norm = usual<T>}, true);
    }
    check_long<T>(space, {3, std::int64_t{1} << 17}, {.norm = usual<T>}, true);
  });
}

TEST_CASE("hadamard: rows of 2^20 to 2^22, bit for bit") {
  for_each_space([](const auto& space) {
    check_long<float>(space, {std::int64_t{1} << 22}, {.norm = Normalization::ortho});
    check_long<double>(space, {std::int64_t{1} << 21}, {.norm = Normalization::ortho}, true);
    check_long<papillon::half>(space, {std::int64_t{1} << 20}, {.norm = Normalization::ortho}, true);
    check_long<papillon::bfloat16>(space, {2, std::int64_t{1} << 20}, {.norm = Normalization::ortho});
    check_long<std::int32_t>(space, {std::int64_t{1} << 20}, {}, true);
  });
}

TEST_CASE_TEMPLATE("hadamard: long axes with inner > 1, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t inner : {2, 3, 7, 16, 70})
      for (const int k : {11, 14, 16}) {
        if ((inner << k) > (1 << 19)) continue;
        check_long<T>(space, {std::int64_t{1} << k, inner}, {.norm = usual<T>, .axis = 0});
        check_long<T>(space, {std::int64_t{1} << k, inner}, {.norm = usual<T>, .axis = 0}, true);
      }
    check_long<T>(space, {2, std::int64_t{1} << 17, 2}, {.norm = usual<T>, .axis = 1}, true);
    check_long<T>(space, {2, std::int64_t{1} << 17, 1}, {.norm = usual<T>, .axis = 1});
  });
}

TEST_CASE_TEMPLATE("hadamard: long m 2^k, rows and columns, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {std::int64_t{12} << 14, std::int64_t{20} << 13, std::int64_t{28} << 12}) {
      check_long<T>(space, {1, n}, {.norm = usual<T>});
      check_long<T>(space, {2, n}, {.norm = usual<T>}, true);
    }
    check_long<T>(space, {172 * 16, 5}, {.norm = usual<T>, .axis = 0});
    check_long<T>(space, {684 * 4, 3}, {.norm = usual<T>, .axis = 0}, true);
    check_long<T>(space, {28 * 512, 9}, {.norm = usual<T>, .axis = 0}, true);
  });
}

TEST_CASE_TEMPLATE("hadamard: long orderings and signs, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const auto ordering : {Ordering::sequency, Ordering::dyadic})
      for (const bool in_place : {false, true}) {
        check_long<T>(space, {2, std::int64_t{1} << 17}, {.norm = usual<T>, .ordering = ordering}, in_place);
        check_long<T>(space, {std::int64_t{1} << 15, 6}, {.norm = usual<T>, .axis = 0, .ordering = ordering},
                      in_place);
        check_long<T>(space, {std::int64_t{1} << 12, 150},
                      {.norm = usual<T>, .axis = 0, .ordering = ordering}, in_place);
      }
    for (const auto side : {papillon::SignSide::input, papillon::SignSide::output})
      for (const bool in_place : {false, true}) {
        HadamardOptions options{.norm = usual<T>, .signs = {.seed = 99u, .side = side}};
        check_long<T>(space, {2, std::int64_t{1} << 17}, options, in_place);
        options.ordering = Ordering::sequency;
        check_long<T>(space, {std::int64_t{1} << 17}, options, in_place);
        options.ordering = Ordering::natural;
        options.axis = 0;
        check_long<T>(space, {std::int64_t{12} << 11, 5}, options, in_place);
      }
  });
}

// Batches larger than the cache go through all passes block by block; the last block is a short one.
TEST_CASE_TEMPLATE("hadamard: batches of long transforms, bit for bit", T, float, double, std::int32_t,
                   std::complex<float>, papillon::half) {
  for_each_space([](const auto& space) {
    for (const bool in_place : {false, true}) {
      check_long<T>(space, {11, std::int64_t{1} << 17}, {.norm = usual<T>}, in_place);
      check_long<T>(space, {3, 2, std::int64_t{12} << 14}, {.norm = usual<T>}, in_place);
      check_long<T>(space, {5, std::int64_t{1} << 14, 20}, {.norm = usual<T>, .axis = 1}, in_place);
    }
  });
}

TEST_CASE("hadamard: batches of long strided transforms, bit for bit") {
  for_each_space([](const auto& space) { check_long_strided<float>(space, {5, std::int64_t{1} << 18}); });
}

// Long rows and columns that are not dense: the passes must step as the caller's strides say.
TEST_CASE_TEMPLATE("hadamard: long strided transforms, bit for bit", T, float, papillon::half,
                   std::complex<double>) {
  for_each_space([](const auto& space) { check_long_strided<T>(space, {2, std::int64_t{1} << 17}); });
}
