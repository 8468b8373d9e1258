// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/atomic_file.hpp"
#include "cli/commands.hpp"
#include "cli/file_transform.hpp"
#include "cli/gpu.hpp"
#include "cli/kokkos_session.hpp"
#include "cli/mapped_file.hpp"
#include "cli/npy.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/hadamard_problem.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::string input;
  std::string output;
  int axis = -1;
  std::vector<int> axes;
  std::string norm = "none";
  double scale = 1.0;
  std::string ordering = "natural";
  std::string intermediate = "compute";
  std::int64_t group = 0;
  bool transpose = false;
  std::string signs;
  std::optional<std::uint64_t> seed;
  std::string dtype;
  std::string device = "auto";
  int threads = 0;
  bool force = false;
};

Normalization norm_from_name(const std::string& name) {
  return name == "ortho"     ? Normalization::ortho
         : name == "inverse" ? Normalization::inverse
                             : Normalization::none;
}

/// The element type of the input, as the file and --dtype say it.
ScalarType element_type(const NpyHeader& header, const Arguments& arguments) {
  if (!arguments.dtype.empty() && header.type != NpyType::void16) {
    throw std::invalid_argument(arguments.input +
                                ": --dtype bf16 says how to read 2-byte void elements, but the file holds " +
                                describe(header));
  }
  return require_library_type(header, arguments.input);
}

/// Checks the whole call as the library would, before anything is written. Its pointers are placeholders,
/// since there is no output yet and the check reads no element.
void check_call(const NpyHeader& header, ScalarType type, const HadamardOptions& options,
                const std::string& name) {
  require_library_rank(header, name);
  alignas(16) static std::byte placeholder[16];
  TensorDescriptor array = detail::make_row_major<void*>(placeholder, type, header.shape);
  try {
    detail::make_hadamard_problem(array, array, options, true);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(name + ": " + describe(header) + ": " + error.what());
  }
}

template <class T>
void append_signs(std::vector<std::int8_t>& signs, const std::byte* data, std::int64_t count,
                  const std::string& name) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    const auto number = static_cast<double>(value);
    if (number != 1.0 && number != -1.0) {
      std::ostringstream text;
      text << name << ": sign " << i << " is " << number << ", neither +1 nor -1";
      throw std::invalid_argument(text.str());
    }
    signs.push_back(static_cast<std::int8_t>(number));
  }
}

/// Reads a vector of `length` signs, in any of the real types.
std::vector<std::int8_t> read_signs(const std::string& name, std::int64_t length) {
  const MappedFile file(name);
  const NpyHeader header = read_npy_header(file.bytes(), name);
  if (header.shape.size() != 1 || header.shape[0] != length) {
    throw std::invalid_argument(name + ": " + describe(header) +
                                " was given as signs, but the transform has length " +
                                std::to_string(length));
  }
  std::vector<std::int8_t> signs;
  signs.reserve(static_cast<std::size_t>(length));
  const std::byte* data = file.bytes().data() + header.data_offset;
  switch (header.type) {
    case NpyType::int8:
      append_signs<std::int8_t>(signs, data, length, name);
      break;
    case NpyType::int32:
      append_signs<std::int32_t>(signs, data, length, name);
      break;
    case NpyType::int64:
      append_signs<std::int64_t>(signs, data, length, name);
      break;
    case NpyType::float16:
      append_signs<half>(signs, data, length, name);
      break;
    case NpyType::void16:
      append_signs<bfloat16>(signs, data, length, name);
      break;
    case NpyType::float32:
      append_signs<float>(signs, data, length, name);
      break;
    case NpyType::float64:
      append_signs<double>(signs, data, length, name);
      break;
    case NpyType::complex64:
    case NpyType::complex128:
      throw std::invalid_argument(name + ": signs must be real, not " + describe(header));
  }
  return signs;
}

void run(const Arguments& arguments) {
  const bool on_gpu = use_gpu(arguments.device, "hadamard");
  const MappedFile input(arguments.input);
  const NpyHeader header = read_npy_header(input.bytes(), arguments.input);
  const ScalarType type = element_type(header, arguments);

  HadamardOptions options;
  options.norm = norm_from_name(arguments.norm);
  options.ordering = ordering_from_name(arguments.ordering);
  options.intermediate = intermediate_from_name(arguments.intermediate);
  options.scale = arguments.scale;
  if (arguments.axes.empty()) {
    options.axis = arguments.axis;
  } else {
    options.axes = Axes(std::span<const int>(arguments.axes));
  }
  options.group = arguments.group;
  options.transpose = arguments.transpose;
  options.signs.seed = arguments.seed;
  check_call(header, type, options, arguments.input);

  const std::vector<int> axes = arguments.axes.empty() ? std::vector<int>{arguments.axis} : arguments.axes;
  const FoldedShape shape = fold_file(header, ascending_axes(axes, header.shape.size()), arguments.group);
  std::vector<std::int8_t> signs;
  if (!arguments.signs.empty()) {
    signs = read_signs(arguments.signs, shape.points());
    options.signs.values = signs;
  }

  try {
    const std::string prefix = npy_header_bytes(header.type, header.fortran_order, header.shape);
    const auto offset = static_cast<std::int64_t>(prefix.size());
    AtomicFile output(arguments.output, offset + header.data_bytes(), arguments.force);
    std::memcpy(output.bytes().data(), prefix.data(), prefix.size());
    {
      const KokkosSession kokkos(arguments.threads);
      transform_file(input, header.data_offset, output, offset, shape, type, options, on_gpu);
    }
    output.commit();
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(arguments.input + ": out of memory while transforming " + describe(header));
  }
}

}  // namespace

void add_hadamard_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("hadamard", "Hadamard transform of one axis of an .npy file");
  command
      ->add_option("input", arguments->input, "NumPy file: f2 f4 f8 i4 i8 c8 c16, or bfloat16 as 2-byte void")
      ->required()
      ->check(not_empty())
      ->type_name("IN.npy");
  command
      ->add_option("-o,--output", arguments->output,
                   "the file to write; type, shape and order as the input's")
      ->required()
      ->check(not_empty())
      ->type_name("OUT.npy");
  CLI::Option* axis =
      command->add_option("--axis", arguments->axis, "axis to transform; negative counts from the last")
          ->check(integer())
          ->capture_default_str();
  command->add_option("--axes", arguments->axes, "several axes to transform together: 0,2")
      ->delimiter(',')
      ->allow_extra_args(false)  // the next argument is another
      ->check(integer())
      ->excludes(axis);
  command->add_option("--norm", arguments->norm, "factor 1, 1/sqrt(n) or 1/n")
      ->check(CLI::IsMember({"none", "ortho", "inverse"}))
      ->capture_default_str();
  command->add_option("--scale", arguments->scale, "multiplies on top of --norm")
      ->check(not_empty())
      ->capture_default_str();
  add_ordering_option(*command, arguments->ordering);
  add_intermediate_option(*command, arguments->intermediate);
  command->add_flag("--transpose", arguments->transpose,
                    "the transposed matrix: inverts with --norm inverse");
  command
      ->add_option("--group", arguments->group,
                   "transform groups of G neighbours along the axis; G divides its length")
      ->check(at_least_one())
      ->type_name("G");
  CLI::Option* signs = command
                           ->add_option("--signs", arguments->signs,
                                        "vector of +1 and -1 that multiplies the input along the axis")
                           ->check(not_empty())
                           ->type_name("S.npy");
  command->add_option("--seed", arguments->seed, "random signs instead of --signs, from this number")
      ->check(not_empty())
      ->excludes(signs)
      ->type_name("N");
  command->add_option("--dtype", arguments->dtype, "how to read 2-byte void elements (also the default)")
      ->check(CLI::IsMember({"bf16"}));
  command->add_option("--device", arguments->device, "where to compute")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "host threads; OpenMP's choice if not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_flag("--force", arguments->force, "overwrite the output if it exists");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
