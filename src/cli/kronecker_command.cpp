// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/axis_command.hpp"
#include "cli/commands.hpp"
#include "cli/gpu.hpp"
#include "cli/kronecker_call.hpp"
#include "cli/loaded_array.hpp"
#include "papillon/kronecker.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  AxisArguments common;
  std::vector<std::string> factors;
  bool left = false;
};

void run(const Arguments& arguments) {
  const bool on_gpu = use_gpu(arguments.common.device, "kronecker");
  const AxisInput input(arguments.common, "kronecker");
  std::vector<LoadedArray> arrays;
  std::vector<Factor> factors;
  for (const std::string& name : arguments.factors) {
    const LoadedArray& array = arrays.emplace_back(load_npy(name));
    factors.push_back(describe_matrix(array.header, name, input.type, arguments.common.input));
    if (!array.elements.empty()) factors.back().data = array.elements.data();
  }
  KroneckerOptions options;
  options.scale = arguments.common.scale;
  options.axis = input.axis;
  options.vectors = arguments.left ? VectorSide::left : VectorSide::right;
  options.adjoint = arguments.common.adjoint;
  std::int64_t length = 0;
  with_input_named(input, [&] {
    length = check_kronecker_call(factors, input.type, input.header.shape, options).y_length;
  });
  options.axis = 1;  // of the parts
  apply_along_axis(arguments.common, input, length,
                   [&](const ConstTensorDescriptor& x, const TensorDescriptor& y) {
                     if (on_gpu) return kronecker_on_gpu(factors, x, y, options);
                     const Kokkos::DefaultHostExecutionSpace space;
                     kronecker(space, factors, x, y, options);
                     space.fence("papillon: slab of a file");
                   });
}

}  // namespace

void add_kronecker_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("kronecker", "multiply one axis of an .npy file by a Kronecker product of matrices");
  add_axis_options(*command, arguments->common);
  command
      ->add_option("--factor", arguments->factors,
                   "a matrix; once for each factor of F1 x F2 x ..., the index of F1 varying slowest")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("F.npy");
  command->add_flag("--left", arguments->left, "vectors are rows: y = x (F1 x F2 x ...)");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
