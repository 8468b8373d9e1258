// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/butterfly_call.hpp"
#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/gpu.hpp"
#include "papillon/core/butterfly_problem.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  ExplainedArray array;
  ButterflyFiles files;
  bool adjoint = false;
};

void explain(const Arguments& arguments) {
  ExplainedArray array = arguments.array;
  read_explained_input(array);
  const ScalarType type = *scalar_type_from_name(array.dtype);
  const LoadedButterfly loaded =
      load_butterfly(arguments.files, type, array.input.empty() ? "--dtype" : array.input);
  if (loaded.factors.empty()) throw std::invalid_argument("--factors or --pattern is required");
  ButterflyOptions options;
  options.axis = array.axis;
  options.adjoint = arguments.adjoint;
  std::vector<std::int64_t> shape = array.shape;
  if (shape.empty()) shape = {butterfly_length(loaded.factors, options.adjoint, false)};
  const AbsentArrays arrays(loaded.factors, type, shape, options);
  print_explanation(
      array,
      [&] {
        return explain_on_gpu(detail::make_butterfly_problem(loaded.factors, arrays.x, arrays.y, options));
      },
      [&] {
        return explain_butterfly(loaded.factors, arrays.x, arrays.y, options,
                                 array.arch == "cpu" ? Architecture::cpu : Architecture::device);
      });
}

}  // namespace

void add_explain_butterfly(CLI::App& explain_command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = explain_command.add_subcommand("butterfly", "a product of Kronecker-sparse factors");
  command->add_option("--factors", arguments->files.factors, "an .npz file or a folder of .npy files")
      ->check(not_empty())
      ->type_name("F.npz|FOLDER");
  add_pattern_option(*command, arguments->files);
  add_explained_array(*command, arguments->array);
  command->add_flag("--adjoint", arguments->adjoint, "the conjugate transpose of the matrix");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace papillon::cli
