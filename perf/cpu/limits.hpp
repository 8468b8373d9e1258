// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::perf {

/// The limit of any in-place transform: `data[i] *= factor` over `bytes` bytes (float), `threads` threads,
/// in the widest vectors of the machine.
void scale_in_place(float* data, std::int64_t bytes, float factor, int threads);

}  // namespace papillon::perf
