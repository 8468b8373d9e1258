// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/mapped_file.hpp"
#include "cli/safetensors.hpp"
#include "papillon/core/scalar.hpp"
#include "papillon/core/tensor.hpp"

namespace papillon::cli {

/// An array in an .npy or a safetensors file.
struct StoredTensor {
  std::string name;                ///< "x" for that of an .npy file
  std::optional<ScalarType> type;  ///< where the library has it
  SafetensorsDtype dtype;          ///< as a safetensors file would name it
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements
  std::int64_t offset = 0;            ///< of its bytes in the file
  std::int64_t bytes = 0;
  std::string description;  ///< "float32 of shape (3, 4)", for messages

  bool is_row_major() const;
};

/// Whether the library quantises elements of this type.
bool is_floating_point(const StoredTensor& tensor);

/// A file of arrays: an .npy file, which has one, or a safetensors file.
struct TensorFile {
  MappedFile file;
  bool is_npy;
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  ///< as they follow each other in the file

  /// Throws std::invalid_argument naming the file, as the readers of both formats do.
  explicit TensorFile(const std::string& name);

  /// The tensor of that name, or null.
  const StoredTensor* find(const std::string& name) const;

  /// "FILE: ", and the name of the tensor where the file has several, for messages.
  std::string prefix(const StoredTensor& tensor) const;

 private:
  std::map<std::string, std::size_t> by_name_;
};

/// The elements of a tensor in memory: of the mapped file where they are aligned, else copied.
class TensorElements {
 public:
  TensorElements(const TensorFile& file, const StoredTensor& tensor);
  ~TensorElements();
  TensorElements(const TensorElements&) = delete;
  TensorElements& operator=(const TensorElements&) = delete;

  ConstTensorDescriptor array() const;

 private:
  const TensorFile& file_;
  const StoredTensor& tensor_;
  std::vector<std::byte> copy_;
};

}  // namespace papillon::cli
