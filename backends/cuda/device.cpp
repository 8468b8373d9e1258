// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "api.hpp"
#include "papillon/core/errors.hpp"

namespace papillon::cuda {
namespace {

constexpr int max_devices = 64;

[[noreturn]] void fail(std::string_view action, cudaError_t error) {
  cudaGetLastError();  // a failed launch must not be reported again by the caller's next call
  std::ostringstream text;
  text << "papillon: " << action << ": " << cudaGetErrorString(error) << " (" << cudaGetErrorName(error)
       << ")";
  throw std::runtime_error(text.str());
}

Device read_device(int index) {
  Device device;
  device.index = index;
  const auto read = [&](int& value, cudaDeviceAttr attribute) {
    check(cudaDeviceGetAttribute(&value, attribute, index), "reading the properties of the GPU");
  };
  read(device.major, cudaDevAttrComputeCapabilityMajor);
  read(device.minor, cudaDevAttrComputeCapabilityMinor);
  read(device.multiprocessors, cudaDevAttrMultiProcessorCount);
  read(device.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (device.major < 9) {
    std::ostringstream text;
    text << "papillon: the CUDA kernels need compute capability 9.0 or higher, and device " << index
         << " has " << device.major << "." << device.minor;
    throw std::runtime_error(text.str());
  }
  return device;
}

}  // namespace

void check(cudaError_t error, std::string_view action) {
  if (error != cudaSuccess) fail(action, error);
}

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

std::string device_name(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "reading the properties of the GPU");
  std::ostringstream text;
  text << properties.name << ", compute capability " << properties.major << "." << properties.minor << ", "
       << properties.multiProcessorCount << " multiprocessors, " << (properties.totalGlobalMem >> 30)
       << " GiB";
  return text.str();
}

std::string why_unavailable() {
  try {
    current_device();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

const Device& current_device() {
  static std::mutex mutex;
  static std::array<std::unique_ptr<const Device>, max_devices> devices;
  int index = 0;
  const cudaError_t error = cudaGetDevice(&index);
  int count = 0;
  if (error != cudaSuccess || (count = device_count()) == 0) {
    cudaGetLastError();
    throw std::runtime_error(
        "papillon: no usable NVIDIA GPU: the driver is missing, too old, or finds no device");
  }
  if (index >= max_devices) throw std::runtime_error("papillon: more than 64 GPUs");
  const std::lock_guard lock(mutex);
  auto& device = devices[static_cast<std::size_t>(index)];
  if (!device) device = std::make_unique<const Device>(read_device(index));
  return *device;
}

void check_pointer(std::string_view operator_name, const void* pointer, std::string_view argument,
                   const Device& device) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, pointer), "asking what a pointer points to");
  switch (attributes.type) {
    case cudaMemoryTypeManaged:
      return;
    case cudaMemoryTypeDevice: {
      if (attributes.device == device.index) return;
      int reachable = 0;
      check(cudaDeviceCanAccessPeer(&reachable, device.index, attributes.device), "asking for peer access");
      if (reachable != 0) return;
      throw_invalid_argument(operator_name, argument, " at ", pointer, " is memory of device ",
                             attributes.device, " but the current device is ", device.index);
    }
    case cudaMemoryTypeHost:
      if (attributes.devicePointer == pointer) return;  // pinned and mapped
      break;
    default: {
      int pageable = 0;
      check(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, device.index),
            "reading the properties of the GPU");
      if (pageable != 0) return;
      break;
    }
  }
  throw_invalid_argument(operator_name, argument, " at ", pointer,
                         " is host memory; the GPU needs device, managed or pinned memory");
}

}  // namespace papillon::cuda
