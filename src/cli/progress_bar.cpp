// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/progress_bar.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace papillon::cli {

ProgressBar::ProgressBar(std::int64_t total)
    : total_(total), on_terminal_(::isatty(STDERR_FILENO) == 1), begin_(Clock::now()), last_(begin_) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::update(std::int64_t done) {
  if (!on_terminal_ || total_ <= 0) return;
  const Clock::time_point now = Clock::now();
  if (now - begin_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  constexpr int width = 40;
  const double fraction = static_cast<double>(done) / static_cast<double>(total_);
  const auto filled = static_cast<std::size_t>(fraction * width);
  const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double left = fraction > 0 ? elapsed / fraction - elapsed : 0.0;
  std::fprintf(stderr, "\r[%s] %3.0f %%, %.0f s left\x1b[K", bar.c_str(), 100.0 * fraction, left);
}

}  // namespace papillon::cli
