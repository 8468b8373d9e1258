// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/ptx/sm_80_shared.cuh"

namespace papillon::cuda::ptx {

inline void cluster_arrive() {
  using papillon_test::emulation::machine;
  machine.current->cluster_round = machine.cluster_barrier.arrive();
}
inline void cluster_wait() {
  using namespace papillon_test::emulation;
  wait(machine.cluster_barrier, machine.current->cluster_round);
}
inline std::uint32_t cluster_address(std::uint32_t address, std::uint32_t rank) {
  return address | (rank + 1) << 24;
}
inline void cluster_store(std::uint32_t address, uint2 value) { store_8(address, value); }
inline void cluster_store(std::uint32_t address, uint4 value) { store_16(address, value); }

}  // namespace papillon::cuda::ptx
