// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_copy.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "device.hpp"

namespace papillon::cuda {
namespace {

struct Reach {
  std::int64_t low = 0;  ///< bytes
  std::int64_t bytes = 0;
};

Reach reach_of(const ConstTensorDescriptor& tensor) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (tensor.extents[i] == 0) return {};
    const std::int64_t reach = tensor.strides[i] * (tensor.extents[i] - 1);
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(size_of(tensor.type));
  return {low * size, (high - low + 1) * size};
}

std::string action(std::string_view operator_name, std::string_view what, std::string_view name,
                   std::string_view where) {
  return std::string(operator_name) + ": " + std::string(what) + std::string(name) + std::string(where);
}

}  // namespace

DeviceCopy::DeviceCopy(std::string_view operator_name, std::string_view name, const void* data,
                       std::size_t bytes)
    : bytes_(bytes) {
  if (bytes == 0) return;
  check(cudaMalloc(&data_, bytes), action(operator_name, "allocating memory on the GPU for ", name, ""));
  const cudaError_t error = cudaMemcpy(data_, data, bytes, cudaMemcpyHostToDevice);
  if (error != cudaSuccess) cudaFree(data_);
  check(error, action(operator_name, "copying ", name, " to the GPU"));
}

DeviceCopy::DeviceCopy(std::string_view operator_name, std::string_view name,
                       const ConstTensorDescriptor& tensor)
    : DeviceCopy(operator_name, name, static_cast<const char*>(tensor.data) + reach_of(tensor).low,
                 static_cast<std::size_t>(reach_of(tensor).bytes)) {
  low_ = reach_of(tensor).low;
}

DeviceCopy::~DeviceCopy() { cudaFree(data_); }

ConstTensorDescriptor DeviceCopy::descriptor(const ConstTensorDescriptor& tensor) const {
  ConstTensorDescriptor result = tensor;
  if (bytes_ > 0) result.data = static_cast<const char*>(data_) - low_;
  return result;
}

TensorDescriptor DeviceCopy::descriptor(const TensorDescriptor& tensor) const {
  TensorDescriptor result = tensor;
  if (bytes_ > 0) result.data = static_cast<char*>(data_) - low_;
  return result;
}

void DeviceCopy::copy_back(std::string_view operator_name, std::string_view name,
                           const TensorDescriptor& tensor) const {
  check(cudaMemcpy(static_cast<char*>(tensor.data) + low_, data_, bytes_, cudaMemcpyDeviceToHost),
        action(operator_name, "copying ", name, " from the GPU"));
}

}  // namespace papillon::cuda
