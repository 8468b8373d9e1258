// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tuning/row_tuning.hpp"

namespace papillon::cuda::sm_90 {

/// Rows of 2^k points of `bytes`-wide storage summed in `compute_bytes`. Pure; Family::pass where no row
/// kernel fits.
constexpr RowTuning row_tuning(int bytes, int compute_bytes, int k) {
  constexpr std::string_view card = "NVIDIA H200, 132 multiprocessors";
  const int word_bits = bytes == 2 ? 3 : bytes == 4 ? 2 : 1;
  const int cells = compute_bytes == 4 ? k - 1 : k;
  const int last_lane = bytes == 2 ? 10 : bytes == 4 ? 11 : 10;
  if (k < 1) return {};
  if (k <= last_lane) {
    RowTuning t{Family::lane, 0, 1, 128, 0, 0, 1, 1, 1, card};
    if (k <= word_bits) {  // whole rows in a word
      t.threads = 512;
      return t;
    }
    const int over = k - word_bits;
    if (over <= 3) {  // two rows of a word a lane, or (16-bit) in one
      t.lane_bits = over;
      t.units = 2;
      return t;
    }
    // Two words a lane while five lane bits allow it; three lane bits and more make whole 128-byte lines.
    t.lane_bits = over - 1 < 5 ? over - 1 : 5;
    if (bytes == 2) {
      t.lane_bits = over - 2 < 3 ? 3 : over - 2 < 5 ? over - 1 < 5 ? over - 1 : 5 : 5;
      if (k == 9) t.lane_bits = 5;
      t.threads = k == 7 ? 128 : 64;
    }
    if (bytes == 4 && k == 10) t.threads = 32;
    return t;
  }
  // Beyond: clusters of blocks of 64 KiB of the compute type, three blocks a multiprocessor, so that one's
  // exchange overlaps another's loads. Clusters of sixteen blocks of 128 KiB are slower than two passes.
  if (cells > 17) return {};
  if (cells > 14) return {Family::cluster, 0, 1, 256, 13, cells - 13, 1, 3, 1, card};
  RowTuning t{Family::tile, 0, 1, 128, cells < 10 ? 10 : cells, 0, 1, 1, 1, card};
  const int warps = 1 << (t.cell_bits - 10);
  if (bytes == 2 && cells == 14) {
    t.family = Family::persistent;
    t.threads = 32 * warps;
    t.block_rows = 16;
    return t;
  }
  t.teams = t.cell_bits == 10 && bytes > 2 ? 4 : 1;
  t.threads = 32 * warps * t.teams;
  t.min_blocks = 512 / t.threads;
  return t;
}

/// Whether 2^bits points of 2^inner_bits columns without a gap are best taken as rows of both, whose lowest
/// stages are left out: where such rows keep the copy's rate, and where tall tiles of columns are slower
/// still.
constexpr bool takes_inner_rows(int bytes, int compute_bytes, int bits, int inner_bits) {
  const bool narrow = bytes < compute_bytes;
  const int k = bits + inner_bits;
  if (narrow && k >= 13 && inner_bits >= 6 && bits >= 6 && bits <= 9) return false;
  if (k <= 14) return true;
  return bits >= (narrow ? 10 : 11) && k <= (compute_bytes == 4 && !narrow ? 16 : 15);
}

/// The choice for such rows: as row_tuning, but for kernels that would have too few registers.
constexpr RowTuning inner_row_tuning(int bytes, int compute_bytes, int k) {
  RowTuning t = row_tuning(bytes, compute_bytes, k);
  if (t.family == Family::persistent) t = {Family::cluster, 0, 1, 256, 13, 1, 1, 2, 1, t.measured_on};
  if (t.family == Family::cluster && compute_bytes == 8) t.min_blocks = 2;
  return t;
}

/// Whether few_rows is the faster kernel for this many rows of 2^k points: while they do not fill the card.
constexpr bool takes_few_rows(int bytes, int compute_bytes, int k, std::int64_t rows) {
  const int shortest = bytes == 2 ? 9 : 8;  // a row of more than a warp's words, and a warp of threads
  const int longest = compute_bytes == 8 ? 12 : 13;  // of 48 KiB of shared memory, 1024 threads
  return k >= shortest && k <= longest && rows <= 132;
}

/// Rows of m * 2^k points summed in `compute_bytes`, for kernels/shared_rows.cuh. Pure.
constexpr SharedTuning shared_tuning(int compute_bytes, int m, int k, std::int64_t rows) {
  const std::int64_t n = static_cast<std::int64_t>(m) << k;
  // A tile of 16 KiB; or, since a thread takes whole columns of the order-m factor, 256 of those.
  const std::int64_t wanted = m == 1 ? 16384 / compute_bytes : std::int64_t{256} * m;
  std::int64_t tile_rows = n < wanted ? wanted / n : 1;
  if (tile_rows > 8) tile_rows = tile_rows / 8 * 8;  // whole words, whatever n
  const std::int64_t few = (rows + 7) / 8 * 8;
  if (tile_rows > few) tile_rows = few;
  // 32 values a thread; or two columns of 4-byte values, or one.
  const int columns = compute_bytes == 4 ? 2 : 1;
  const std::int64_t work = m == 1 ? tile_rows * n / 32 : (tile_rows << k) / columns;
  const int most = most_shared_threads(m);
  int threads = 64;
  while (threads < most && threads * 2 <= work) threads *= 2;
  return {static_cast<int>(tile_rows), threads};
}

/// Columns of 2^k points stored in `bytes`, for kernels/columns.cuh, k from 1 to 12. Pure. Beyond 2^5 these
/// are for columns that are not aligned.
constexpr ColumnTuning column_tuning(int bytes, int k) {
  if (k <= 5) return {7, k == 5 ? 2 : 4};  // no shared memory: 128 chunks a block
  // A tile of 32 KiB, or more where rows of it would be narrower than 32 bytes of storage (from 2^11 points
  // on the most that leaves two blocks a multiprocessor, at 2^12 the most there is).
  const int narrow = bytes == 2 ? 1 : 0;
  int chunk_bits = 11 - k;
  if (k >= 9) chunk_bits = 12 - k;
  if (k >= 11) chunk_bits = 1 + narrow;
  if (k == 12) chunk_bits = 1;
  const int threads = 1 << (chunk_bits + k - 4);
  return {chunk_bits, 512 / threads};
}

/// Columns of 2^k points read in `bytes` and summed in `compute_bytes`, whose rows have `row_bytes` in one
/// outer index, for kernels/tile_columns.cuh, k from 6 to 12. Pure.
///
/// Rows of a tile are 128 bytes of storage, for which a cluster of two to eight blocks pays; of 16-bit types
/// 64 bytes from 2^9 points on, since there the exchange of a cluster takes as long as the memory.
constexpr TileColumnTuning tile_column_tuning(int bytes, int compute_bytes, int k, std::int64_t row_bytes) {
  const bool narrow = bytes < compute_bytes;
  int width_bits = k <= 7 || (narrow && k == 8) ? 5 : 4;
  // Where rows are short, a tile should not be wider: it is read and written in longer runs.
  const int fewest_bits = narrow ? 3 : 2;  // 32 bytes
  while (width_bits > fewest_bits && k + width_bits > 10 && (narrow ? 4 : 8) << width_bits > row_bytes)
    --width_bits;
  const int split = width_bits >= 4 ? (k > 9 ? k - 9 : 0) : k > 10 ? k - 10 : 0;
  const int threads = 1 << (k - split + width_bits - 5);
  // As many blocks as 80 registers a thread allow, or as 128 do where rows are short.
  const int min_blocks = (width_bits < 4 ? 512 : k == 7 ? 640 : 768) / threads;
  return {width_bits, split, min_blocks > 10 ? 10 : min_blocks};
}

}  // namespace papillon::cuda::sm_90
