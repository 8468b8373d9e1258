// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/ptx/sm_80_shared.cuh"

namespace papillon::cuda::ptx {

/// What stands in a barrier's 8 bytes. Asynchronous copies are complete at once.
struct EmulatedBarrier {
  std::uint16_t arrivals;  ///< that end a phase
  std::uint16_t missing;
  std::uint32_t ended;  ///< phases
};
inline EmulatedBarrier& emulated_barrier(std::uint32_t barrier) {
  return *reinterpret_cast<EmulatedBarrier*>(shared_place(barrier, 8));
}
inline void barrier_init(std::uint32_t barrier, int arrivals) {
  emulated_barrier(barrier) = {static_cast<std::uint16_t>(arrivals), static_cast<std::uint16_t>(arrivals), 0};
}
inline void barrier_arrive(std::uint32_t barrier) {
  EmulatedBarrier& state = emulated_barrier(barrier);
  if (--state.missing > 0) return;
  state.missing = state.arrivals;
  ++state.ended;
}
inline void barrier_arrive_after_copies(std::uint32_t barrier) { barrier_arrive(barrier); }
inline void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  while (emulated_barrier(barrier).ended % 2 == parity) papillon_test::emulation::yield();
}

}  // namespace papillon::cuda::ptx
