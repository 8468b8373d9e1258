// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "cli/atomic_file.hpp"
#include "cli/mapped_file.hpp"

namespace papillon::cli {

/// Copies `count` bytes, those from `from` on in the input, to `to` on in the output, through a small buffer:
/// no pages of either mapping become resident. Throws as MappedFile::read and AtomicFile::write do.
void copy_bytes(const MappedFile& input, std::int64_t from, const AtomicFile& output, std::int64_t to,
                std::int64_t count);

}  // namespace papillon::cli
