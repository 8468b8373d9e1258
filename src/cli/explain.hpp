// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace papillon::cli {

// Each adds what `papillon explain` says about one operator.
void add_explain_kronecker(CLI::App& explain_command);
void add_explain_gemm(CLI::App& explain_command);
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

/// Prints what runs where the array is: on a GPU architecture what the CUDA backend says, in builds without
/// one, and on CPUs, what the generic layer does.
void print_explanation(const ExplainedArray& array, const std::function<std::string()>& on_gpu,
                       const std::function<std::string()>& generic);

}  // namespace papillon::cli
