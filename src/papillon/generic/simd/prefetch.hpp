// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/generic/simd/types.hpp"

namespace papillon::simd {

/// Fetches the data of the following work while the present work computes, a few cache lines at each step, so
/// that memory is busy all the time. A prefetch never faults, so running past the end of an array is
/// harmless.
class Prefetcher {
 public:
  Prefetcher() = default;
  /// For work on blocks of `registers` registers that take `bytes` of memory and are visited `visits` times.
  Prefetcher(int registers, std::int64_t bytes, int visits)
      : registers_(registers),
        lines_(static_cast<int>((bytes + visits * cache_line_bytes - 1) / (visits * cache_line_bytes))) {}

  /// Where the following work begins.
  void start(const void* next) { next_ = static_cast<const char*>(next); }

  /// How many lines are due with each group of `registers` registers of work.
  int lines_for(int registers) const { return (lines_ * registers + registers_ - 1) / registers_; }

  void fetch(int lines) {
    for (int i = 0; i < lines; ++i) {
      __builtin_prefetch(next_, 0, 3);
      next_ += cache_line_bytes;
    }
  }

 private:
  const char* next_ = nullptr;
  int registers_ = 1;
  int lines_ = 0;
};

}  // namespace papillon::simd
