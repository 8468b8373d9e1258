// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/butterfly_call.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/npz.hpp"
#include "papillon/core/butterfly_problem.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::cli {

namespace {

using Pattern = std::array<std::int64_t, 4>;

alignas(64) const std::byte no_array_read[64] = {};

/// "a,b,c,d" with whole numbers from 0 on.
Pattern parse_pattern(const std::string& text) {
  Pattern pattern{};
  std::string_view rest = text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t comma = i + 1 < pattern.size() ? rest.find(',') : rest.size();
    const std::string number(rest.substr(0, comma));
    if (comma == std::string_view::npos || !integer()(number).empty() || number.starts_with('-') ||
        !CLI::detail::lexical_cast(number, pattern[i])) {
      throw std::invalid_argument("--pattern " + text + " is not of the form a,b,c,d");
    }
    rest.remove_prefix(i + 1 < pattern.size() ? comma + 1 : comma);
  }
  return pattern;
}

/// A factor of which there is no more than the pattern.
ButterflyFactor factor_of(const Pattern& pattern, ScalarType type) {
  const auto& [a, b, c, d] = pattern;
  return {no_array_read, type, a, b, c, d, 0, 0, 0, 0};
}

ButterflyFactor factor_of(const LoadedArray& array, const Pattern* pattern, ScalarType type,
                          const std::string& input_name) {
  const std::string what = array.name + ": " + describe(array.header);
  if (library_type(array.header.type) != type) {
    throw std::invalid_argument(what + ": a factor has the element type of the array, but " + input_name +
                                " holds " + std::string(name_of(type)));
  }
  const std::vector<std::int64_t>& shape = array.header.shape;
  if (shape.size() != 4 && pattern == nullptr) {
    throw std::invalid_argument(what + " is not of a shape (a, b, c, d), and no --pattern is given");
  }
  if (shape.size() < 2 || shape.size() > 4) {
    throw std::invalid_argument(what + " is of no shape (a, b, c, d), (a, b, c) or (b, c)");
  }
  // The array's indices among a, b, c, d: one that it does not have has stride 0.
  const std::size_t first = shape.size() == 2 ? 1 : 0;
  Pattern extents = {1, 1, 1, 1}, strides = {};
  const std::vector<std::int64_t> array_strides = array.strides();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    extents[first + i] = shape[i];
    strides[first + i] = array_strides[i];
    if (pattern != nullptr && (*pattern)[first + i] != shape[i]) {
      throw std::invalid_argument(what + " does not hold a factor of pattern " + to_text(*pattern));
    }
  }
  if (pattern != nullptr) extents = *pattern;
  const auto& [a, b, c, d] = extents;
  const std::byte* const values = array.elements.empty() ? no_array_read : array.elements.data();
  return {values, type, a, b, c, d, strides[0], strides[1], strides[2], strides[3]};
}

}  // namespace

void add_pattern_option(CLI::App& command, ButterflyFiles& files) {
  command
      .add_option(
          "--pattern", files.patterns,
          "pattern of a factor, once for each; for arrays (a, b, c) or (b, c) the others share their values")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("a,b,c,d");
}

LoadedButterfly load_butterfly(const ButterflyFiles& files, ScalarType type, const std::string& input_name) {
  LoadedButterfly result;
  std::vector<Pattern> patterns;
  patterns.reserve(files.patterns.size());
  for (const std::string& text : files.patterns) patterns.push_back(parse_pattern(text));
  if (files.factors.empty()) {
    for (const Pattern& pattern : patterns) result.factors.push_back(factor_of(pattern, type));
    return result;
  }
  result.arrays = load_arrays(files.factors, detail::max_butterfly_factors);
  if (!patterns.empty() && patterns.size() != result.arrays.size()) {
    throw std::invalid_argument(files.factors + ": holds " + std::to_string(result.arrays.size()) +
                                " arrays, but " + std::to_string(patterns.size()) + " patterns are given");
  }
  for (std::size_t f = 0; f < result.arrays.size(); ++f) {
    result.factors.push_back(
        factor_of(result.arrays[f], patterns.empty() ? nullptr : &patterns[f], type, input_name));
  }
  return result;
}

std::int64_t butterfly_length(std::span<const ButterflyFactor> factors, bool adjoint, bool of_result) {
  const bool rows = of_result != adjoint;
  const ButterflyFactor& factor = rows ? factors.front() : factors.back();
  std::int64_t length = 1;
  for (const std::int64_t extent : {factor.a, rows ? factor.b : factor.c, factor.d}) {
    if (__builtin_mul_overflow(length, extent, &length))
      throw std::invalid_argument("a factor multiplies vectors of more than 2^63 - 1 points");
  }
  return length;
}

AbsentArrays::AbsentArrays(std::span<const ButterflyFactor> factors, ScalarType type,
                           std::span<const std::int64_t> shape, const ButterflyOptions& options)
    : x(detail::make_row_major<const void*>(no_array_read, type, shape)) {
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  const int axis = detail::checked_axis("butterfly", options.axis, "axis", x);
  result[static_cast<std::size_t>(axis)] = butterfly_length(factors, options.adjoint, true);
  // Beyond what a process can have, so that it overlaps nothing that is read.
  void* const beyond = reinterpret_cast<void*>(std::uintptr_t{1} << 62);  // NOLINT(performance-no-int-to-ptr)
  y = detail::make_row_major<void*>(beyond, type, result);
}

}  // namespace papillon::cli
