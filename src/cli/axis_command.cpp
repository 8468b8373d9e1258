// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/axis_command.hpp"

#include <array>
#include <new>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/file_transform.hpp"
#include "cli/kokkos_session.hpp"
#include "cli/npy_output.hpp"
#include "cli/slab_stream.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::cli {

namespace {

int checked_axis(const NpyHeader& header, const AxisArguments& arguments, std::string_view operator_name) {
  require_library_rank(header, arguments.input);
  const auto array = detail::make_row_major<const void*>(nullptr, ScalarType::float32, header.shape);
  try {
    return detail::checked_axis(operator_name, arguments.axis, "axis", array);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(arguments.input + ": " + describe(header) + ": " + error.what());
  }
}

}  // namespace

void add_run_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("--device", arguments.device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command.add_option("--threads", arguments.threads, "host threads; OpenMP's choice if not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command.add_flag("--force", arguments.force, "overwrite the output if it exists");
}

void add_axis_options(CLI::App& command, AxisArguments& arguments) {
  command.add_option("input", arguments.input, "NumPy file: f2 f4 f8 c8 c16, or bfloat16 as 2-byte void")
      ->required()
      ->check(not_empty())
      ->type_name("IN.npy");
  command
      .add_option("-o,--output", arguments.output,
                  "the file to write; type, order and the other extents as the input's")
      ->required()
      ->check(not_empty())
      ->type_name("OUT.npy");
  command.add_option("--axis", arguments.axis, "axis to multiply; negative counts from the last")
      ->check(integer())
      ->capture_default_str();
  command.add_flag("--adjoint", arguments.adjoint, "the conjugate transpose of the matrix");
  command.add_option("--scale", arguments.scale, "multiplies the results")
      ->check(not_empty())
      ->capture_default_str();
  add_run_options(command, arguments);
}

AxisInput::AxisInput(const AxisArguments& arguments, std::string_view operator_name)
    : file(arguments.input),
      header(read_npy_header(file.bytes(), arguments.input)),
      type(require_library_type(header, arguments.input)),
      axis(checked_axis(header, arguments, operator_name)) {}

std::vector<std::int64_t> AxisInput::shape_with(std::int64_t length) const {
  std::vector<std::int64_t> shape = header.shape;
  shape[static_cast<std::size_t>(axis)] = length;
  return shape;
}

void with_input_named(const AxisInput& input, const std::function<void()>& check) {
  try {
    check();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(input.file.name() + ": " + describe(input.header) + ": " + error.what());
  }
}

void apply_along_axis(
    const AxisArguments& arguments, const AxisInput& input, std::int64_t m,
    const std::function<void(const ConstTensorDescriptor&, const TensorDescriptor&)>& apply) {
  NpyHeader made = input.header;
  made.shape = input.shape_with(m);
  try {
    NpyOutput output(arguments.output, made, arguments.force);
    {
      const FoldedShape shape = fold_file(input.header, {input.axis}, 0);
      const KokkosSession kokkos(arguments.threads);
      const SlabStream stream{.input = input.file,
                              .input_offset = input.header.data_offset,
                              .output = output.file(),
                              .output_offset = output.data_offset(),
                              .outer = shape.outer,
                              .n = shape.n,
                              .m = m,
                              .inner = shape.inner,
                              .element_bytes = size_of(made.type),
                              .in_place = false};
      stream.run([&](const void* source, void* target, const Slab& slab) {
        const auto part = [&](std::int64_t length) {
          return std::array<std::int64_t, 3>{slab.outer_count, length, slab.inner_count};
        };
        apply(detail::make_row_major<const void*>(source, input.type, part(shape.n)),
              detail::make_row_major<void*>(target, input.type, part(m)));
      });
    }
    output.commit();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(arguments.input + ": out of memory while multiplying " + describe(input.header));
  }
}

}  // namespace papillon::cli
