// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace papillon::cli {

// Each adds what `papillon explain` says about one operator.
void add_explain_kronecker(CLI::App& explain_command);
void add_explain_butterfly(CLI::App& explain_command);

/// The array that an operator is explained for.
struct ExplainedArray {
  std::string input;                ///< a file to take the next two from
  std::vector<std::int64_t> shape;  ///< empty: one vector
  std::string dtype = "f4";
  int axis = -1;
  std::string arch = "cpu";
};
void add_explained_array(CLI::App& command, ExplainedArray& array);
void add_dtype_option(CLI::App& command, std::string& dtype);
void add_arch_option(CLI::App& command, std::string& arch);

/// Takes shape and element type from the input where one is given.
void read_explained_input(ExplainedArray& array);

/// Says which kernels would run.
void print_backend(const ExplainedArray& array, std::string_view operator_name);

}  // namespace papillon::cli
