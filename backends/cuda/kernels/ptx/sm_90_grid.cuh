// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace papillon::cuda::ptx {

// Kernels of a stream that overlap where the later one allows it (programmatic stream serialization).

/// Lets the next kernel's blocks start on multiprocessors that have room, up to their own wait.
__device__ __forceinline__ void let_next_grid_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Waits until the kernel before has ended and its stores are to be seen; nothing of global memory is read or
/// written before.
__device__ __forceinline__ void wait_for_grid_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace papillon::cuda::ptx
