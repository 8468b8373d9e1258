// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/gpu.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/pass.hpp"
#include "papillon/orders.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::int64_t n = 0;
  std::int64_t rows = 1;
  std::int64_t inner = 1;
  std::vector<std::int64_t> shape;
  std::vector<int> axes;
  std::string dtype = "f4";
  std::string arch = "cpu";
  std::string ordering = "natural";
  std::string intermediate = "compute";
  bool workspace = false;
};

/// The lengths of the axes to transform, the last one first.
std::vector<std::int64_t> transformed_lengths(const Arguments& arguments) {
  if (arguments.shape.empty()) return {arguments.n};
  const std::vector<int> axes = arguments.axes.empty() ? std::vector<int>{-1} : arguments.axes;
  std::vector<std::int64_t> lengths;
  for (const int axis : ascending_axes(axes, arguments.shape.size()))
    lengths.insert(lengths.begin(), arguments.shape[static_cast<std::size_t>(axis)]);
  return lengths;
}

/// The call that the arguments describe, on dense arrays that do not exist.
detail::HadamardProblem described_problem(const Arguments& arguments, ScalarType type) {
  HadamardOptions options;
  options.ordering = ordering_from_name(arguments.ordering);
  options.intermediate = intermediate_from_name(arguments.intermediate);
  std::vector<std::int64_t> shape = arguments.shape;
  if (shape.empty()) {
    if (arguments.n == 0) throw std::invalid_argument("--n or --shape is required");
    shape = {arguments.rows, arguments.n, arguments.inner};
    options.axis = 1;
  } else if (!arguments.axes.empty()) {
    options.axes = Axes(std::span<const int>(arguments.axes));
  }
  __int128 count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
    if (count > INT64_MAX / 1024) {  // the counts below are at most this many a point
      throw std::invalid_argument("the shape " + to_text(shape) +
                                  " has too many points: the counts exceed 2^63 - 1");
    }
  }
  if (shape.size() > static_cast<std::size_t>(max_rank)) {
    throw std::invalid_argument("--shape has " + std::to_string(shape.size()) + " extents; ranks 1 to " +
                                std::to_string(max_rank) + " are transformed");
  }
  // Of the pointers only the address is looked at, and that of any allocation is aligned.
  alignas(256) static std::byte placeholder[256];
  const TensorDescriptor array = detail::make_row_major<void*>(placeholder, type, shape);
  return detail::make_hadamard_problem(array, array, options, false);
}

/// The generic layer's schedules in words, and what they move.
detail::Traffic print_schedules(const detail::HadamardProblem& problem, Architecture architecture) {
  detail::Traffic traffic;
  for_each_step(problem, [&](const detail::HadamardProblem& step) {
    const detail::Plan plan = make_plan(step, architecture);
    alignas(16) static std::byte workspace[16];
    traffic.add(detail::first_sweep(step, plan, workspace));
    for (const Schedule& schedule : plan) std::cout << describe(schedule);
  });
  return traffic;
}

void explain(const Arguments& arguments) {
  const ScalarType type = *scalar_type_from_name(arguments.dtype);
  const bool on_cpu = arguments.arch == "cpu";
  const detail::HadamardProblem problem = described_problem(arguments, type);
  const Architecture architecture = on_cpu ? Architecture::cpu : Architecture::device;
  GpuPlan gpu;
  if (!on_cpu) gpu = plan_on_gpu(problem, arguments.arch == "sm_100" ? 10 : 9);
  const std::size_t workspace =
      gpu.available ? gpu.workspace : detail::workspace_bytes(problem, architecture);
  if (arguments.workspace) {
    std::cout << workspace << "\n";
    return;
  }

  const detail::Traffic traffic = gpu.available ? gpu.traffic : print_schedules(problem, architecture);
  if (gpu.available) {  // its kernels have schedules of their own
    for (const detail::AxisTransform& axis : problem.axes) {
      std::cout << "n = " << axis.index.extent << " = " << axis.m << " * 2^" << axis.log2_power << ", "
                << name_of(type) << ", on " << arguments.arch << "\n";
    }
  }
  const std::int64_t reals = is_complex(type) ? 2 : 1;
  std::int64_t count = 1;  // of elements
  std::int64_t real_sums = 0;
  for (const detail::AxisTransform& axis : problem.axes) {
    count *= axis.index.extent;
    real_sums += axis.log2_power + axis.m - 1;
  }
  for (const std::int64_t length : transformed_lengths(arguments))
    std::cout << "matrix: " << hadamard_construction(length) << "\n";
  for (const Dimension& other : problem.others) count *= other.extent;
  count /= reals;
  const std::int64_t element_traffic = reals * traffic.element_bytes;
  const std::int64_t element_sums = reals * real_sums;
  std::cout << gpu.text;
  std::cout << "bytes moved: " << count * element_traffic << " (" << element_traffic << " per element, "
            << traffic.passes << (traffic.passes == 1 ? " pass" : " passes") << ")\n";
  std::cout << "workspace: " << workspace << " bytes\n";
  std::cout << "operations: " << count * element_sums << " additions (" << element_sums << " per element), "
            << count * reals << " multiplications where the factor is not 1\n";
  const double intensity = static_cast<double>(element_sums) / static_cast<double>(element_traffic);
  const double best = static_cast<double>(element_traffic) / static_cast<double>(2 * size_of(type));
  std::cout << "bound: memory where the machine adds more than " << intensity
            << " times for each byte that memory moves; then at best " << best
            << " times the time of scaling the array in place; else the additions\n";
}

void add_explain_hadamard(CLI::App& explain_command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      explain_command.add_subcommand("hadamard", "a Hadamard transform of one axis or several");
  CLI::Option* n = command->add_option("--n", arguments->n, "length of the transform")->check(at_least_one());
  CLI::Option* rows = command->add_option("--rows", arguments->rows, "how many transforms")
                          ->check(at_least_one())
                          ->capture_default_str();
  CLI::Option* inner =
      command->add_option("--inner", arguments->inner, "elements that vary faster than the transformed axis")
          ->check(at_least_one())
          ->capture_default_str();
  CLI::Option* shape = command
                           ->add_option("--shape", arguments->shape,
                                        "instead of these, the shape of a row-major array: 4,1024,8")
                           ->delimiter(',')
                           ->allow_extra_args(false)
                           ->check(at_least_one())
                           ->excludes(n)
                           ->excludes(rows)
                           ->excludes(inner);
  command->add_option("--axes", arguments->axes, "of --shape, the axes to transform; the last if not given")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(integer())
      ->needs(shape);
  add_dtype_option(*command, arguments->dtype);
  add_arch_option(*command, arguments->arch);
  add_ordering_option(*command, arguments->ordering);
  add_intermediate_option(*command, arguments->intermediate);
  command->add_flag("--workspace", arguments->workspace, "print the bytes of workspace needed, and no more");
  command->callback([arguments] { explain(*arguments); });
}

}  // namespace

void add_explain_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "how an operator would be carried out, and what bounds it");
  command->require_subcommand(0, 1);  // so that a name that is none is the error
  add_explain_hadamard(*command);
  add_explain_kronecker(*command);
  add_explain_butterfly(*command);
  add_explain_gemm(*command);
  command->callback([command] {
    if (command->get_subcommands().empty()) throw CLI::RequiredError("The name of an operator");
  });
}

}  // namespace papillon::cli
