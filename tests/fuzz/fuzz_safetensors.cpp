// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target for the safetensors reader: any bytes either give a header whose tensors make up the file or
// one clear refusal. libFuzzer: clang++ -fsanitize=fuzzer,address,undefined. Other compilers link
// standalone_main.cpp beside it.
#include <cstdint>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/safetensors.hpp"
#include "require.hpp"

namespace {

using namespace papillon::cli;

void check_header(const SafetensorsHeader& header, std::size_t file_bytes) {
  std::set<std::string> names;
  std::int64_t position = header.data_offset;
  for (const SafetensorsTensor& tensor : header.tensors) {
    require(names.insert(tensor.name).second, "every name comes once");
    require(header.find(tensor.name) == &tensor, "every name is found");
    require(tensor.shape.size() <= 64, "at most 64 axes");
    require(tensor.begin == position && tensor.end >= tensor.begin, "tensors follow each other");
    position = tensor.end;
    __int128 bits = bits_of(tensor.dtype);
    for (const std::int64_t extent : tensor.shape) {
      require(extent >= 0, "extents are not negative");
      bits *= extent;
      require(bits < static_cast<__int128>(1) << 63, "no size overflows");
    }
    require(bits == static_cast<__int128>(8) * tensor.data_bytes(), "shape and dtype make the size");
  }
  require(static_cast<std::uint64_t>(position) == file_bytes, "header and data make up the file");
  require(header.file_bytes() == position, "the size of the file is known");
}

void check_rewritten(const SafetensorsHeader& header) {
  const SafetensorsLayout layout = plan_safetensors(header.tensors, header.metadata, "written.safetensors");
  std::vector<char> copy(layout.bytes.begin(), layout.bytes.end());
  copy.resize(static_cast<std::size_t>(layout.header.file_bytes()));
  const SafetensorsHeader again =
      read_safetensors_header(std::as_bytes(std::span(copy)), "written.safetensors");
  check_header(again, copy.size());
  require(again.metadata == header.metadata, "metadata are read back");
  require(again.tensors.size() == header.tensors.size(), "no tensor is lost");
  for (const SafetensorsTensor& tensor : header.tensors) {
    const SafetensorsTensor* found = again.find(tensor.name);
    require(found != nullptr && found->dtype == tensor.dtype && found->shape == tensor.shape,
            "what is written is read back");
  }
}

void try_file(std::span<const std::uint8_t> file) {
  SafetensorsHeader header;
  try {
    header = read_safetensors_header(std::as_bytes(file), "fuzz.safetensors");
  } catch (const std::invalid_argument& error) {
    require(std::string(error.what()).starts_with("fuzz.safetensors: "), "a refusal names the file");
    require(std::string(error.what()).size() < 4096, "a refusal is one sentence");
    return;
  }
  check_header(header, file.size());
  check_rewritten(header);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> file(data, size);
  try_file(file);
  // A change of the header's length would hide all others, so the same once more with the length that ends it
  // at its last brace.
  if (size < 8) return 0;
  std::size_t end = size;
  while (end > 8 && file[end - 1] != '}') --end;
  std::vector<std::uint8_t> repaired(file.begin(), file.end());
  for (std::size_t i = 0; i < 8; ++i) repaired[i] = static_cast<std::uint8_t>((end - 8) >> (8 * i));
  try_file(repaired);
  return 0;
}
