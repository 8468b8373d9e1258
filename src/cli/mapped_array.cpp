// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/mapped_array.hpp"

#include <algorithm>
#include <cstdint>

#include "cli/loaded_array.hpp"

namespace papillon::cli {

namespace {

template <class Pointer>
BasicTensorDescriptor<Pointer> describe(const NpyHeader& header, ScalarType type, Pointer data) {
  BasicTensorDescriptor<Pointer> result{data, type, static_cast<int>(header.shape.size()), {}, {}};
  std::ranges::copy(header.shape, result.extents.begin());
  std::ranges::copy(strides_of(header), result.strides.begin());
  return result;
}

}  // namespace

MappedArray::MappedArray(const std::string& name)
    : file_(name), header_(read_npy_header(file_.bytes(), name)), type_(require_library_type(header_, name)) {
  require_library_rank(header_, name);
  if (reinterpret_cast<std::uintptr_t>(data()) % static_cast<std::size_t>(size_of(header_.type)) == 0) return;
  aligned_.resize(static_cast<std::size_t>(header_.data_bytes()));
  file_.read(header_.data_offset, aligned_);
}

const std::byte* MappedArray::data() const {
  return aligned_.empty() ? file_.bytes().data() + header_.data_offset : aligned_.data();
}

ConstTensorDescriptor MappedArray::descriptor() const {
  return describe<const void*>(header_, type_, data());
}

TensorDescriptor describe_array(const NpyHeader& header, ScalarType type, std::byte* data) {
  return describe<void*>(header, type, data);
}

}  // namespace papillon::cli
