// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda {

/// A place in a ring of stages, and the parity of the round.
template <int Stages>
struct RingPosition {
  int slot = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    if (++slot == Stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

}  // namespace papillon::cuda
