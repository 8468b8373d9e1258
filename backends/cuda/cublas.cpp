// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace papillon::cuda {
namespace {

// What is called of cuBLAS's C interface, with the values of its enumerations (cublas_api.h,
// library_types.h).
using Handle = void*;
constexpr int no_transpose = 0;
constexpr int transpose = 1;
constexpr int default_algorithm = -1;
constexpr int compute_float = 68;
constexpr int compute_double = 70;

struct Cublas {
  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*set_workspace)(Handle, void*, std::size_t) = nullptr;
  int (*gemm)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*, int,
              std::int64_t, long long, const void*, int, std::int64_t, long long, const void*, void*, int,
              std::int64_t, long long, std::int64_t, int, int) = nullptr;
  std::string why_not;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Cublas load() {
  Cublas cublas;
  void* library = nullptr;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    cublas.why_not = "cuBLAS (libcublas.so.13 or .12) is not found by the loader";
  } else if (!find(library, "cublasCreate_v2", cublas.create) ||
             !find(library, "cublasSetStream_v2", cublas.set_stream) ||
             !find(library, "cublasSetWorkspace_v2", cublas.set_workspace) ||
             !find(library, "cublasGemmStridedBatchedEx_64", cublas.gemm)) {
    cublas.why_not = "this cuBLAS has no 64-bit cublasGemmStridedBatchedEx";
  }
  return cublas;
}

const Cublas& cublas() {
  static const Cublas loaded = load();
  return loaded;
}

void check_status(int status, const char* action) {
  if (status == 0) return;
  throw std::runtime_error("papillon: gemm: " + std::string(action) + " of cuBLAS failed with status " +
                           std::to_string(status));
}

/// Handles that no thread is using, of each device. They live until the process ends, since the library may
/// be gone before static objects are.
class Handles {
 public:
  Handle take(const Device& device) {
    {
      const std::lock_guard lock(mutex_);
      auto& free = free_.at(static_cast<std::size_t>(device.index));
      if (!free.empty()) {
        const Handle handle = free.back();
        free.pop_back();
        return handle;
      }
    }
    // Allocates, which a capture in this thread would refuse though nothing of it is captured.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    check(cudaThreadExchangeStreamCaptureMode(&mode), "gemm: preparing cuBLAS");
    Handle handle = nullptr;
    const int status = cublas().create(&handle);
    check(cudaThreadExchangeStreamCaptureMode(&mode), "gemm: preparing cuBLAS");
    check_status(status, "cublasCreate");
    return handle;
  }
  void give_back(const Device& device, Handle handle) {
    const std::lock_guard lock(mutex_);
    free_.at(static_cast<std::size_t>(device.index)).push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<Handle>, 64> free_;
};

Handles& handles() {
  static Handles& all = *new Handles;
  return all;
}

int data_type(ScalarType type) {
  switch (type) {
    case ScalarType::float64:
      return 1;
    case ScalarType::float16:
      return 2;
    case ScalarType::bfloat16:
      return 14;
    default:
      return 0;
  }
}

}  // namespace

const std::string& why_no_cublas() { return cublas().why_not; }

void cublas_gemm(cudaStream_t stream, const Device& device, ScalarType in, ScalarType out,
                 const GemmProduct& product, void* workspace) {
  const Handle handle = handles().take(device);
  int status = cublas().set_stream(handle, stream);
  if (status == 0) status = cublas().set_workspace(handle, workspace, cublas_workspace_bytes);
  if (status == 0) {
    const bool wide = in == ScalarType::float64;
    const auto alpha = static_cast<float>(product.alpha);
    const auto beta = static_cast<float>(product.beta);
    const void* alpha_place = wide ? static_cast<const void*>(&product.alpha) : &alpha;
    const void* beta_place = wide ? static_cast<const void*>(&product.beta) : &beta;
    // Column-major: the transpose of C, the product of B's and A's.
    status = cublas().gemm(handle, product.b_k_fastest ? transpose : no_transpose,
                           product.a_k_fastest ? no_transpose : transpose, product.n, product.m, product.k,
                           alpha_place, product.b, data_type(in), product.b_stride, product.b_batch,
                           product.a, data_type(in), product.a_stride, product.a_batch, beta_place, product.c,
                           data_type(out), product.c_stride, product.c_batch, product.batch,
                           wide ? compute_double : compute_float, default_algorithm);
  }
  handles().give_back(device, handle);
  check_status(status, "cublasGemmStridedBatchedEx");
}

}  // namespace papillon::cuda
