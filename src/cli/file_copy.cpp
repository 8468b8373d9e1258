// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/file_copy.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace papillon::cli {

void copy_bytes(const MappedFile& input, std::int64_t from, const AtomicFile& output, std::int64_t to,
                std::int64_t count) {
  constexpr std::int64_t most = std::int64_t{8} << 20;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(count, most)));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t piece = std::min(count - done, most);
    const std::span<std::byte> part = std::span(buffer).first(static_cast<std::size_t>(piece));
    input.read(from + done, part);
    output.write(to + done, part);
    output.flush(to + done, piece);
    done += piece;
  }
}

}  // namespace papillon::cli
