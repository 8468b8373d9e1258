// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "papillon/core/scalar.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::cli {

// Each adds a subcommand, whose callback does the work and throws what should be said to the user.
void add_hadamard_command(CLI::App& app);
void add_kronecker_command(CLI::App& app);
void add_butterfly_command(CLI::App& app);
void add_gemm_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_matrix_command(CLI::App& app);
void add_quantize_command(CLI::App& app);
void add_dequantize_command(CLI::App& app);

/// The scalar type of a name on the command line: NumPy's codes (f2 … c16), names (float16 … complex128) and
/// bf16 or bfloat16; none for anything else.
std::optional<ScalarType> scalar_type_from_name(std::string_view name);

/// Refuses what is no such name.
CLI::Validator scalar_type_name();

/// Refuses what is not a decimal integer of 64 bits; the second also those below 0, the third those below 1.
CLI::Validator integer();
CLI::Validator not_negative();
CLI::Validator at_least_one();

/// Axes of an array of `rank` indices, counted from the first and in ascending order.
std::vector<int> ascending_axes(std::vector<int> axes, std::size_t rank);

/// Refuses an empty argument, which the parser takes for 0 or for an option that is not given.
CLI::Validator not_empty();

/// --ordering and --intermediate with their allowed names, and the values of those.
void add_ordering_option(CLI::App& command, std::string& name);
void add_intermediate_option(CLI::App& command, std::string& name);
Ordering ordering_from_name(const std::string& name);
Intermediate intermediate_from_name(const std::string& name);

}  // namespace papillon::cli
