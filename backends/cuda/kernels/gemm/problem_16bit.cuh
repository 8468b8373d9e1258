// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda.h>

#include <cstdint>

namespace papillon::cuda {

/// What gemm_16bit_kernel is given. A cluster of `multicast` · `split` blocks works on one tile at a time:
/// `multicast` blocks have rows below each other and load the columns of B they share for each other; `split`
/// such groups have a part of k each.
struct Gemm16Problem {
  CUtensorMap a;  ///< boxes of A, of B and of a warp's part of C
  CUtensorMap b;
  CUtensorMap c;
  void* c_values = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t c_batch = 0;
  std::uint32_t tiles = 0;  ///< of clusters, in all matrices
  std::uint32_t row_tiles = 0;
  std::uint32_t column_tiles = 0;
  std::uint32_t group = 1;  ///< rows of tiles that are worked on together
  int m = 0;
  int n = 0;
  int k_blocks = 0;
  int a_extent = 0;  ///< rows of A that a block loads, fewer than its tile's if A has fewer
  int b_extent = 0;  ///< columns of B
  int multicast = 1;
  int split = 1;
  int a_batches = 1;  ///< 0: the same matrix each time
  int b_batches = 1;
  bool a_k_fastest = true;
  bool b_k_fastest = false;
  bool whole_words = true;  ///< rows of C end with a word of 16 bytes
  bool plain = true;        ///< alpha = 1, beta = 0
  float alpha = 1.0F;
  float beta = 0.0F;
};

/// A tile of a block: 64 rows a warpgroup, a ring of `Stages` times 64 elements of k of its rows of A and
/// columns of B, and `Buffers` times 16 rows of 128 bytes a warp on their way to C. `Splits`: k may be cut.
template <int Rows, int Columns, int Stages, int Buffers, bool Splits>
struct Gemm16Tile {
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int depth = 64;
  static constexpr int stages = Stages;
  static constexpr int buffers = Buffers;
  static constexpr bool splits = Splits;
  static constexpr int warpgroups = Rows / 64;
  static constexpr int warps = 4 * warpgroups;
  static constexpr int threads = 128 * (warpgroups + 1);  // and the one that loads
  static constexpr int a_bytes = Rows * depth * 2;
  static constexpr int b_bytes = Columns * depth * 2;
  static constexpr int stage_bytes = a_bytes + b_bytes;
  static constexpr int buffer_bytes = 16 * 128;
  static constexpr int out_bytes = warps * buffers * buffer_bytes;
  static constexpr int barriers = 2 * stages + 2;
  static constexpr int alignment = 1024;  // of the swizzle
  static constexpr int shared_bytes = stages * stage_bytes + out_bytes + 8 * barriers + alignment;
};

}  // namespace papillon::cuda
