// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/kronecker_call.hpp"

#include <stdexcept>
#include <string>

#include "papillon/core/tensor_checks.hpp"

namespace papillon::cli {

namespace {

// Of pointers only the address is looked at, and that of any allocation is aligned.
alignas(64) const std::byte placeholder[64] = {};

}  // namespace

Factor describe_matrix(const NpyHeader& header, std::string_view name, ScalarType type,
                       std::string_view input_name) {
  const std::string what = std::string(name) + ": " + describe(header);
  if (header.shape.size() != 2) throw std::invalid_argument(what + " is no matrix");
  if (library_type(header.type) != type) {
    throw std::invalid_argument(what + ": a factor has the element type of the array, but " +
                                std::string(input_name) + " holds " + std::string(name_of(type)));
  }
  const std::int64_t rows = header.shape[0];
  const std::int64_t columns = header.shape[1];
  return header.fortran_order ? Factor{placeholder, type, rows, columns, 1, rows}
                              : Factor{placeholder, type, rows, columns, columns, 1};
}

detail::KroneckerProblem check_kronecker_call(std::span<const Factor> factors, ScalarType type,
                                              std::span<const std::int64_t> shape,
                                              const KroneckerOptions& options) {
  constexpr std::string_view operator_name = "kronecker";
  const auto x = detail::make_row_major<const void*>(placeholder, type, shape);
  const auto axis = static_cast<std::size_t>(detail::checked_axis(operator_name, options.axis, "axis", x));
  const bool turned = (options.vectors == VectorSide::left) != options.adjoint;
  std::vector<std::int64_t> result(shape.begin(), shape.end());
  result[axis] = 1;
  for (const Factor& factor : factors) {
    if (__builtin_mul_overflow(result[axis], turned ? factor.columns : factor.rows, &result[axis]))
      throw std::invalid_argument("the result would have more than 2^63 - 1 points along the axis");
  }
  return detail::read_kronecker_call(operator_name, factors, x,
                                     detail::make_row_major<const void*>(placeholder, type, result), "y",
                                     options);
}

}  // namespace papillon::cli
