// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/ptx/sm_80_shared.cuh"

namespace papillon::cuda::ptx {

inline int thread_again() { return static_cast<int>(papillon_test::emulation::machine.current->index); }
template <class T>
void step_by_step(T*&) {}
template <class C>
void settle(C) {}

inline void cluster_arrive() {
  using papillon_test::emulation::machine;
  machine.current->cluster_round = machine.cluster_barrier.arrive();
}
inline void cluster_wait() {
  using namespace papillon_test::emulation;
  wait(machine.cluster_barrier, machine.current->cluster_round);
}
inline void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}
inline uint4 cluster_load_16(std::uint32_t address) {
  uint4 word;
  __builtin_memcpy(&word, shared_place(address, 16), 16);
  return word;
}
inline std::uint32_t cluster_address(std::uint32_t address, std::uint32_t rank) {
  return address | (rank + 1) << 24;
}

/// A mailbox holds the bytes that are still to come, less `unknown_bytes` until their number is known.
inline std::int64_t& mailbox_bytes(std::uint32_t mailbox) {
  return *reinterpret_cast<std::int64_t*>(shared_place(mailbox, 8));
}
constexpr std::int64_t unknown_bytes = std::int64_t{1} << 40;
inline void mailbox_init(std::uint32_t mailbox) { mailbox_bytes(mailbox) = -unknown_bytes; }
inline void mailbox_expect(std::uint32_t mailbox, std::uint32_t bytes) {
  mailbox_bytes(mailbox) += unknown_bytes + bytes;
}
inline void mailbox_send(std::uint32_t address, const uint4& word, std::uint32_t mailbox) {
  store_16(address, word);
  mailbox_bytes(mailbox) -= 16;
}
inline void mailbox_wait(std::uint32_t mailbox) {
  while (mailbox_bytes(mailbox) != 0) papillon_test::emulation::yield();
}

}  // namespace papillon::cuda::ptx
