// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/tensor_file.hpp"

#include <algorithm>
#include <string_view>

#include "cli/loaded_array.hpp"
#include "cli/npy.hpp"

namespace papillon::cli {

namespace {

bool has_npy_magic(std::span<const std::byte> bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  return bytes.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin(), [](char expected, std::byte found) {
           return static_cast<unsigned char>(expected) == static_cast<unsigned char>(found);
         });
}

StoredTensor from_npy(const MappedFile& file) {
  const NpyHeader header = read_npy_header(file.bytes(), file.name());
  const ScalarType type = require_library_type(header, file.name());
  require_library_rank(header, file.name());
  return {.name = "x",
          .type = type,
          .dtype = safetensors_dtype(type).value_or(SafetensorsDtype::u8),
          .shape = header.shape,
          .strides = strides_of(header),
          .offset = header.data_offset,
          .bytes = header.data_bytes(),
          .description = describe(header)};
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

}  // namespace

bool StoredTensor::is_row_major() const {
  const std::vector<std::int64_t> expected = row_major_strides(shape);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != expected[d]) return false;
  return true;
}

bool is_floating_point(const StoredTensor& tensor) {
  return tensor.type && !is_complex(*tensor.type) && !is_integer(*tensor.type);
}

TensorFile::TensorFile(const std::string& name)
    : file(name), is_npy(name.ends_with(".npy") || has_npy_magic(file.bytes())) {
  if (is_npy) {
    tensors.push_back(from_npy(file));
    return;
  }
  SafetensorsHeader header = read_safetensors_header(file.bytes(), name);
  metadata = std::move(header.metadata);
  for (SafetensorsTensor& tensor : header.tensors) {
    tensors.push_back({.name = tensor.name,
                       .type = library_type(tensor.dtype),
                       .dtype = tensor.dtype,
                       .shape = tensor.shape,
                       .strides = row_major_strides(tensor.shape),
                       .offset = tensor.begin,
                       .bytes = tensor.data_bytes(),
                       .description = describe(tensor)});
    by_name_.emplace(tensor.name, tensors.size() - 1);
  }
}

const StoredTensor* TensorFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors[found->second];
}

std::string TensorFile::prefix(const StoredTensor& tensor) const {
  return file.name() + ": " + (is_npy ? "" : "tensor \"" + tensor.name + "\": ");
}

TensorElements::TensorElements(const TensorFile& file, const StoredTensor& tensor)
    : file_(file), tensor_(tensor) {
  if (tensor.bytes == 0 || tensor.offset % static_cast<std::int64_t>(size_of(*tensor.type)) == 0) return;
  copy_.resize(static_cast<std::size_t>(tensor.bytes));
  file.file.read(tensor.offset, copy_);
}

TensorElements::~TensorElements() {
  if (copy_.empty() && tensor_.bytes > 0) file_.file.release(tensor_.offset, tensor_.bytes);
}

ConstTensorDescriptor TensorElements::array() const {
  alignas(16) static const std::byte nothing[16] = {};
  const std::byte* data = tensor_.bytes == 0 ? nothing
                          : copy_.empty()    ? file_.file.bytes().data() + tensor_.offset
                                             : copy_.data();
  ConstTensorDescriptor array{data, *tensor_.type, static_cast<int>(tensor_.shape.size()), {}, {}};
  std::ranges::copy(tensor_.shape, array.extents.begin());
  std::ranges::copy(tensor_.strides, array.strides.begin());
  return array;
}

}  // namespace papillon::cli
