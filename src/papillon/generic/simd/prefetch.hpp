// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/generic/simd/types.hpp"

namespace papillon::simd {

/// Fetches the data of the following work while the present work computes, a few cache lines at each step, so
/// that memory is busy all the time; into the L2 cache, as longer rows than the L1 cache holds are fetched
/// too. A prefetch never faults, so running past the end of an array is harmless.
class Prefetcher {
 public:
  Prefetcher() = default;

  /// Each step fetches `lines` lines that are `line_stride` bytes apart, and moves on by `step_stride` bytes.
  Prefetcher(const void* start, int lines, std::int64_t line_stride, std::int64_t step_stride)
      : next_(static_cast<const char*>(start)),
        lines_(lines),
        line_stride_(line_stride),
        step_stride_(step_stride) {}

  void step() {
    const char* line = next_;
    for (int i = 0; i < lines_; ++i) {
      __builtin_prefetch(line, 0, 2);
      line += line_stride_;
    }
    next_ += step_stride_;
  }

 private:
  const char* next_ = nullptr;
  int lines_ = 0;
  std::int64_t line_stride_ = 0;
  std::int64_t step_stride_ = 0;
};

/// Hands out the prefetching of consecutive memory to passes that visit it several times.
class RowPrefetch {
 public:
  /// For blocks of `registers` registers that take `bytes` of memory and are visited `visits` times.
  RowPrefetch(int registers, std::int64_t bytes, int visits)
      : registers_(registers),
        lines_(static_cast<int>((bytes + visits * cache_line_bytes - 1) / (visits * cache_line_bytes))) {}

  /// Where the following work begins.
  void start(const void* next) { next_ = next; }

  /// The prefetcher of a pass of `steps` steps, each of `registers` registers.
  Prefetcher take(int registers, std::int64_t steps) {
    const int lines = (lines_ * registers + registers_ - 1) / registers_;
    const Prefetcher result(next_, lines, cache_line_bytes, lines * cache_line_bytes);
    next_ = static_cast<const char*>(next_) + steps * lines * cache_line_bytes;
    return result;
  }

 private:
  const void* next_ = nullptr;
  int registers_;
  int lines_;
};

}  // namespace papillon::simd
