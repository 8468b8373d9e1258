// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/npy.hpp"

namespace papillon::cli {

/// Strides in elements, of the file's order.
std::vector<std::int64_t> strides_of(const NpyHeader& header);

/// A small array, a factor say, read into memory.
struct LoadedArray {
  std::string name;  ///< of its file, for messages
  NpyHeader header;
  std::vector<std::byte> elements;  ///< in the order of the file

  std::vector<std::int64_t> strides() const { return strides_of(header); }
};

/// Throws as MappedFile and read_npy_header do.
LoadedArray load_npy(const std::string& name);

}  // namespace papillon::cli
