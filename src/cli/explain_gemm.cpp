// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <bit>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/gemm_call.hpp"
#include "cli/gpu.hpp"
#include "papillon/gemm.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  std::string dtype = "f4";
  std::string device = "cpu";
  GemmArguments gemm;
};

/// Row-major matrices of an address that nothing reads.
TensorDescriptor matrices(std::uintptr_t address, ScalarType type, std::int64_t batch, std::int64_t rows,
                          std::int64_t columns, bool transposed) {
  if (transposed) std::swap(rows, columns);
  const std::int64_t extents[] = {batch, rows, columns};
  return detail::make_row_major<void*>(std::bit_cast<void*>(address), type, extents);
}

void explain(const Arguments& arguments) {
  const std::vector<BilinearAlgorithm> tables = tables_of(arguments.gemm);
  const GemmOptions options = options_of(arguments.gemm, tables);
  const ScalarType type = *scalar_type_from_name(arguments.dtype);
  const ScalarType out =
      arguments.gemm.out_dtype.empty() ? type : *scalar_type_from_name(arguments.gemm.out_dtype);
  const auto transposes = [](MatrixOperation operation) {
    return operation == MatrixOperation::transpose || operation == MatrixOperation::conjugate_transpose;
  };
  // Of pointers only the addresses are looked at; C lies beyond every A and B.
  const std::uintptr_t operands = 256;
  const std::uintptr_t result = std::uintptr_t{1} << 62;
  const ConstTensorDescriptor a =
      matrices(operands, type, arguments.batch, arguments.m, arguments.k, transposes(options.op_a));
  const ConstTensorDescriptor b =
      matrices(operands, type, arguments.batch, arguments.k, arguments.n, transposes(options.op_b));
  const TensorDescriptor c = matrices(result, out, arguments.batch, arguments.m, arguments.n, false);
  if (arguments.device == "cpu") {
    std::cout << generic::explain_gemm<Kokkos::DefaultHostExecutionSpace>(
        detail::make_gemm_problem(1.0, a, b, 0.0, c, options));
    return;
  }
  const std::string text = explain_on_gpu(detail::make_gemm_problem(1.0, a, b, 0.0, c, options));
  if (text.empty()) throw std::invalid_argument("--device cuda: " + why_no_gpu());
  std::cout << text;
}

}  // namespace

void add_explain_gemm(CLI::App& explain_command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = explain_command.add_subcommand("gemm", "a product of matrices");
  const auto add_extent = [&](const std::string& name, std::int64_t& value, const std::string& what) {
    command->add_option(name, value, what)->required()->check(not_negative());
  };
  add_extent("--m", arguments->m, "rows of op(A) and of C");
  add_extent("--n", arguments->n, "columns of op(B) and of C");
  add_extent("--k", arguments->k, "columns of op(A) and rows of op(B)");
  command->add_option("--batch", arguments->batch, "how many products")
      ->check(at_least_one())
      ->capture_default_str();
  add_dtype_option(*command, arguments->dtype);
  add_gemm_options(*command, arguments->gemm);
  command->add_option("--device", arguments->device, "where it would be computed")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace papillon::cli
