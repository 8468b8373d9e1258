// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
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
#include "cli/npy.hpp"
#include "cli/progress_bar.hpp"
#include "cli/quantize_stream.hpp"
#include "cli/quantized_tensor.hpp"
#include "cli/safetensors.hpp"
#include "cli/tensor_file.hpp"

namespace papillon::cli {

namespace {

struct Arguments {
  std::string input;
  std::string output;
  std::string dtype;
  int threads = 0;
  bool force = false;
};

/// The element type of a result.
ScalarType type_of(const QuantizedTensor& tensor, const std::string& dtype) {
  return dtype.empty() ? tensor.type : scalar_type_from_name(dtype).value();
}

/// Bytes of the dequantised tensor.
std::int64_t bytes_of(const QuantizedTensor& tensor, ScalarType type, const std::string& output) {
  const auto element_bytes = static_cast<std::int64_t>(size_of(type));
  if (!count_fits(tensor.shape, (INT64_MAX - (std::int64_t{1} << 32)) / element_bytes))
    refuse(output, "tensor \"", tensor.name, "\" would have more than 2^63 - 1 bytes");
  return element_count(tensor.shape) * element_bytes;
}

using Quantized = std::map<std::string, QuantizedTensor>;

void write_npy(const TensorFile& input, const QuantizedTensor& tensor, const Arguments& arguments) {
  const ScalarType type = type_of(tensor, arguments.dtype);
  const std::int64_t bytes = bytes_of(tensor, type, arguments.output);
  const std::string prefix = npy_header_bytes(npy_type(type), false, tensor.shape);
  const auto offset = static_cast<std::int64_t>(prefix.size());
  AtomicFile output(arguments.output, offset + bytes, arguments.force);
  std::memcpy(output.bytes().data(), prefix.data(), prefix.size());
  {
    const KokkosSession kokkos(arguments.threads);
    ProgressBar bar(bytes);
    std::int64_t done = 0;
    dequantize_tensor(input, tensor, type, output, offset,
                      [&](std::int64_t part) { bar.update(done += part); });
  }
  output.commit();
}

void write_safetensors(const TensorFile& input, const Quantized& quantized, const Arguments& arguments) {
  std::set<std::string> scales;  // belong to others, and are not copied
  for (const auto& [name, tensor] : quantized)
    for (const SafetensorsTensor& part : tensor.stored())
      if (part.name != name) scales.insert(part.name);
  std::vector<SafetensorsTensor> stored;
  std::int64_t work = 0;
  for (const StoredTensor& tensor : input.tensors) {
    const auto found = quantized.find(tensor.name);
    if (found != quantized.end()) {
      const ScalarType type = type_of(found->second, arguments.dtype);
      stored.push_back({tensor.name, safetensors_dtype(type).value(), found->second.shape});
      work += bytes_of(found->second, type, arguments.output);
    } else if (!scales.contains(tensor.name)) {
      stored.push_back({tensor.name, tensor.dtype, tensor.shape});
      work += tensor.bytes;
    }
  }
  std::map<std::string, std::string> metadata = input.metadata;
  write_quantized({}, metadata);
  const SafetensorsLayout layout = plan_safetensors(std::move(stored), std::move(metadata), arguments.output);
  AtomicFile output(arguments.output, layout.header.file_bytes(), arguments.force);
  std::memcpy(output.bytes().data(), layout.bytes.data(), layout.bytes.size());
  {
    const KokkosSession kokkos(arguments.threads);
    ProgressBar bar(work);
    std::int64_t done = 0;
    const Progress progress = [&](std::int64_t bytes) { bar.update(done += bytes); };
    for (const SafetensorsTensor& target : layout.header.tensors) {
      const auto found = quantized.find(target.name);
      if (found != quantized.end()) {
        const ScalarType type = type_of(found->second, arguments.dtype);
        dequantize_tensor(input, found->second, type, output, target.begin, progress);
      } else {
        const StoredTensor& source = *input.find(target.name);
        copy_bytes(input.file, source.offset, output, target.begin, source.bytes);
        progress(source.bytes);
      }
    }
  }
  output.commit();
}

void run(const Arguments& arguments) {
  const TensorFile input(arguments.input);
  if (input.is_npy) refuse(arguments.input, "is an .npy file; papillon quantize writes safetensors files");
  const Quantized quantized = read_quantized(input);
  if (quantized.empty())
    refuse(arguments.input, "its metadata tell of no quantised tensor; papillon quantize writes such files");
  try {
    if (!arguments.output.ends_with(".npy")) return write_safetensors(input, quantized, arguments);
    const QuantizedTensor& tensor = quantized.begin()->second;
    if (input.tensors.size() != tensor.stored().size())
      refuse(arguments.input,
             "holds more than one array, which an .npy file cannot; name the output .safetensors");
    write_npy(input, tensor, arguments);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(arguments.input + ": out of memory while dequantising");
  }
}

}  // namespace

void add_dequantize_command(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("dequantize", "undo quantize, and the rotation: back to numbers");
  command->add_option("input", arguments->input, "a file that papillon quantize has written")
      ->required()
      ->check(not_empty())
      ->type_name("IN.safetensors");
  command
      ->add_option("-o,--output", arguments->output,
                   "the file to write; its name says which: .npy for a file of one array, else safetensors")
      ->required()
      ->check(not_empty())
      ->type_name("OUT.npy|OUT.safetensors");
  command->add_option("--dtype", arguments->dtype, "element type of the results; that of what was quantised")
      ->check(CLI::IsMember({"f2", "bf16", "f4", "f8", "float16", "bfloat16", "float32", "float64"}));
  command->add_option("--threads", arguments->threads, "host threads; OpenMP's choice if not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_flag("--force", arguments->force, "overwrite the output if it exists");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace papillon::cli
