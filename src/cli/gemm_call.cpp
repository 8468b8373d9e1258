// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/gemm_call.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "cli/bilinear_file.hpp"
#include "cli/commands.hpp"
#include "cli/file_checks.hpp"

namespace papillon::cli {

namespace {

template <class Value, std::size_t Count>
using Names = std::array<std::pair<std::string_view, Value>, Count>;

constexpr Names<MatrixOperation, 4> operations = {
    {{"none", MatrixOperation::none},
     {"transpose", MatrixOperation::transpose},
     {"conjugate-transpose", MatrixOperation::conjugate_transpose},
     {"conjugate", MatrixOperation::conjugate}}};

constexpr Names<GemmAlgorithm, 5> algorithms = {{{"automatic", GemmAlgorithm::automatic},
                                                 {"classical", GemmAlgorithm::classical},
                                                 {"strassen", GemmAlgorithm::strassen},
                                                 {"winograd", GemmAlgorithm::winograd},
                                                 {"table", GemmAlgorithm::table}}};

template <class Value, std::size_t Count>
CLI::Validator one_of(const Names<Value, Count>& names) {
  std::vector<std::string> list;
  for (const auto& entry : names) list.emplace_back(entry.first);
  return CLI::IsMember(list);
}

template <class Value, std::size_t Count>
Value value_of(const Names<Value, Count>& names, std::string_view name) {
  for (const auto& [known, value] : names)
    if (known == name) return value;
  return names.front().second;
}

bool transposes(const std::string& name) {
  const MatrixOperation operation = value_of(operations, name);
  return operation == MatrixOperation::transpose || operation == MatrixOperation::conjugate_transpose;
}

}  // namespace

void add_gemm_options(CLI::App& command, GemmArguments& arguments) {
  command.add_option("--trans-a", arguments.trans_a, "what A is replaced by")
      ->check(one_of(operations))
      ->capture_default_str();
  command.add_option("--trans-b", arguments.trans_b, "what B is replaced by")
      ->check(one_of(operations))
      ->capture_default_str();
  command.add_option("--algorithm", arguments.algorithm, "how to multiply")
      ->check(one_of(algorithms))
      ->capture_default_str();
  command
      .add_option(
          "--table", arguments.tables,
          "implies --algorithm table: the algorithm of each level, outermost first: strassen, winograd, "
          "hopcroft-kerr, strassen-squared, or a JSON file")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("NAME|T.json,...");
  command
      .add_option("--levels", arguments.levels,
                  "levels of the algorithm; as many as pay, or as tables are given, if not given")
      ->check(not_negative())
      ->type_name("L");
  command
      .add_option("--max-workspace", arguments.max_workspace, "bytes of workspace at most; any if not given")
      ->check(not_negative())
      ->type_name("BYTES");
  command
      .add_option(
          "--out-dtype", arguments.out_dtype,
          "element type of C: for 16-bit operands f4, else their own, which is what it is if not given")
      ->check(scalar_type_name());
}

std::vector<BilinearAlgorithm> tables_of(const GemmArguments& arguments) {
  std::vector<BilinearAlgorithm> tables;
  tables.reserve(arguments.tables.size());
  for (const std::string& name : arguments.tables) tables.push_back(bilinear_algorithm_from(name));
  return tables;
}

GemmOptions options_of(const GemmArguments& arguments, std::span<const BilinearAlgorithm> tables) {
  GemmOptions options;
  options.op_a = value_of(operations, arguments.trans_a);
  options.op_b = value_of(operations, arguments.trans_b);
  options.algorithm = value_of(algorithms, arguments.algorithm);
  if (!tables.empty() && options.algorithm == GemmAlgorithm::automatic)
    options.algorithm = GemmAlgorithm::table;
  options.max_levels = arguments.levels;
  options.tables = tables;
  options.max_workspace_bytes = arguments.max_workspace;
  return options;
}

NpyHeader product_header(const NpyHeader& a, const std::string& a_name, const NpyHeader& b,
                         const std::string& b_name, const GemmArguments& arguments) {
  for (const auto& [header, name] : {std::pair(&a, &a_name), std::pair(&b, &b_name)}) {
    if (header->shape.size() != 2 && header->shape.size() != 3)
      refuse(*name, describe(*header), " is no matrix and no batch of matrices along the first axis");
  }
  if (a.shape.size() == 3 && b.shape.size() == 3 && a.shape[0] != b.shape[0]) {
    refuse(a_name, describe(a), " has ", a.shape[0], " matrices but ", b_name, ", ", describe(b), ", has ",
           b.shape[0]);
  }
  NpyHeader c;
  c.type = a.type;
  if (!arguments.out_dtype.empty()) c.type = npy_type(*scalar_type_from_name(arguments.out_dtype));
  if (a.shape.size() == 3) {
    c.shape.push_back(a.shape[0]);
  } else if (b.shape.size() == 3) {
    c.shape.push_back(b.shape[0]);
  }
  c.shape.push_back(a.shape[a.shape.size() - (transposes(arguments.trans_a) ? 1 : 2)]);
  c.shape.push_back(b.shape[b.shape.size() - (transposes(arguments.trans_b) ? 2 : 1)]);
  return c;
}

}  // namespace papillon::cli
