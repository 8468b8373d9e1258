// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/mapped_file.hpp"
#include "cli/npy.hpp"
#include "papillon/core/tensor.hpp"

namespace papillon::cli {

/// The array of a mapped .npy file as the library takes it, in the file's order. It is copied only where the
/// file has it at an address that is not aligned to its elements.
class MappedArray {
 public:
  /// Throws as MappedFile, read_npy_header, require_library_type and require_library_rank do.
  explicit MappedArray(const std::string& name);

  const std::string& name() const { return file_.name(); }
  const NpyHeader& header() const { return header_; }
  ScalarType type() const { return type_; }
  const std::byte* data() const;
  ConstTensorDescriptor descriptor() const;

 private:
  MappedFile file_;
  NpyHeader header_;
  ScalarType type_;
  std::vector<std::byte> aligned_;  ///< empty where the mapping serves
};

/// An array of the header's type, shape and order at `data`.
TensorDescriptor describe_array(const NpyHeader& header, ScalarType type, std::byte* data);

}  // namespace papillon::cli
