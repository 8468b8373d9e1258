// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "papillon/hadamard.hpp"
#include "support/guarded.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// What a case is, for the message of a failure.
inline std::string describe_case(const Shape& shape, const papillon::HadamardOptions& options) {
  std::string text = "shape (";
  for (const auto extent : shape) text += std::to_string(extent) + ",";
  text += ") axis " + std::to_string(options.axis) + " group " + std::to_string(options.group) + " norm " +
          std::string(papillon::name_of(options.norm)) + " scale " + std::to_string(options.scale) +
          " ordering " + std::string(papillon::name_of(options.ordering));
  if (options.signs.seed) text += " seed " + std::to_string(*options.signs.seed);
  if (!options.signs.values.empty()) text += " sign vector";
  if (options.signs.side == papillon::SignSide::output) text += " on the output";
  return text;
}

/// y of an out-of-place call on guarded arrays laid out as asked; also checks that nothing else was written.
template <class Space, class T>
std::vector<T> transform(const Space& space, const Shape& shape, const std::vector<T>& values,
                         const papillon::HadamardOptions& options, Memory x_memory = Memory::row_major,
                         Memory y_memory = Memory::row_major) {
  Guarded<T, Space> x(shape, x_memory, values);
  Guarded<T, Space> y(shape, y_memory);
  const auto before = x.bytes();
  papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
  space.fence();
  INFO(describe_case(shape, options), ", x ", to_string(x_memory), ", y ", to_string(y_memory));
  CHECK_MESSAGE(x.bytes() == before, "the input was written");
  CHECK_MESSAGE(y.surroundings_intact(), "something beside the output was written");
  return y.get();
}

/// The same in place.
template <class Space, class T>
std::vector<T> transform_in_place(const Space& space, const Shape& shape, const std::vector<T>& values,
                                  const papillon::HadamardOptions& options,
                                  Memory memory = Memory::row_major) {
  Guarded<T, Space> x(shape, memory, values);
  papillon::hadamard(space, x.const_descriptor(), x.descriptor(), options);
  space.fence();
  INFO(describe_case(shape, options), ", in place, ", to_string(memory));
  CHECK_MESSAGE(x.surroundings_intact(), "something beside the output was written");
  return x.get();
}

/// Compares bit for bit and names the first difference.
template <class T>
void check_same(const std::vector<T>& actual, const std::vector<T>& expected) {
  const auto at = first_difference(actual, expected);
  if (at < 0) {
    CHECK(at == -1);
    return;
  }
  REQUIRE(actual.size() == expected.size());
  const auto i = static_cast<std::size_t>(at);
  INFO("first difference at element ", at, " of ", actual.size());
  if constexpr (is_std_complex<T>) {
    INFO("got ", actual[i].real(), " ", actual[i].imag(), ", expected ", expected[i].real(), " ",
         expected[i].imag());
    CHECK(at == -1);
  } else {
    INFO("got ", actual[i], ", expected ", expected[i]);
    CHECK(at == -1);
  }
}

}  // namespace papillon_test
