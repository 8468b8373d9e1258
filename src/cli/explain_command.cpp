// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.hpp"
#include "cli/gpu.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/orders.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::string operation;
  std::int64_t n = 0;
  std::int64_t rows = 1;
  std::string dtype = "f4";
  std::string arch = "cpu";
};

/// Bytes read and written per element over all passes. Sums of 16-bit scalars stay in FP32 between passes.
std::int64_t bytes_per_element(int passes, ScalarType type) {
  const auto storage = static_cast<std::int64_t>(size_of(type));
  const auto between = static_cast<std::int64_t>(size_of(compute_scalar(type)));
  return 2 * storage + 2 * between * (passes - 1);
}

void explain(const Arguments& arguments) {
  const ScalarType type = *scalar_type_from_name(arguments.dtype);
  const bool on_cpu = arguments.arch == "cpu";
  const HadamardFactorization factors = hadamard_factorization(arguments.n);
  // A complex element is two real ones side by side: an inner index.
  const Schedule schedule =
      make_schedule(on_cpu ? Architecture::cpu : Architecture::device, real_of(type), factors.order,
                    factors.log2_power, arguments.rows, is_complex(type) ? 2 : 1);

  const __int128 elements = static_cast<__int128>(arguments.n) * arguments.rows;
  const std::int64_t reals = is_complex(type) ? 2 : 1;
  const std::int64_t element_sums = reals * (factors.log2_power + factors.order - 1);
  const auto check_counts = [&](std::int64_t per_element) {
    if (elements <= INT64_MAX / std::max(per_element, element_sums + reals)) return;
    throw std::invalid_argument("--n " + std::to_string(arguments.n) + " --rows " +
                                std::to_string(arguments.rows) + ": the counts exceed 2^63 - 1");
  };
  check_counts(bytes_per_element(1, type));
  GpuPlan plan;
  if (!on_cpu) plan = plan_on_gpu(type, arguments.n, arguments.rows, arguments.arch == "sm_100" ? 10 : 9);
  const int passes = plan.passes > 0 ? plan.passes : schedule.pass_count;
  const std::int64_t element_traffic = bytes_per_element(passes, type);
  check_counts(element_traffic);
  const auto count = static_cast<std::int64_t>(elements);

  if (plan.passes > 0) {  // its kernels have schedules of their own
    std::cout << "n = " << arguments.n << " = " << factors.order << " * 2^" << factors.log2_power << ", "
              << name_of(type) << ", rows " << arguments.rows << ", on " << arguments.arch << "\n";
  } else {
    std::cout << describe(schedule);
  }
  std::cout << "matrix: " << hadamard_construction(arguments.n) << "\n" << plan.text;
  std::cout << "bytes moved: " << count * element_traffic << " (" << element_traffic << " per element, "
            << passes << (passes == 1 ? " pass" : " passes") << ")\n";
  std::cout << "operations: " << count * element_sums << " additions (" << element_sums << " per element), "
            << count * reals << " multiplications where the factor is not 1\n";
  const double intensity = static_cast<double>(element_sums) / static_cast<double>(element_traffic);
  const double best = static_cast<double>(element_traffic) / static_cast<double>(2 * size_of(type));
  std::cout << "bound: memory where the machine adds more than " << intensity
            << " times for each byte that memory moves; then at best " << best
            << " times the time of scaling the array in place; else the additions\n";
}

}  // namespace

void add_explain_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("explain", "how a transform would be carried out, and what bounds it");
  command->add_option("operator", arguments->operation, "the operator")
      ->required()
      ->check(CLI::IsMember({"hadamard"}));
  command->add_option("--n", arguments->n, "length of the transform")->required()->check(at_least_one());
  command->add_option("--rows", arguments->rows, "how many transforms")
      ->check(at_least_one())
      ->capture_default_str();
  command->add_option("--dtype", arguments->dtype, "f2 bf16 f4 f8 i4 i8 c8 c16")
      ->check([](const std::string& name) {
        return scalar_type_from_name(name) ? std::string() : name + " is none of f2 bf16 f4 f8 i4 i8 c8 c16";
      })
      ->capture_default_str();
  command->add_option("--arch", arguments->arch, "the architecture")
      ->check(CLI::IsMember({"cpu", "sm_90", "sm_100"}))
      ->capture_default_str();
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace papillon::cli
