// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

#include "papillon/core/tensor.hpp"

namespace papillon::cuda {

/// A copy on the GPU of what lies between the lowest and the highest address of an array in host memory, gaps
/// included, so that what lies between its elements is the same after copying back. Throws std::runtime_error
/// naming the operator and the array when there is no memory for it or a copy fails.
class DeviceCopy {
 public:
  DeviceCopy(std::string_view operator_name, std::string_view name, const ConstTensorDescriptor& tensor);
  DeviceCopy(std::string_view operator_name, std::string_view name, const void* data, std::size_t bytes);
  ~DeviceCopy();
  DeviceCopy(const DeviceCopy&) = delete;
  DeviceCopy& operator=(const DeviceCopy&) = delete;

  void* data() const { return data_; }
  /// The array `tensor`, of which this is the copy, on the GPU.
  ConstTensorDescriptor descriptor(const ConstTensorDescriptor& tensor) const;
  TensorDescriptor descriptor(const TensorDescriptor& tensor) const;
  /// Waits for the GPU and copies back to the array.
  void copy_back(std::string_view operator_name, std::string_view name, const TensorDescriptor& tensor) const;

 private:
  void* data_ = nullptr;
  std::ptrdiff_t low_ = 0;  ///< bytes from the first element to the lowest address
  std::size_t bytes_ = 0;
};

}  // namespace papillon::cuda
