// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "kernels/ptx/sm_90_cluster.cuh"

namespace papillon::cuda {

/// The stages of the highest `Split` bits, those of a block's rank in its cluster, over the 256 bytes that
/// each of `Threads` threads holds: 16 words of 16 bytes. Words of equal number go to the same block, whose
/// thread of the same number finishes them; so registers are indexed by constants. Word w of part p of the
/// cluster comes to block w / (16 >> Split) as its word p * (16 >> Split) + w % (16 >> Split).
///
/// A word arrives at a place of its own in `buffer` (256 bytes a thread), neighbouring threads side by side;
/// so blocks wait until all have read what was in their buffers, and each then until its words are there,
/// which the network counts in `mailbox` (8 bytes).
template <int Split, int Threads>
class ClusterExchange {
 public:
  static constexpr int mailbox_bytes = Split > 0 ? 16 : 0;

  /// Called by all threads when the kernel begins.
  __device__ __forceinline__ ClusterExchange(std::uint32_t buffer, std::uint32_t mailbox, int rank)
      : buffer_(buffer), mailbox_(mailbox), rank_(rank) {
    if constexpr (Split > 0) {
      if (threadIdx.x == 0) ptx::mailbox_init(mailbox_);
    }
  }

  /// `values` depend on all that this thread has read of the buffer.
  template <class C>
  __device__ __forceinline__ void run(C (&values)[256 / sizeof(C)]) const {
    if constexpr (Split > 0) {
      constexpr int vector = 16 / static_cast<int>(sizeof(C));
      constexpr int vector_bits = vector == 4 ? 2 : 1;
      constexpr int words = 16 >> Split;  // of a thread to each block
#pragma unroll
      for (const C& value : values) ptx::settle(value);
      ptx::cluster_arrive();
      const int thread = ptx::thread_again();
      const auto place = [&](int word) {
        return buffer_ + static_cast<std::uint32_t>(word * Threads + thread) * 16;
      };
      ptx::cluster_wait();
      if (thread == 0) ptx::mailbox_expect(mailbox_, words * 16 * Threads * ((1 << Split) - 1));
#pragma unroll
      for (int block = 0; block < 1 << Split; ++block) {
        const std::uint32_t here = place(rank_ * words);
        const C* sent = values + block * words * vector;
        if (block == rank_) {  // read again by this thread alone
#pragma unroll
          for (int word = 0; word < words; ++word)
            ptx::store_16(here + word * Threads * 16, pack<C>(sent + word * vector));
        } else {
          const std::uint32_t there = ptx::cluster_address(here, block);
          const std::uint32_t mailbox = ptx::cluster_address(mailbox_, block);
#pragma unroll
          for (int word = 0; word < words; ++word)
            ptx::mailbox_send(there + word * Threads * 16, pack<C>(sent + word * vector), mailbox);
        }
      }
      ptx::mailbox_wait(mailbox_);
#pragma unroll
      for (int word = 0; word < 16; ++word) unpack<C>(ptx::load_16(place(word)), values + word * vector);
      register_stages<vector_bits + 4 - Split, vector_bits + 4>(values);
    }
  }

 private:
  std::uint32_t buffer_;
  std::uint32_t mailbox_;
  int rank_;
};

}  // namespace papillon::cuda
