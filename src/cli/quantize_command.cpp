// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/atomic_file.hpp"
#include "cli/commands.hpp"
#include "cli/file_checks.hpp"
#include "cli/file_copy.hpp"
#include "cli/kokkos_session.hpp"
#include "cli/progress_bar.hpp"
#include "cli/quantize_stream.hpp"
#include "cli/quantize_study.hpp"
#include "cli/quantized_tensor.hpp"
#include "cli/safetensors.hpp"
#include "cli/tensor_file.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::string input;
  std::string output;
  std::vector<std::string> formats;
  std::vector<std::string> rotations;
  std::optional<std::uint64_t> seed;
  std::string scale_rule = "automatic";
  std::string scale_layout = "row-major";
  std::int64_t block = 0;
  bool square_blocks = false;
  std::string rounding = "nearest";
  std::uint64_t random_seed = 0;
  std::uint64_t random_offset = 0;
  int axis = -1;
  std::optional<float> global_scale;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool study = false;
  std::string json;
  std::string chart;
  int threads = 0;
  bool force = false;
};

const std::vector<std::pair<std::string, BlockFormat>> formats = {{"nvfp4", BlockFormat::nvfp4},
                                                                  {"mxfp4", BlockFormat::mxfp4},
                                                                  {"mxfp8", BlockFormat::mxfp8_e4m3},
                                                                  {"mxfp8_e4m3", BlockFormat::mxfp8_e4m3},
                                                                  {"mxfp8_e5m2", BlockFormat::mxfp8_e5m2},
                                                                  {"fp8", BlockFormat::fp8_e4m3},
                                                                  {"fp8_e4m3", BlockFormat::fp8_e4m3},
                                                                  {"fp8_e5m2", BlockFormat::fp8_e5m2},
                                                                  {"int8", BlockFormat::int8},
                                                                  {"int4", BlockFormat::int4}};
const std::vector<std::pair<std::string, ScaleRule>> rules = {
    {"automatic", ScaleRule::automatic},
    {"divide", ScaleRule::divide},
    {"transformer-engine", ScaleRule::transformer_engine},
    {"ocp", ScaleRule::ocp},
    {"round-up", ScaleRule::round_up},
    {"symmetric", ScaleRule::symmetric}};

template <class Value>
std::vector<std::string> names_of(const std::vector<std::pair<std::string, Value>>& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& [name, value] : table) names.push_back(name);
  return names;
}
template <class Value>
Value value_of(const std::vector<std::pair<std::string, Value>>& table, const std::string& name) {
  return std::ranges::find(table, name, &std::pair<std::string, Value>::first)->second;
}

std::int64_t rotation_from_name(const std::string& name) {
  return name == "none" ? 0 : name == "row" ? whole_axis : std::stoll(name);
}

CLI::Validator rotation() {
  return CLI::Validator(
      [](const std::string& text) {
        if (text == "none" || text == "row") return std::string();
        return at_least_one()(text).empty()
                   ? std::string()
                   : "'" + text + "' is neither none, nor row, nor the points of a group";
      },
      "");
}

/// Options but for format and rotation.
QuantizeOptions common_options(const Arguments& arguments) {
  QuantizeOptions options;
  options.axis = arguments.axis;
  options.block = arguments.block;
  if (arguments.square_blocks) options.block_shape = BlockShape::square;
  options.scale_rule = value_of(rules, arguments.scale_rule);
  if (arguments.scale_layout == "swizzled") options.scale_layout = ScaleLayout::swizzled;
  if (arguments.rounding == "stochastic") options.rounding = Rounding::stochastic;
  options.random_seed = arguments.random_seed;
  options.random_offset = arguments.random_offset;
  if (arguments.global_scale) {
    options.global_scale_source = GlobalScaleSource::given;
    options.global_scale = *arguments.global_scale;
  }
  return options;
}

QuantizeOptions single_options(const Arguments& arguments) {
  if (arguments.formats.size() > 1 || arguments.rotations.size() > 1)
    throw std::invalid_argument("several values of --format or --rotate are for --study");
  QuantizeOptions options = common_options(arguments);
  if (!arguments.formats.empty()) options.format = value_of(formats, arguments.formats[0]);
  if (!arguments.rotations.empty()) options.rotation = rotation_from_name(arguments.rotations[0]);
  options.signs.seed = arguments.seed;
  if (arguments.global_scale && options.format != BlockFormat::nvfp4)
    throw std::invalid_argument("--global-scale is for nvfp4, which alone has a scale of the tensor");
  return options;
}

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

/// The quantised tensors that a file has already.
std::map<std::string, QuantizedTensor> quantized_before(const TensorFile& input) {
  return input.is_npy ? std::map<std::string, QuantizedTensor>() : read_quantized(input);
}

/// The tensors to quantise: that of an .npy file, or the matrices of a checkpoint that the patterns let
/// through, but those that the quantised ones `described` consist of.
std::vector<const StoredTensor*> chosen_tensors(const TensorFile& input, const Arguments& arguments,
                                                const std::map<std::string, QuantizedTensor>& described) {
  std::vector<const StoredTensor*> chosen;
  if (input.is_npy) {
    if (!arguments.include.empty() || !arguments.exclude.empty())
      refuse(arguments.input, "--include and --exclude are for safetensors files");
    chosen.push_back(input.tensors.data());
    return chosen;
  }
  std::set<std::string> parts;
  for (const auto& [name, quantized] : described)
    for (const SafetensorsTensor& part : quantized.stored()) parts.insert(part.name);
  for (const StoredTensor& tensor : input.tensors) {
    if (parts.contains(tensor.name)) continue;
    const bool wanted = arguments.include.empty() || matches(arguments.include, tensor.name);
    if (is_floating_point(tensor) && tensor.shape.size() == 2 && wanted &&
        !matches(arguments.exclude, tensor.name)) {
      chosen.push_back(&tensor);
    }
  }
  if (chosen.empty())
    refuse(arguments.input, "none of its ", input.tensors.size(),
           " tensors is a matrix of floating-point numbers",
           arguments.include.empty() && arguments.exclude.empty()
               ? ""
               : " that --include and --exclude let through");
  return chosen;
}

void say_what_was_counted(const QuantizedTensor& tensor, const QuantizeStatistics& counts) {
  if (counts.nan == 0 && counts.infinite == 0) return;
  std::printf("%s: %llu NaN, %llu infinite elements\n", tensor.name.c_str(),
              static_cast<unsigned long long>(counts.nan), static_cast<unsigned long long>(counts.infinite));
}

void quantize_file(const Arguments& arguments, const TensorFile& input) {
  if (arguments.output.empty()) throw std::invalid_argument("--output is required (but for --study)");
  const QuantizeOptions options = single_options(arguments);
  // What is there already stays, in a checkpoint that is quantised in several steps.
  std::map<std::string, QuantizedTensor> described = quantized_before(input);
  std::map<std::string, QuantizedTensor> made;
  for (const StoredTensor* x : chosen_tensors(input, arguments, described))
    made.emplace(x->name, describe_quantized(input, *x, options));

  std::vector<SafetensorsTensor> stored;
  std::int64_t work = 0;
  for (const StoredTensor& tensor : input.tensors) {
    work += tensor.bytes;
    const auto quantized = made.find(tensor.name);
    if (quantized == made.end()) {
      stored.push_back({tensor.name, tensor.dtype, tensor.shape});
    } else {
      for (SafetensorsTensor& part : quantized->second.stored()) stored.push_back(std::move(part));
      if (options.format == BlockFormat::nvfp4 && !arguments.global_scale) work += tensor.bytes;
    }
  }
  described.insert(made.begin(), made.end());
  std::map<std::string, std::string> metadata = input.metadata;
  write_quantized(described, metadata);
  const SafetensorsLayout layout = plan_safetensors(std::move(stored), std::move(metadata), arguments.output);

  AtomicFile output(arguments.output, layout.header.file_bytes(), arguments.force);
  std::memcpy(output.bytes().data(), layout.bytes.data(), layout.bytes.size());
  {
    const KokkosSession kokkos(arguments.threads);
    ProgressBar bar(work);
    std::int64_t done = 0;
    const Progress progress = [&](std::int64_t bytes) { bar.update(done += bytes); };
    for (const StoredTensor& tensor : input.tensors) {
      const auto quantized = made.find(tensor.name);
      if (quantized != made.end()) {
        const QuantizeStatistics counts =
            quantize_tensor(input, tensor, quantized->second, output, layout.header, progress);
        say_what_was_counted(quantized->second, counts);
      } else {
        copy_bytes(input.file, tensor.offset, output, layout.header.find(tensor.name)->begin, tensor.bytes);
        progress(tensor.bytes);
      }
    }
  }
  output.commit();
}

void study_file(const Arguments& arguments, const TensorFile& input) {
  if (!arguments.output.empty())
    throw std::invalid_argument("--output is not for --study, which writes a table (and --json, --chart)");
  StudySettings settings;
  settings.options = common_options(arguments);
  settings.seed = arguments.seed;
  for (const std::string& name : arguments.formats) settings.formats.push_back(value_of(formats, name));
  for (const std::string& name : arguments.rotations) settings.rotations.push_back(rotation_from_name(name));
  settings.json = arguments.json;
  settings.chart = arguments.chart;
  settings.force = arguments.force;
  settings.threads = arguments.threads;
  run_study(input, chosen_tensors(input, arguments, quantized_before(input)), settings);
}

void run(const Arguments& arguments) {
  const TensorFile input(arguments.input);
  try {
    if (arguments.study) return study_file(arguments, input);
    quantize_file(arguments, input);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(arguments.input + ": out of memory while quantising");
  }
}

}  // namespace

void add_quantize_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "quantize", "rotate and quantise an .npy file or the matrices of a safetensors file");
  command->add_option("input", arguments->input, "f2 f4 f8, or bfloat16 as 2-byte void; or a checkpoint")
      ->required()
      ->check(not_empty())
      ->type_name("IN.npy|IN.safetensors");
  command
      ->add_option("-o,--output", arguments->output, "the file to write: codes, scales and their description")
      ->check(not_empty())
      ->type_name("OUT.safetensors");
  command->add_option("--format", arguments->formats, "nvfp4 if not given; a list with --study")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names_of(formats)));
  command
      ->add_option(
          "--rotate", arguments->rotations,
          "Hadamard transform of groups of G neighbours, or of the whole axis, first; a list with --study")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(rotation())
      ->type_name("G|row|none");
  command->add_option("--seed", arguments->seed, "random signs in front of the rotation, from this number")
      ->check(not_empty())
      ->type_name("N");
  command->add_option("--scale-rule", arguments->scale_rule, "how scales follow from the largest magnitudes")
      ->check(CLI::IsMember(names_of(rules)))
      ->capture_default_str();
  command->add_option("--scale-layout", arguments->scale_layout, "where the scales of blocks lie")
      ->check(CLI::IsMember({"row-major", "swizzled"}))
      ->capture_default_str();
  command
      ->add_option("--block", arguments->block,
                   "elements that share a scale, for fp8, int8, int4; the whole axis if not given")
      ->check(at_least_one())
      ->type_name("N");
  command->add_flag("--square-blocks", arguments->square_blocks,
                    "a scale for as many lines as a block is long");
  CLI::Option* rounding =
      command->add_option("--rounding", arguments->rounding, "to nearest even, or at random")
          ->check(CLI::IsMember({"nearest", "stochastic"}))
          ->capture_default_str();
  for (const auto& [name, value, help] :
       {std::tuple{"--random-seed", &arguments->random_seed, "of stochastic rounding"},
        std::tuple{"--random-offset", &arguments->random_offset, "another one gives other bits"}}) {
    command->add_option(name, *value, help)->check(not_empty())->needs(rounding)->type_name("N");
  }
  command->add_option("--axis", arguments->axis, "axis along which blocks lie; negative counts from the last")
      ->check(integer())
      ->capture_default_str();
  command
      ->add_option("--global-scale", arguments->global_scale,
                   "nvfp4's scale of the whole tensor, instead of computing it")
      ->check(not_empty())
      ->type_name("S");
  for (const auto& [name, value, help] :
       {std::tuple{"--include", &arguments->include,
                   "quantise only tensors whose name matches; * and ? are wild"},
        std::tuple{"--exclude", &arguments->exclude, "copy tensors whose name matches"}}) {
    command->add_option(name, *value, help)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false)
        ->check(not_empty())
        ->type_name("PATTERN");
  }
  CLI::Option* study = command->add_flag("--study", arguments->study,
                                         "print the error of formats and rotations instead of quantising");
  command->add_option("--json", arguments->json, "with --study, everything that was measured")
      ->check(not_empty())
      ->needs(study)
      ->type_name("FILE.json");
  command->add_option("--chart", arguments->chart, "with --study, a bar chart")
      ->check(not_empty())
      ->needs(study)
      ->type_name("FILE.svg");
  command->add_option("--threads", arguments->threads, "host threads; OpenMP's choice if not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_flag("--force", arguments->force, "overwrite the output if it exists");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
