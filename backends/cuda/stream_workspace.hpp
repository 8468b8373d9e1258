// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "device.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::cuda {

/// The caller's workspace, or one from the stream's pool, which gets it back in stream order.
class StreamWorkspace {
 public:
  StreamWorkspace(cudaStream_t stream, const char* operator_name, const Workspace& given, std::size_t bytes)
      : stream_(stream) {
    data_ = detail::given_workspace(operator_name, given, bytes);
    if (bytes == 0 || data_ != nullptr) return;
    check(cudaMallocAsync(&owned_, bytes, stream), std::string(operator_name) + ": allocating the workspace");
    data_ = owned_;
  }
  ~StreamWorkspace() {
    if (owned_ != nullptr) cudaFreeAsync(owned_, stream_);
  }
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  void* data() const { return data_; }

 private:
  cudaStream_t stream_;
  void* owned_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace papillon::cuda
