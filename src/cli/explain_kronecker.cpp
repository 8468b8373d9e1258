// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/gpu.hpp"
#include "cli/kronecker_call.hpp"
#include "cli/mapped_file.hpp"
#include "papillon/core/kronecker_description.hpp"
#include "papillon/generic/kronecker.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  ExplainedArray array;
  std::vector<std::string> factors;
  bool left = false;
  bool adjoint = false;
};

/// "PxQ" as a matrix that is not there; none for any other text.
std::optional<NpyHeader> matrix_of_size(const std::string& text, ScalarType type) {
  const std::size_t cross = text.find('x');
  if (cross == std::string::npos) return std::nullopt;
  NpyHeader header;
  for (const std::string& extent : {text.substr(0, cross), text.substr(cross + 1)}) {
    std::int64_t value = 0;
    if (!at_least_one()(extent).empty() || !CLI::detail::lexical_cast(extent, value)) return std::nullopt;
    header.shape.push_back(value);
  }
  header.type = npy_type(type);
  return header;
}

void explain(const Arguments& arguments) {
  ExplainedArray array = arguments.array;
  read_explained_input(array);
  const ScalarType type = *scalar_type_from_name(array.dtype);
  std::vector<Factor> factors;
  for (const std::string& text : arguments.factors) {
    std::optional<NpyHeader> header = matrix_of_size(text, type);
    if (!header) header = read_npy_header(MappedFile(text).bytes(), text);
    factors.push_back(describe_matrix(*header, text, type, array.input.empty() ? "--dtype" : array.input));
  }
  KroneckerOptions options;
  options.axis = array.axis;
  options.vectors = arguments.left ? VectorSide::left : VectorSide::right;
  options.adjoint = arguments.adjoint;
  std::vector<std::int64_t> shape = array.shape;
  if (shape.empty()) {
    const bool turned = arguments.left != arguments.adjoint;
    shape.push_back(1);
    for (const Factor& factor : factors) {
      if (__builtin_mul_overflow(shape[0], turned ? factor.rows : factor.columns, shape.data()))
        throw std::invalid_argument("the factors have more than 2^63 - 1 columns together");
    }
  }
  const detail::KroneckerProblem problem = check_kronecker_call(factors, type, shape, options);
  const Architecture architecture = array.arch == "cpu" ? Architecture::cpu : Architecture::device;
  print_explanation(
      array, [&] { return explain_on_gpu(problem); },
      [&] {
        return explain_kronecker(problem, generic::make_kronecker_plan(problem, architecture), architecture);
      });
}

}  // namespace

void add_explain_kronecker(CLI::App& explain_command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = explain_command.add_subcommand("kronecker", "a Kronecker product along one axis");
  command->add_option("--factor", arguments->factors, "a factor: its size, 4x3, or its file; once for each")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(not_empty())
      ->type_name("PxQ|F.npy");
  add_explained_array(*command, arguments->array);
  command->add_flag("--left", arguments->left, "vectors are rows: y = x (F1 x F2 x ...)");
  command->add_flag("--adjoint", arguments->adjoint, "the conjugate transpose of the matrix");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace papillon::cli
