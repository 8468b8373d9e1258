// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace papillon::generic {

/// At least `bytes` bytes of memory, aligned to 128, that belong to the calling thread until its next call.
/// Kept between calls, so that only the first large tile of a thread allocates. Throws std::bad_alloc.
void* thread_scratch(std::size_t bytes);

}  // namespace papillon::generic
