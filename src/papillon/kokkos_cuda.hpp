// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <optional>
#include <string>
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
inline void run_on(cudaStream_t stream, const HadamardProblem& problem) { cuda::hadamard(stream, problem); }
inline void run_on(cudaStream_t stream, const KroneckerProblem& problem) { cuda::kronecker(stream, problem); }
inline void run_on(cudaStream_t stream, const ButterflyProblem& problem) { cuda::butterfly(stream, problem); }
inline void run_on(cudaStream_t stream, const QuantizeProblem& problem) { cuda::quantize(stream, problem); }
inline void run_on(cudaStream_t stream, const QuantizePair& pair) { cuda::quantize(stream, pair); }
inline void run_on(cudaStream_t stream, const GemmProblem& problem) { cuda::gemm(stream, problem); }
inline void run_on(cudaStream_t stream, const DequantizeProblem& problem) {
  cuda::dequantize(stream, problem);
}
#else
template <class ExecutionSpace>
inline constexpr bool may_use_cuda = false;
#endif

/// Runs a checked problem on the CUDA backend, if it runs the calls of `space`; whether it does.
template <class ExecutionSpace, class Problem>
bool run_on_cuda([[maybe_unused]] const ExecutionSpace& space, [[maybe_unused]] const Problem& problem) {
#ifdef PAPILLON_ROUTES_KOKKOS_CUDA
  if constexpr (may_use_cuda<ExecutionSpace>) {
    if (uses_cuda(space)) {
      const CurrentDevice device(space);
      run_on(space.cuda_stream(), problem);
      return true;
    }
  }
#endif
  return false;
}

/// Bytes of workspace of the CUDA backend, if it runs the calls of `space`.
template <class ExecutionSpace, class Problem>
std::optional<std::size_t> cuda_workspace_bytes([[maybe_unused]] const ExecutionSpace& space,
                                                [[maybe_unused]] const Problem& problem) {
#ifdef PAPILLON_ROUTES_KOKKOS_CUDA
  if constexpr (may_use_cuda<ExecutionSpace>) {
    if (uses_cuda(space)) return cuda::workspace_bytes(problem);
  }
#endif
  return std::nullopt;
}

/// What `explain` of the CUDA backend says, if it runs the calls of `space`.
template <class ExecutionSpace, class Problem>
std::optional<std::string> cuda_description([[maybe_unused]] const ExecutionSpace& space,
                                            [[maybe_unused]] const Problem& problem) {
#ifdef PAPILLON_ROUTES_KOKKOS_CUDA
  if constexpr (may_use_cuda<ExecutionSpace>) {
    if (uses_cuda(space)) return cuda::describe(problem);
  }
#endif
  return std::nullopt;
}

}  // namespace papillon::detail
