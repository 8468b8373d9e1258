// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/loaded_array.hpp"
#include "papillon/butterfly_options.hpp"
#include "papillon/core/tensor.hpp"

namespace papillon::cli {

/// The factors of `butterfly` as the command line says them.
struct ButterflyFiles {
  std::string factors;                ///< an .npz file or a folder
  std::vector<std::string> patterns;  ///< "a,b,c,d" for each factor, or none
};
void add_pattern_option(CLI::App& command, ButterflyFiles& files);

/// The factors with the arrays that hold their values; empty values where there are only patterns.
struct LoadedButterfly {
  std::vector<LoadedArray> arrays;
  std::vector<ButterflyFactor> factors;
};

/// Reads the factors. An array has the shape (a, b, c, d); with a pattern it may have three indices, (a, b,
/// c), or two, (b, c), the values then being the same for every index that it does not have. `input_name`
/// says in messages what has elements of `type`.
LoadedButterfly load_butterfly(const ButterflyFiles& files, ScalarType type, const std::string& input_name);

/// A row-major array and its product, neither of which is there: for checks, which look at addresses alone.
/// Throws std::invalid_argument for an axis that is outside.
struct AbsentArrays {
  ConstTensorDescriptor x;
  TensorDescriptor y;

  AbsentArrays(std::span<const ButterflyFactor> factors, ScalarType type, std::span<const std::int64_t> shape,
               const ButterflyOptions& options);
};

/// The length of the axis in x, or in y.
std::int64_t butterfly_length(std::span<const ButterflyFactor> factors, bool adjoint, bool of_result);

}  // namespace papillon::cli
