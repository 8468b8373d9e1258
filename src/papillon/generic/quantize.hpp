// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>

#include "papillon/core/quantize_steps.hpp"
#include "papillon/generic/hadamard.hpp"
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

template <class ExecutionSpace>
std::size_t quantize_workspace_bytes(const detail::QuantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, KokkosEngine<ExecutionSpace>::chunk_bytes());
}
template <class ExecutionSpace>
std::size_t dequantize_workspace_bytes(const detail::DequantizeProblem& problem) {
  return detail::plain_workspace_bytes(problem, KokkosEngine<ExecutionSpace>::chunk_bytes());
}

/// Runs a checked problem in its plain form.
template <class ExecutionSpace>
void run_plain_quantize(const ExecutionSpace& space, const detail::QuantizeProblem& problem) {
  const WorkspaceHolder<ExecutionSpace> workspace(space, "quantize", problem.workspace,
                                                  quantize_workspace_bytes<ExecutionSpace>(problem));
  detail::plain_quantize(KokkosEngine(space), problem, workspace.data());
}
template <class ExecutionSpace>
void run_plain_dequantize(const ExecutionSpace& space, const detail::DequantizeProblem& problem) {
  const WorkspaceHolder<ExecutionSpace> workspace(space, "dequantize", problem.workspace,
                                                  dequantize_workspace_bytes<ExecutionSpace>(problem));
  detail::plain_dequantize(KokkosEngine(space), problem, workspace.data());
}

/// Runs a checked problem. `Vector` picks the vector kernels (host spaces only) where they cover it.
template <bool Vector, class ExecutionSpace>
void run_quantize(const ExecutionSpace& space, const detail::QuantizeProblem& problem) {
  run_plain_quantize(space, problem);
}
template <bool Vector, class ExecutionSpace>
void run_dequantize(const ExecutionSpace& space, const detail::DequantizeProblem& problem) {
  run_plain_dequantize(space, problem);
}

}  // namespace papillon::generic
