// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cli/npy.hpp"
#include "papillon/core/kronecker_problem.hpp"
#include "papillon/kronecker_options.hpp"

namespace papillon::cli {

/// A matrix in a file: without its elements, the pointer being one that is not read. Throws
/// std::invalid_argument naming the file unless the array has two indices and elements of `type`.
Factor describe_matrix(const NpyHeader& header, std::string_view name, ScalarType type,
                       std::string_view input_name);

/// A call of `kronecker` on a row-major array of `shape`, checked as the library does, with no array there.
/// Throws std::invalid_argument.
detail::KroneckerProblem check_kronecker_call(std::span<const Factor> factors, ScalarType type,
                                              std::span<const std::int64_t> shape,
                                              const KroneckerOptions& options);

}  // namespace papillon::cli
