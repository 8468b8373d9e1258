// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstdint>

namespace papillon::cli {

/// A bar on standard error, shown only on a terminal and only once the work has taken more than a second.
class ProgressBar {
 public:
  explicit ProgressBar(std::int64_t total);
  ~ProgressBar();  ///< clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `done` of the total is finished.
  void update(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t total_;
  bool on_terminal_;
  bool shown_ = false;
  Clock::time_point begin_;
  Clock::time_point last_;
};

}  // namespace papillon::cli
