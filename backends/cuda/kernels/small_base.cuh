// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::cuda {

/// The order-m matrix (its transpose where that is asked for) as a kernel parameter for small m, bit q of
/// rows[p] set where entry (p, q) is -1.
struct SmallBase {
  static constexpr int max_order = 64;
  std::uint64_t rows[max_order];
};

}  // namespace papillon::cuda
