// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "hwy/highway.h"
#include "hwy/targets.h"
#include "papillon/generic/simd/kernels.hpp"

namespace papillon_test {

/// Runs `check` with each instruction set that the kernels were compiled for and this machine has.
inline void on_every_target(const std::function<void()>& check) {
  int tried = 0;
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t supported = hwy::SupportedTargets();
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::string name = papillon::simd::active_target();
    if (name != hwy::TargetName(target)) continue;  // not compiled for this one
    CAPTURE(name);
    check();
    ++tried;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(tried > 0);
}

}  // namespace papillon_test
