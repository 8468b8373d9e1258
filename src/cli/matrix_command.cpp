// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/npy_output.hpp"
#include "papillon/orders.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::int64_t order = 0;
  std::string output;
  bool force = false;
};

void write_matrix(const Arguments& arguments) {
  try {
    const HadamardMatrix matrix = hadamard_matrix(arguments.order);
    NpyHeader header;
    header.type = NpyType::int8;
    header.shape = {matrix.order, matrix.order};
    NpyOutput file(arguments.output, header, arguments.force);
    std::memcpy(file.data(), matrix.entries.data(), matrix.entries.size());
    file.commit();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("out of memory for the Hadamard matrix of order " +
                             std::to_string(arguments.order));
  }
}

}  // namespace

void add_matrix_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("matrix", "write the Hadamard matrix of an order, as the transforms use it");
  command->add_option("order", arguments->order, "the order")->required()->type_name("M");
  command->add_option("-o,--output", arguments->output, "the file to write: int8, M x M")
      ->required()
      ->type_name("H.npy");
  command->add_flag("--force", arguments->force, "overwrite the output if it exists");
  command->callback([arguments] { write_matrix(*arguments); });
}

}  // namespace papillon::cli
