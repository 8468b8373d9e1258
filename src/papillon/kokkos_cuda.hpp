// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

// Calls of Kokkos::Cuda instances run on the CUDA backend where Papillon was built with it
// (Papillon::papillon then defines PAPILLON_HAS_CUDA) and the GPU can run its kernels.
#if defined(PAPILLON_HAS_CUDA) && defined(KOKKOS_ENABLE_CUDA)
#define PAPILLON_ROUTES_KOKKOS_CUDA
#include <cuda_runtime_api.h>

#include "papillon/cuda.hpp"
#endif

namespace papillon::detail {

#ifdef PAPILLON_ROUTES_KOKKOS_CUDA
template <class ExecutionSpace>
inline constexpr bool may_use_cuda = std::is_same_v<ExecutionSpace, Kokkos::Cuda>;

/// Makes the device of an execution space current for as long as it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(const Kokkos::Cuda& space) : wanted_(space.cuda_device()) {
    cudaGetDevice(&previous_);
    if (previous_ != wanted_) cudaSetDevice(wanted_);
  }
  ~CurrentDevice() {
    if (previous_ != wanted_) cudaSetDevice(previous_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int wanted_;
  int previous_ = 0;
};

/// Whether the CUDA backend runs the calls of `space`.
inline bool uses_cuda(const Kokkos::Cuda& space) {
  const CurrentDevice device(space);
  return cuda::why_unavailable().empty();
}
#else
template <class ExecutionSpace>
inline constexpr bool may_use_cuda = false;
#endif

}  // namespace papillon::detail
