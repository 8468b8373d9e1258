// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/generic/simd/types.hpp"

namespace papillon::simd {

/// Fetches the data of the following work while the present work computes, a few cache lines at each step, so
/// that memory is busy all the time. A prefetch never faults, so running past the end of an array is harmless.
class Prefetcher {
 public:
  Prefetcher() = default;
  /// Covers `bytes` from `start` in `steps` steps.
  Prefetcher(const void* start, std::int64_t bytes, std::int64_t steps)
      : next_(static_cast<const char*>(start)),
        end_(next_ + bytes),
        lines_(static_cast<int>((bytes + steps * cache_line_bytes - 1) / (steps * cache_line_bytes))) {}

  void step() {
    for (int i = 0; i < lines_; ++i) {
      __builtin_prefetch(next_, 0, 3);
      next_ += cache_line_bytes;
    }
  }

 private:
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  int lines_ = 0;
};

}  // namespace papillon::simd
