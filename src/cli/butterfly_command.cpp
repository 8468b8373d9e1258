// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/axis_command.hpp"
#include "cli/butterfly_call.hpp"
#include "cli/commands.hpp"
#include "cli/gpu.hpp"
#include "cli/loaded_array.hpp"
#include "papillon/butterfly.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  AxisArguments common;
  ButterflyFiles files;
  std::string permutation;
};

std::vector<std::int64_t> read_permutation(const std::string& name, std::int64_t length) {
  const LoadedArray array = load_npy(name);
  if (array.header.type != NpyType::int64 || array.header.shape.size() != 1 ||
      array.header.shape[0] != length) {
    throw std::invalid_argument(name + ": " + describe(array.header) +
                                " was given as permutation, which is int64 of " + "shape (" +
                                std::to_string(length) + ")");
  }
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(length));
  std::memcpy(permutation.data(), array.elements.data(), array.elements.size());
  std::vector<bool> taken(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const std::int64_t index = permutation[i];
    if (index < 0 || index >= length || taken[static_cast<std::size_t>(index)]) {
      throw std::invalid_argument(name + ": entry " + std::to_string(i) + " is " + std::to_string(index) +
                                  (index < 0 || index >= length
                                       ? ", outside 0 ... " + std::to_string(length - 1)
                                       : ", which has come before"));
    }
    taken[static_cast<std::size_t>(index)] = true;
  }
  return permutation;
}

void run(const Arguments& arguments) {
  const bool on_gpu = use_gpu(arguments.common.device, "butterfly");
  const AxisInput input(arguments.common, "butterfly");
  const LoadedButterfly loaded = load_butterfly(arguments.files, input.type, arguments.common.input);
  ButterflyOptions options;
  options.scale = arguments.common.scale;
  options.axis = input.axis;
  options.adjoint = arguments.common.adjoint;
  std::vector<std::int64_t> permutation;
  if (!arguments.permutation.empty()) {
    permutation = read_permutation(arguments.permutation, butterfly_length(loaded.factors, false, false));
    options.x_permutation = permutation;
  }
  std::int64_t length = 0;
  with_input_named(input, [&] {
    const AbsentArrays arrays(loaded.factors, input.type, input.header.shape, options);
    length = detail::make_butterfly_problem(loaded.factors, arrays.x, arrays.y, options).y_length;
  });
  options.axis = 1;  // of the parts
  apply_along_axis(arguments.common, input, length,
                   [&](const ConstTensorDescriptor& x, const TensorDescriptor& y) {
                     if (on_gpu) return butterfly_on_gpu(loaded.factors, x, y, options);
                     const Kokkos::DefaultHostExecutionSpace space;
                     butterfly(space, loaded.factors, x, y, options);
                     space.fence("papillon: slab of a file");
                   });
}

}  // namespace

void add_butterfly_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "butterfly", "multiply one axis of an .npy file by a product of Kronecker-sparse factors");
  add_axis_options(*command, arguments->common);
  command
      ->add_option(
          "--factors", arguments->files.factors,
          "arrays (a, b, c, d), F1 first: an .npz file or a folder of .npy files, in natural order of names")
      ->required()
      ->check(not_empty())
      ->type_name("F.npz|FOLDER");
  add_pattern_option(*command, arguments->files);
  command
      ->add_option("--permutation", arguments->permutation,
                   "int64: element i of what the factors multiply is element P[i] of the input")
      ->check(not_empty())
      ->type_name("P.npy");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
