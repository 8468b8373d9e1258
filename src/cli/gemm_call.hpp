// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/npy.hpp"
#include "papillon/gemm_options.hpp"

// What `papillon gemm` and `papillon explain gemm` have in common.
namespace papillon::cli {

/// Their arguments about how to multiply.
struct GemmArguments {
  std::string trans_a = "none";
  std::string trans_b = "none";
  std::string algorithm = "automatic";
  std::vector<std::string> tables;
  int levels = -1;
  std::uint64_t max_workspace = UINT64_MAX;
  std::string out_dtype;
};

void add_gemm_options(CLI::App& command, GemmArguments& arguments);

/// The algorithms that --table names: built-in ones, or those of files.
std::vector<BilinearAlgorithm> tables_of(const GemmArguments& arguments);

/// The arguments as the library takes them; `tables` must outlive them.
GemmOptions options_of(const GemmArguments& arguments, std::span<const BilinearAlgorithm> tables);

/// What C is, of the operands' headers: type, and shape in C order. Throws std::invalid_argument naming
/// the files where an operand is no matrix and no batch of matrices, or the batches differ, or --out-dtype
/// does not go with the operands' type.
NpyHeader product_header(const NpyHeader& a, const std::string& a_name, const NpyHeader& b,
                         const std::string& b_name, const GemmArguments& arguments);

}  // namespace papillon::cli
