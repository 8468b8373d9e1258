// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/scalar.hpp"

/// The tiles of square factors of one size, measured on an H200 (driver 580.159.04, November 2026): for each
/// kernel its family, the size of the factors, how many a pass applies, lanes and groups of a tile (one of
/// them is 1), threads of a block, blocks a multiprocessor that registers must allow, tiles that a block
/// holds at a time (two: it loads one while it works on the other), and
///   small   factors that are applied at a time in registers
///   powers  rows and vectors that a thread multiplies at a time
///   units   (matrix units) nothing.
/// Passes with one lane take rows, those with more the slower factors of longer products. A line changed here
/// is all it takes to change a schedule.
#define PAPILLON_KRONECKER_OF_4_BYTES(X)    \
  X(small, 2, 5, 1, 64, 64, 16, 1, 5, 0)    \
  X(small, 2, 6, 1, 32, 64, 16, 1, 5, 0)    \
  X(small, 2, 7, 1, 16, 64, 16, 1, 5, 0)    \
  X(small, 2, 8, 1, 8, 64, 16, 1, 5, 0)     \
  X(small, 2, 9, 1, 4, 64, 16, 1, 5, 0)     \
  X(small, 2, 10, 1, 2, 64, 16, 1, 5, 0)    \
  X(small, 2, 5, 32, 1, 32, 16, 1, 5, 0)    \
  X(small, 4, 3, 1, 64, 64, 8, 1, 3, 0)     \
  X(small, 4, 4, 1, 16, 64, 8, 1, 3, 0)     \
  X(small, 4, 5, 1, 4, 64, 8, 1, 3, 0)      \
  X(small, 4, 6, 1, 1, 64, 8, 1, 3, 0)      \
  X(small, 4, 3, 64, 1, 64, 8, 1, 3, 0)     \
  X(small, 8, 2, 1, 128, 128, 3, 1, 2, 0)   \
  X(small, 8, 3, 1, 16, 128, 3, 1, 2, 0)    \
  X(small, 8, 4, 1, 2, 128, 3, 1, 2, 0)     \
  X(small, 8, 5, 1, 1, 256, 1, 1, 2, 0)     \
  X(small, 8, 2, 64, 1, 64, 6, 1, 2, 0)     \
  X(powers, 16, 1, 1, 512, 128, 4, 1, 8, 8) \
  X(powers, 16, 2, 1, 32, 128, 4, 1, 8, 8)  \
  X(powers, 16, 1, 256, 1, 64, 8, 1, 16, 4) \
  X(powers, 16, 2, 32, 1, 128, 4, 1, 16, 4) \
  X(powers, 32, 1, 1, 256, 128, 4, 1, 8, 8) \
  X(powers, 32, 2, 1, 8, 128, 4, 1, 8, 8)   \
  X(powers, 32, 3, 1, 1, 256, 1, 1, 8, 8)   \
  X(powers, 32, 1, 256, 1, 128, 3, 2, 8, 8) \
  X(powers, 64, 1, 1, 128, 128, 3, 1, 8, 8) \
  X(powers, 64, 2, 1, 2, 128, 3, 1, 8, 8)   \
  X(powers, 64, 1, 64, 1, 64, 4, 2, 8, 8)   \
  X(powers, 128, 1, 1, 64, 128, 2, 1, 8, 8) \
  X(powers, 128, 1, 64, 1, 128, 2, 1, 8, 8)

#define PAPILLON_KRONECKER_OF_8_BYTES(X)   \
  X(small, 2, 5, 1, 32, 64, 8, 1, 5, 0)    \
  X(small, 2, 6, 1, 32, 64, 8, 1, 5, 0)    \
  X(small, 2, 7, 1, 16, 64, 8, 1, 5, 0)    \
  X(small, 2, 8, 1, 16, 128, 4, 1, 5, 0)   \
  X(small, 2, 9, 1, 8, 128, 4, 1, 5, 0)    \
  X(small, 2, 10, 1, 4, 128, 4, 1, 5, 0)   \
  X(small, 2, 5, 32, 1, 32, 8, 1, 5, 0)    \
  X(small, 4, 3, 1, 64, 128, 6, 1, 2, 0)   \
  X(small, 4, 4, 1, 16, 128, 6, 1, 2, 0)   \
  X(small, 4, 5, 1, 4, 128, 6, 1, 2, 0)    \
  X(small, 4, 6, 1, 1, 128, 6, 1, 2, 0)    \
  X(small, 4, 3, 64, 1, 128, 6, 1, 2, 0)   \
  X(small, 8, 2, 1, 64, 128, 5, 1, 1, 0)   \
  X(small, 8, 3, 1, 8, 128, 5, 1, 1, 0)    \
  X(small, 8, 4, 1, 1, 128, 5, 1, 1, 0)    \
  X(small, 8, 2, 64, 1, 128, 5, 1, 1, 0)   \
  X(units, 16, 1, 1, 256, 128, 4, 1, 0, 0) \
  X(units, 16, 2, 1, 16, 128, 4, 1, 0, 0)  \
  X(units, 16, 1, 256, 1, 128, 5, 1, 0, 0) \
  X(units, 16, 2, 16, 1, 128, 4, 1, 0, 0)  \
  X(units, 32, 1, 1, 128, 128, 4, 1, 0, 0) \
  X(units, 32, 2, 1, 4, 128, 4, 1, 0, 0)   \
  X(units, 32, 1, 128, 1, 128, 4, 1, 0, 0) \
  X(units, 64, 1, 1, 64, 128, 3, 1, 0, 0)  \
  X(units, 64, 2, 1, 1, 128, 2, 1, 0, 0)   \
  X(units, 64, 1, 64, 1, 128, 3, 1, 0, 0)  \
  X(units, 128, 1, 1, 64, 256, 1, 1, 0, 0) \
  X(units, 128, 1, 64, 1, 256, 1, 1, 0, 0)

#define PAPILLON_KRONECKER_OF_2_BYTES(X)    \
  X(small, 2, 5, 1, 64, 64, 16, 1, 5, 0)    \
  X(small, 2, 6, 1, 64, 128, 8, 1, 5, 0)    \
  X(small, 2, 7, 1, 32, 128, 8, 1, 5, 0)    \
  X(small, 2, 8, 1, 16, 128, 8, 1, 5, 0)    \
  X(small, 2, 9, 1, 8, 128, 8, 1, 5, 0)     \
  X(small, 2, 10, 1, 4, 128, 8, 1, 5, 0)    \
  X(small, 2, 5, 32, 1, 32, 16, 1, 5, 0)    \
  X(small, 4, 3, 1, 64, 64, 8, 1, 3, 0)     \
  X(small, 4, 4, 1, 16, 64, 8, 1, 3, 0)     \
  X(small, 4, 5, 1, 4, 64, 8, 1, 3, 0)      \
  X(small, 4, 6, 1, 1, 64, 8, 1, 3, 0)      \
  X(small, 4, 3, 64, 1, 64, 8, 1, 3, 0)     \
  X(small, 8, 2, 1, 128, 128, 3, 1, 2, 0)   \
  X(small, 8, 3, 1, 16, 128, 3, 1, 2, 0)    \
  X(small, 8, 4, 1, 2, 128, 3, 1, 2, 0)     \
  X(small, 8, 5, 1, 1, 256, 1, 1, 2, 0)     \
  X(small, 8, 2, 64, 1, 64, 6, 1, 2, 0)     \
  X(units, 16, 1, 1, 512, 128, 8, 1, 0, 0)  \
  X(units, 16, 2, 1, 64, 128, 4, 1, 0, 0)   \
  X(units, 16, 1, 256, 1, 128, 8, 1, 0, 0)  \
  X(units, 16, 2, 64, 1, 128, 5, 1, 0, 0)   \
  X(units, 32, 1, 1, 256, 128, 8, 1, 0, 0)  \
  X(units, 32, 2, 1, 16, 128, 4, 1, 0, 0)   \
  X(units, 32, 1, 256, 1, 128, 7, 1, 0, 0)  \
  X(units, 64, 1, 1, 128, 128, 6, 1, 0, 0)  \
  X(units, 64, 2, 1, 4, 128, 4, 1, 0, 0)    \
  X(units, 64, 1, 128, 1, 128, 6, 1, 0, 0)  \
  X(units, 128, 1, 1, 128, 128, 3, 1, 0, 0) \
  X(units, 128, 2, 1, 1, 256, 2, 1, 0, 0)   \
  X(units, 128, 1, 128, 1, 128, 3, 1, 0, 0)

namespace papillon::cuda {

/// What the lines above are, for the choice of passes.
struct PowerLine {
  const char* family;
  int size;
  int count;
  int lanes;
  int groups;
  int threads;
};
#define PAPILLON_LINE(family, size, count, lanes, groups, threads, blocks, stages, a, b) \
  {#family, size, count, lanes, groups, threads},
inline constexpr PowerLine lines_of_2_bytes[] = {PAPILLON_KRONECKER_OF_2_BYTES(PAPILLON_LINE)};
inline constexpr PowerLine lines_of_4_bytes[] = {PAPILLON_KRONECKER_OF_4_BYTES(PAPILLON_LINE)};
inline constexpr PowerLine lines_of_8_bytes[] = {PAPILLON_KRONECKER_OF_8_BYTES(PAPILLON_LINE)};
#undef PAPILLON_LINE

}  // namespace papillon::cuda
