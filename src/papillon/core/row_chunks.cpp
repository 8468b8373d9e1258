// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/row_chunks.hpp"

#include <algorithm>
#include <numeric>

#include "papillon/core/block_codes.hpp"

namespace papillon::detail {

RowChunking chunk_rows(const QuantizedRows& q, std::int64_t group, std::int64_t element_bytes,
                       std::int64_t wanted_bytes) {
  const std::int64_t n = q.layout.columns;
  // The least common multiple is at most n² and is needed only where it is below n.
  __int128 unit = run_length;
  for (const std::int64_t part : {q.layout.block, std::max<std::int64_t>(group, 1)}) {
    unit = unit / std::gcd(static_cast<std::int64_t>(unit), part) * part;
    if (unit > n) unit = n;
  }
  const auto step = static_cast<std::int64_t>(unit);
  const std::int64_t rows = std::min(q.group_rows(), q.layout.rows);
  const std::int64_t wanted = std::max<std::int64_t>(wanted_bytes / element_bytes, 1);
  RowChunking chunking;
  chunking.columns = std::clamp(wanted / std::max<std::int64_t>(rows, 1) / step * step, step, n);
  chunking.groups = chunking.columns < n ? 1 : std::clamp<std::int64_t>(wanted / (rows * n), 1, q.groups());
  chunking.bytes = static_cast<std::size_t>(chunking.groups * rows * chunking.columns * element_bytes);
  return chunking;
}

}  // namespace papillon::detail
