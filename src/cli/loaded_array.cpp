// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/loaded_array.hpp"

#include "cli/mapped_file.hpp"

namespace papillon::cli {

std::vector<std::int64_t> strides_of(const NpyHeader& header) {
  std::vector<std::int64_t> result(header.shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t d = header.fortran_order ? i : result.size() - 1 - i;
    result[d] = stride;
    stride *= header.shape[d];
  }
  return result;
}

LoadedArray load_npy(const std::string& name) {
  const MappedFile file(name);
  LoadedArray array{name, read_npy_header(file.bytes(), name), {}};
  array.elements.resize(static_cast<std::size_t>(array.header.data_bytes()));
  file.read(array.header.data_offset, array.elements);
  return array;
}

}  // namespace papillon::cli
