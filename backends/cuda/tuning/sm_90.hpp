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
  // Beyond: blocks of 64 KiB of the compute type while eight of them hold a row, then of 128 KiB. A cluster
  // of sixteen blocks pays for 16-bit types only, which move three times the bytes in two passes. Not
  // measured.
  const int longest = bytes == 2 ? 18 : bytes == 4 ? 17 : 17;  // cells
  if (cells > (compute_bytes == 8 ? 15 : 14)) {
    if (cells > longest) return {};
    const int cell_bits = cells <= 16 && compute_bytes == 4 ? 13 : 14;
    const int blocks = 512 >> (cell_bits - 5);
    return {Family::cluster, 0, 1, 1 << (cell_bits - 5), cell_bits, cells - cell_bits, 1, blocks, 1, card};
  }
  const int split = cells == 15 ? 1 : 0;
  RowTuning t{Family::tile, 0, 1, 128, cells < 10 ? 10 : cells - split, split, 1, 1, 1, card};
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

/// Columns of 2^k points stored in `bytes`, for kernels/columns.cuh, k from 1 to 12. Pure. Not measured yet.
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

}  // namespace papillon::cuda::sm_90
