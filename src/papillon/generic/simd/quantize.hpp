// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/block_scale.hpp"
#include "papillon/core/philox.hpp"

/// Single-thread vector kernels of the quantiser on the CPU, compiled once for several instruction sets and
/// chosen at run time. Nothing is allocated, thrown or checked. They work on a piece: contiguous floats of a
/// row that start at a block and have `code_step`-padded room, zeros behind the last, so that whole vectors
/// and blocks may be read and written. Every number is the one of core/block_scale.hpp and
/// core/small_float.hpp, bit for bit.
namespace papillon::simd {

/// `count` of the functions below is a multiple of it, as blocks are of 16.
inline constexpr std::int64_t code_step = 64;

/// Room for the scales of a piece, in blocks: behind the last are some that the kernels may write.
constexpr std::int64_t scale_room(std::int64_t blocks) { return (blocks + 15) / 16 * 16; }

/// The scales of the blocks of a piece.
struct PieceScales {
  float* stored;        ///< first the amax of blocks; then, of float scales, what is stored
  float* factors;       ///< what elements are divided by (NVFP4's `divide`, float scales) or multiplied with
                        ///< (others); negative: all codes are 0
  std::uint8_t* codes;  ///< one-byte scales: what is stored
};

/// What the elements of a piece are.
struct PieceCounts {
  std::uint64_t nan = 0;
  std::uint64_t infinite = 0;
  std::uint64_t saturated = 0;
};

/// The largest magnitude of finite values; 0 if there are none.
float finite_amax(const float* values, std::int64_t count);

/// amax[b] = max(amax[b], |v|) over the values of block b that count for its scale.
void raise_block_amax(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                      std::int64_t block, float* amax);

/// Makes the scales of blocks whose amax is in `stored`, as is 0 in the room behind them. Returns how many
/// are zero though their amax is not.
std::uint64_t make_scales(const detail::BlockScaling& scaling, const detail::GlobalScale& global,
                          std::int64_t blocks, const PieceScales& scales);

/// The codes of a piece, packed as in the payload. `random` has a byte for each element, or is null for
/// rounding to nearest.
void make_codes(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                std::int64_t block, const float* factors, const std::uint8_t* random, std::uint8_t* codes);

/// Counts what `make_codes` meets.
PieceCounts count_special(const detail::BlockScaling& scaling, const float* values, std::int64_t count,
                          std::int64_t block, const float* factors);

/// The random bytes of the elements of `runs` runs of 16; `bytes` has room for a multiple of 16 runs.
void random_bytes(const detail::RoundingBits& random, std::int64_t first_run, std::int64_t runs,
                  std::uint8_t* bytes);

/// values = code · factor, a factor for each block.
void decode_codes(detail::ElementFormat format, const std::uint8_t* codes, std::int64_t count,
                  std::int64_t block, const float* factors, float* values);

}  // namespace papillon::simd
