// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzz target for the .npy reader: any bytes either give a header that fits the file or one clear refusal.
// libFuzzer: clang++ -fsanitize=fuzzer,address,undefined. Other compilers link standalone_main.cpp beside it.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/npy.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace papillon::cli;
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(data), size);
  NpyHeader header;
  try {
    header = read_npy_header(file, "fuzz.npy");
  } catch (const std::invalid_argument& error) {
    require(std::string(error.what()).starts_with("fuzz.npy: "), "a refusal names the file");
    require(std::string(error.what()).size() < 4096, "a refusal is one sentence");
    return 0;
  }
  require(header.shape.size() <= 64, "at most 64 axes");
  for (const std::int64_t extent : header.shape) require(extent >= 0, "extents are not negative");
  require(header.data_offset > 0 && header.data_bytes() >= 0, "sizes are not negative");
  require(static_cast<std::uint64_t>(header.data_offset) + static_cast<std::uint64_t>(header.data_bytes()) ==
              size,
          "header and data make up the file");

  const std::string written = npy_header_bytes(header.type, header.fortran_order, header.shape);
  std::vector<std::uint8_t> copy(written.begin(), written.end());
  copy.insert(copy.end(), data + header.data_offset, data + size);
  const NpyHeader again = read_npy_header(std::as_bytes(std::span(copy)), "written.npy");
  require(
      again.type == header.type && again.fortran_order == header.fortran_order && again.shape == header.shape,
      "what is written is read back");
  return 0;
}
