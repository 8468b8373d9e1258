// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/quantize_problem.hpp"

namespace papillon::detail {

/// Row groups first_group … first_group + groups - 1 of a quantised tensor, of these the columns
/// first_column … first_column + columns - 1: what is rotated in a workspace at a time.
struct RowChunk {
  std::int64_t first_group = 0;
  std::int64_t groups = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
};

/// How a tensor is cut into chunks: of `groups` row groups and `columns` columns each.
struct RowChunking {
  std::int64_t groups = 0;
  std::int64_t columns = 0;
  std::size_t bytes = 0;  ///< of the largest chunk
};

/// Chunks of about `wanted_bytes`, of whole row groups, of columns that cut neither blocks, nor rotations of
/// `group` points, nor runs of 16; one row group of all columns where these allow no cut.
RowChunking chunk_rows(const QuantizedRows& q, std::int64_t group, std::int64_t element_bytes,
                       std::int64_t wanted_bytes);

/// Calls `run(chunk)` for every chunk.
template <class Run>
void for_each_chunk(const QuantizedRows& q, const RowChunking& chunking, Run&& run) {
  const std::int64_t groups = q.groups();
  for (std::int64_t g = 0; g < groups; g += chunking.groups) {
    RowChunk chunk;
    chunk.first_group = g;
    chunk.groups = groups - g < chunking.groups ? groups - g : chunking.groups;
    chunk.first_row = q.first_row(g);
    const std::int64_t last = g + chunk.groups - 1;
    chunk.rows = q.first_row(last) + q.row_count(last) - chunk.first_row;
    for (std::int64_t c = 0; c < q.layout.columns; c += chunking.columns) {
      chunk.first_column = c;
      chunk.columns = q.layout.columns - c < chunking.columns ? q.layout.columns - c : chunking.columns;
      run(chunk);
    }
  }
}

}  // namespace papillon::detail
