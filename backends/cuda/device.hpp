// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace papillon::cuda {

/// What the launches need to know of a device; read once and kept.
struct Device {
  int index = 0;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int shared_bytes = 0;  ///< most that one block may have
};

/// The device that is current in this thread. Throws std::runtime_error in one sentence when there is no
/// driver or GPU, and when these kernels cannot run on it.
const Device& current_device();

/// Throws std::runtime_error naming `action` unless error is cudaSuccess.
void check(cudaError_t error, std::string_view action);

/// Throws std::invalid_argument naming `argument` unless `pointer` is memory that `device` can reach.
void check_pointer(std::string_view operator_name, const void* pointer, std::string_view argument,
                   const Device& device);

}  // namespace papillon::cuda
