// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace papillon::generic {

/// What scratch memory is for; each use has its own.
enum class ScratchUse : std::uint8_t { tile, factors };

/// At least `bytes` bytes of memory, aligned to 128, that belong to the calling thread until its next call
/// for the same use. Kept between calls, so that only the first large tile of a thread allocates. Throws
/// std::bad_alloc.
void* thread_scratch(std::size_t bytes, ScratchUse use = ScratchUse::tile);

}  // namespace papillon::generic
