// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

#include "papillon/core/quantize_steps.hpp"
#include "papillon/generic/hadamard.hpp"
#include "papillon/generic/host_quantize.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

/// A kernel of core/quantize_kernels.hpp as Kokkos calls it.
template <class Kernel>
struct RangeKernel {
  Kernel kernel;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { kernel(i); }
};

/// What the plain form of the quantiser runs on: see detail::plain_quantize.
template <class ExecutionSpace>
class KokkosEngine {
 public:
  static constexpr bool host = is_host_space<ExecutionSpace>;

  struct Atomics {
    KOKKOS_FUNCTION static void max(std::uint32_t* place, std::uint32_t value) {
      Kokkos::atomic_max(place, value);
    }
    KOKKOS_FUNCTION static void add(std::uint64_t* place, std::uint64_t value) {
      Kokkos::atomic_add(place, value);
    }
  };

  explicit KokkosEngine(const ExecutionSpace& space) : space_(space) {}

  static constexpr std::int64_t chunk_bytes() { return std::int64_t{host ? 4 : 32} << 20; }

  template <class Kernel>
  void for_each(const Kernel& kernel) const {
    if (kernel.count() == 0) return;
    using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("papillon::quantize", Range(space_, 0, kernel.count()), RangeKernel<Kernel>{kernel});
  }

  void rotate(const TensorDescriptor& matrix, const HadamardOptions& options) const {
    run_hadamard<host>(space_, detail::make_hadamard_problem(matrix, matrix, options, false));
  }

 private:
  const ExecutionSpace& space_;
};

/// Bytes that the plain form needs.
template <class ExecutionSpace>
std::size_t plain_quantize_bytes(const detail::QuantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, KokkosEngine<ExecutionSpace>::chunk_bytes());
}
template <class ExecutionSpace>
std::size_t plain_dequantize_bytes(const detail::DequantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, KokkosEngine<ExecutionSpace>::chunk_bytes());
}

/// Runs a checked problem in its plain form.
template <class ExecutionSpace>
void run_plain_quantize(const ExecutionSpace& space, const detail::QuantizeProblem& problem) {
  const WorkspaceHolder<ExecutionSpace> workspace(space, "quantize", problem.workspace,
                                                  plain_quantize_bytes<ExecutionSpace>(problem));
  detail::plain_quantize(KokkosEngine(space), problem, workspace.data());
}
template <class ExecutionSpace>
void run_plain_dequantize(const ExecutionSpace& space, const detail::DequantizeProblem& problem) {
  const WorkspaceHolder<ExecutionSpace> workspace(space, "dequantize", problem.workspace,
                                                  plain_dequantize_bytes<ExecutionSpace>(problem));
  detail::plain_dequantize(KokkosEngine(space), problem, workspace.data());
}

/// Bytes of workspace of a call: the vector kernels keep what they rotate in scratch of their threads.
template <class ExecutionSpace>
std::size_t quantize_workspace_bytes(const detail::QuantizeProblem& problem) {
  if constexpr (is_host_space<ExecutionSpace>) {
    if (HostQuantize(problem).fits()) return detail::state_bytes;
  }
  return plain_quantize_bytes<ExecutionSpace>(problem);
}
template <class ExecutionSpace>
std::size_t dequantize_workspace_bytes(const detail::DequantizeProblem& problem) {
  if constexpr (is_host_space<ExecutionSpace>) {
    if (HostDequantize(problem).fits()) return 0;
  }
  return plain_dequantize_bytes<ExecutionSpace>(problem);
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) where they take it.
template <bool Vector, class ExecutionSpace>
void run_quantize(const ExecutionSpace& space, const detail::QuantizeProblem& problem) {
  if constexpr (Vector) {
    const HostQuantize host(problem);
    if (host.fits()) return host.launch(space);
  }
  run_plain_quantize(space, problem);
}
template <bool Vector, class ExecutionSpace>
void run_dequantize(const ExecutionSpace& space, const detail::DequantizeProblem& problem) {
  if constexpr (Vector) {
    const HostDequantize host(problem);
    if (host.fits()) return host.launch(space);
  }
  run_plain_dequantize(space, problem);
}

}  // namespace papillon::generic
