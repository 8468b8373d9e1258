// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/mapped_file.hpp"
#include "cli/npy.hpp"
#include "papillon/core/tensor.hpp"

// What commands have in common that apply an operator along one axis of an .npy file.
namespace papillon::cli {

/// Where and how a command runs: its arguments --device, --threads and --force.
struct RunArguments {
  std::string device = "auto";
  int threads = 0;
  bool force = false;
};

void add_run_options(CLI::App& command, RunArguments& arguments);

/// Their arguments.
struct AxisArguments : RunArguments {
  std::string input;
  std::string output;
  int axis = -1;
  double scale = 1.0;
  bool adjoint = false;
};

void add_axis_options(CLI::App& command, AxisArguments& arguments);

/// The input, open, its header read, its axis checked.
struct AxisInput {
  MappedFile file;
  NpyHeader header;
  ScalarType type;
  int axis;  ///< counted from the first

  /// Throws std::invalid_argument naming the file, or the axis.
  AxisInput(const AxisArguments& arguments, std::string_view operator_name);

  std::int64_t length() const { return header.shape[static_cast<std::size_t>(axis)]; }
  /// The shape with the axis at another length.
  std::vector<std::int64_t> shape_with(std::int64_t length) const;
};

/// Runs `check` and names the input and what it holds in the text of an std::invalid_argument that it throws.
void with_input_named(const AxisInput& input, const std::function<void()>& check);

/// Applies an operator: apply(x, y) is called for parts of the input, arrays (outer, n, inner) and (outer, m,
/// inner) of the axis in the middle, with Kokkos initialised.
void apply_along_axis(
    const AxisArguments& arguments, const AxisInput& input, std::int64_t m,
    const std::function<void(const ConstTensorDescriptor&, const TensorDescriptor&)>& apply);

}  // namespace papillon::cli
