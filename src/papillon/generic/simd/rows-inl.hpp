// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transforms along the contiguous axis.

#if defined(PAPILLON_SIMD_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_ROWS_INL
#undef PAPILLON_SIMD_ROWS_INL
#else
#define PAPILLON_SIMD_ROWS_INL
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/butterflies-inl.hpp"
#include "papillon/generic/simd/columns-inl.hpp"
#include "papillon/generic/simd/prefetch.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Bits of the largest block that is transformed in registers.
template <class C>
inline constexpr int log2_block = log2_lanes<C> + log2_of(block_registers);

/// Stages first <= b < last of R registers of contiguous elements.
template <int R, class In, class Out, class C>
HWY_INLINE void register_block(const In* x, Out* y, int first, int last, const LaneStages<C>& lane_stages,
                               Scale<C> scale) {
  constexpr int l = lanes<C>;
  Vector<C> v[R];
  PAPILLON_UNROLL
  for (int j = 0; j < R; ++j) v[j] = load(x + j * l);
  lane_stages(v, first, last);
  register_stages<C>(v, last - log2_lanes<C>);
  apply_scale(v, scale);
  PAPILLON_UNROLL
  for (int j = 0; j < R; ++j) store(v[j], y + j * l);
}

/// Every stage of `rows` rows of R whole registers.
template <int R, class In, class Out, class C>
HWY_NOINLINE void rows_in_registers(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                    std::int64_t rows, int first, int last, Scale<C> scale) {
  const LaneStages<C> lane_stages;
  for (std::int64_t r = 0; r < rows; ++r) {
    __builtin_prefetch(x + 4 * x_stride);
    register_block<R>(x, y, first, last, lane_stages, scale);
    x += x_stride;
    y += y_stride;
  }
}

/// As many register blocks as `count` contiguous elements fill; returns how many elements they took.
template <int R, class In, class Out, class C>
HWY_NOINLINE std::int64_t contiguous_blocks(const In* x, Out* y, std::int64_t count, int first, int last,
                                            Scale<C> scale) {
  constexpr std::int64_t size = R * lanes<C>;
  constexpr std::int64_t ahead_bytes = 4096;
  const LaneStages<C> lane_stages;
  std::int64_t i = 0;
  for (; i + size <= count; i += size) {
    for (std::int64_t b = 0; b < size * static_cast<std::int64_t>(sizeof(In)); b += cache_line_bytes) {
      __builtin_prefetch(reinterpret_cast<const char*>(x + i) + ahead_bytes + b);
    }
    register_block<R>(x + i, y + i, first, last, lane_stages, scale);
  }
  return i;
}

/// Rows that are shorter than a vector: each in a part of one.
template <class In, class Out, class C>
HWY_NOINLINE void rows_in_lanes(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                std::int64_t rows, std::size_t count, int first, int last, Scale<C> scale) {
  const LaneStages<C> lane_stages;
  for (std::int64_t r = 0; r < rows; ++r) {
    Vector<C> v[1] = {load(x + r * x_stride, count)};
    lane_stages(v, first, last);
    apply_scale(v, scale);
    store(v[0], y + r * y_stride, count);
  }
}

/// Rows of at most one register block.
template <class In, class Out, class C>
void short_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows, int log2_n,
                int first, Scale<C> scale) {
  const std::int64_t n = std::int64_t{1} << log2_n;
  if (x_stride == n && y_stride == n) {
    std::int64_t done = contiguous_blocks<block_registers>(x, y, rows * n, first, log2_n, scale);
    if (log2_n <= log2_lanes<C>) {
      done += contiguous_blocks<1>(x + done, y + done, rows * n - done, first, log2_n, scale);
      const std::int64_t rest = rows * n - done;
      if (rest > 0) {
        rows_in_lanes(x + done, n, y + done, n, 1, static_cast<std::size_t>(rest), first, log2_n, scale);
      }
      return;
    }
    x += done;
    y += done;
    rows -= done >> log2_n;
  }
  if (log2_n < log2_lanes<C>) {
    rows_in_lanes(x, x_stride, y, y_stride, rows, static_cast<std::size_t>(n), first, log2_n, scale);
    return;
  }
  switch (log2_n - log2_lanes<C>) {
    case 0: return rows_in_registers<1>(x, x_stride, y, y_stride, rows, first, log2_n, scale);
    case 1: return rows_in_registers<2>(x, x_stride, y, y_stride, rows, first, log2_n, scale);
    case 2: return rows_in_registers<4>(x, x_stride, y, y_stride, rows, first, log2_n, scale);
    case 3: return rows_in_registers<8>(x, x_stride, y, y_stride, rows, first, log2_n, scale);
    default:
      if constexpr (block_registers == 16) {
        return rows_in_registers<16>(x, x_stride, y, y_stride, rows, first, log2_n, scale);
      }
  }
}

/// Bits that the last pass over a block of 2^log2_n elements transforms; the passes before it work on the
/// sub-blocks one after the other, so that each is finished while it is in the nearest cache.
template <class C>
constexpr int last_pass_bits(int log2_n) {
  const int rest = log2_n - log2_block<C>;
  constexpr int widest = log2_of(block_registers);
  return rest <= widest ? rest : 3;
}

/// How many passes over memory a row of 2^log2_n elements takes.
template <class C>
constexpr int passes(int log2_n) {
  return log2_n <= log2_block<C> ? 1 : 1 + passes<C>(log2_n - last_pass_bits<C>(log2_n));
}

/// The stages within each of `blocks` register blocks, one after the other.
template <class In, class C>
HWY_NOINLINE void first_pass(const In* x, C* t, int blocks, int first, Prefetcher& prefetcher) {
  constexpr std::int64_t size = std::int64_t{1} << log2_block<C>;
  const LaneStages<C> lane_stages;
  Prefetcher local = prefetcher;  // in registers
  for (int i = 0; i < blocks; ++i) {
    local.step();
    register_block<block_registers>(x + i * size, t + i * size, first, log2_block<C>, lane_stages,
                                    Scale<C>::none());
  }
  prefetcher = local;
}

/// All stages within each of `count` blocks of 2^log2_n elements of x, into t, block by block, depth first, and
/// without the scale.
template <class In, class C>
void inner_blocks(const In* x, C* t, int count, int log2_n, int first, Prefetcher& prefetcher) {
  if (log2_n == log2_block<C>) return first_pass(x, t, count, first, prefetcher);
  const int bits = last_pass_bits<C>(log2_n);
  const std::int64_t distance = std::int64_t{1} << (log2_n - bits);
  for (int i = 0; i < count; ++i) {
    inner_blocks(x, t, 1 << bits, log2_n - bits, first, prefetcher);
    radix_pass(bits, t, distance, t, distance, distance, Scale<C>::none(), prefetcher);
    x += std::int64_t{1} << log2_n;
    t += std::int64_t{1} << log2_n;
  }
}

/// Rows that fit the second-level cache, longer than a register block.
template <class In, class Out, class C>
void long_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows, int log2_n,
               int first, Scale<C> scale, C* scratch) {
  const int bits = last_pass_bits<C>(log2_n);
  const std::int64_t distance = std::int64_t{1} << (log2_n - bits);
  const std::int64_t steps = passes<C>(log2_n) * (std::int64_t{1} << (log2_n - log2_block<C>));
  for (std::int64_t r = 0; r < rows; ++r) {
    const In* from = x + r * x_stride;
    Out* to = y + r * y_stride;
    C* t;
    if constexpr (Types<In, Out>::out_is_c) {
      t = to;
    } else {
      t = scratch;
    }
    Prefetcher prefetcher;
    if (r + 1 < rows) prefetcher = Prefetcher(from + x_stride, static_cast<std::int64_t>(sizeof(In)) << log2_n, steps);
    inner_blocks(from, t, 1 << bits, log2_n - bits, first, prefetcher);
    radix_pass(bits, t, distance, to, distance, distance, scale, prefetcher);
  }
}

/// Longest row that is transformed in one go, and the length of its parts beyond: 512 KiB and 64 KiB.
template <class C>
inline constexpr int log2_longest_row = sizeof(C) == 4 ? 17 : 16;
template <class C>
inline constexpr int log2_part = sizeof(C) == 4 ? 14 : 13;

/// Rows of more than that: parts of it first, then across the parts.
template <class In, class Out, class C>
void longest_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows, int log2_n,
                  int first, Scale<C> scale, C* scratch) {
  const std::int64_t part = std::int64_t{1} << log2_part<C>;
  const int bits = log2_n - log2_part<C>;
  for (std::int64_t r = 0; r < rows; ++r) {
    Out* to = y + r * y_stride;
    C* t;
    C* tile = scratch;
    if constexpr (Types<In, Out>::out_is_c) {
      t = to;
    } else {
      t = scratch;
      tile += std::int64_t{1} << log2_n;
    }
    long_rows(x + r * x_stride, part, t, part, std::int64_t{1} << bits, log2_part<C>, first, Scale<C>::none(), tile);
    columns_in_tiles(t, part, to, part, part, bits, scale, tile);
  }
}

/// Whether the stages of a row only move whole vectors, so that the row is a matrix of columns.
template <class C>
bool rows_are_columns(int log2_n, int first_bit) {
  return first_bit >= log2_lanes<C> || first_bit >= log2_n;
}

template <class T>
void hadamard_rows(const typename T::In* x, std::int64_t x_stride, typename T::Out* y, std::int64_t y_stride,
                   std::int64_t rows, int log2_n, int first_bit, typename T::C factor, typename T::C* scratch) {
  using C = typename T::C;
  const Scale<C> scale(factor);
  if (rows <= 0) return;
  scratch = align_up(scratch);
  if (rows_are_columns<C>(log2_n, first_bit)) {
    const int inner = std::min(first_bit, log2_n);
    const std::int64_t columns = std::int64_t{1} << inner;
    for (std::int64_t r = 0; r < rows; ++r) {
      columns_in_tiles(x + r * x_stride, columns, y + r * y_stride, columns, columns, log2_n - inner, scale, scratch);
    }
  } else if (log2_n <= log2_block<C>) {
    short_rows(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale);
  } else if (log2_n <= log2_longest_row<C>) {
    long_rows(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale, scratch);
  } else {
    longest_rows(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale, scratch);
  }
}

template <class T>
std::size_t hadamard_rows_scratch_elements(int log2_n, int first_bit) {
  using C = typename T::C;
  if (rows_are_columns<C>(log2_n, first_bit)) {
    return first_bit < log2_n ? with_alignment<C>(columns_tile_elements<C>(log2_n - first_bit)) : 0;
  }
  const std::int64_t row = !T::out_is_c && log2_n > log2_block<C> ? std::int64_t{1} << log2_n : 0;
  const bool parts = log2_n > log2_longest_row<C>;
  return with_alignment<C>(row + (parts ? columns_tile_elements<C>(log2_n - log2_part<C>) : 0));
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_ROWS_INL
