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

/// Elements of shorter rows that are worked on between two changes of the pass: 8 KiB of C.
template <class C>
inline constexpr int log2_together = sizeof(C) == 4 ? 11 : 10;

/// How far ahead of short rows memory is fetched, in bytes of consecutive rows: what it takes to hide the
/// latency of DRAM (about 100 ns) at the rate of one core.
inline constexpr std::int64_t prefetch_distance = 4096;

/// The bits of the lane index whose stages are made: all, known at compile time, or first <= bit < last.
struct AllBits {
  static constexpr bool contains(int) { return true; }
};
struct BitRange {
  int first, last;
  bool contains(int bit) const { return first <= bit && bit < last; }
};

/// Registers from contiguous elements, with their lane stages made.
template <class In, class C, class Bits>
struct LoadLanes {
  const In* x;
  const LaneStages<C>& lane_stages;
  Bits bits;
  template <int First, int Count, int R>
  HWY_INLINE void fill(Vector<C> (&v)[R]) const {
    PAPILLON_UNROLL
    for (int j = First; j < First + Count; ++j) v[j] = load(x + j * lanes<C>);
    lane_stages.template apply<First, Count>(v, bits);
  }
};

/// The stages of R registers of contiguous elements: of the given lane bits, and all between the registers.
template <int R, class In, class Out, class C, class Bits>
HWY_INLINE void register_block(const In* x, Out* y, Bits bits, const LaneStages<C>& lane_stages,
                               Scale<C> scale) {
  constexpr int group = R < 8 ? R : 8;
  Vector<C> v[R];
  // The lane stages are fused multiply-adds, so the stages between registers are left to the adders.
  fill_and_combine<0, R, group, false, C>(v, LoadLanes<In, C, Bits>{x, lane_stages, bits}, v[0]);
  apply_scale(v, scale);
  PAPILLON_UNROLL
  for (int j = 0; j < R; ++j) store(v[j], y + j * lanes<C>);
}

/// Rows of R whole registers each.
template <int R, class In, class Out, class C, class Bits>
HWY_NOINLINE void rows_in_registers(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                    std::int64_t rows, Bits bits, Scale<C> scale) {
  constexpr std::int64_t row_bytes = R * lanes<C> * static_cast<std::int64_t>(sizeof(In));
  const std::int64_t ahead = x_stride * (prefetch_distance / row_bytes);
  const LaneStages<C> lane_stages;
  for (std::int64_t r = 0; r < rows; ++r) {
    const char* next = reinterpret_cast<const char*>(x + ahead);
    PAPILLON_UNROLL
    for (std::int64_t b = 0; b < row_bytes; b += cache_line_bytes) __builtin_prefetch(next + b);
    register_block<R>(x, y, bits, lane_stages, scale);
    x += x_stride;
    y += y_stride;
  }
}

/// Rows shorter than a register: each in a part of one.
template <class In, class Out, class C>
HWY_NOINLINE void rows_in_lanes(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                std::int64_t rows, std::size_t count, BitRange bits, Scale<C> scale) {
  const LaneStages<C> lane_stages;
  for (std::int64_t r = 0; r < rows; ++r) {
    Vector<C> v[1] = {load(x + r * x_stride, count)};
    lane_stages.template apply<0, 1>(v, bits);
    apply_scale(v, scale);
    store(v[0], y + r * y_stride, count);
  }
}

/// Contiguous rows shorter than a register: several in each.
template <class In, class Out, class C>
void packed_rows(const In* x, Out* y, std::int64_t count, BitRange bits, Scale<C> scale) {
  constexpr std::int64_t l = lanes<C>;
  const std::int64_t whole = count / l;
  rows_in_registers<1>(x, l, y, l, whole, bits, scale);
  const std::int64_t rest = count - whole * l;
  x += whole * l;
  y += whole * l;
  if (rest > 0) rows_in_lanes(x, rest, y, rest, 1, static_cast<std::size_t>(rest), bits, scale);
}

/// Rows of 1 << (log2_lanes + log2_registers) elements, at most one register block.
template <class In, class Out, class C, class Bits>
void block_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows,
                int log2_registers, Bits bits, Scale<C> scale) {
  switch (log2_registers) {
    case 0:
      return rows_in_registers<1>(x, x_stride, y, y_stride, rows, bits, scale);
    case 1:
      return rows_in_registers<2>(x, x_stride, y, y_stride, rows, bits, scale);
    case 2:
      return rows_in_registers<4>(x, x_stride, y, y_stride, rows, bits, scale);
    case 3:
      return rows_in_registers<8>(x, x_stride, y, y_stride, rows, bits, scale);
    default:
      if constexpr (block_registers == 16) {
        return rows_in_registers<16>(x, x_stride, y, y_stride, rows, bits, scale);
      }
  }
}

/// Rows of at most one register block.
template <class In, class Out, class C>
void short_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows,
                int log2_n, int first, Scale<C> scale) {
  const std::int64_t n = std::int64_t{1} << log2_n;
  const int log2_registers = log2_n - log2_lanes<C>;
  if (log2_registers >= 0 && first == 0) {
    block_rows(x, x_stride, y, y_stride, rows, log2_registers, AllBits{}, scale);
  } else if (log2_registers >= 0) {
    block_rows(x, x_stride, y, y_stride, rows, log2_registers, BitRange{first, log2_n}, scale);
  } else if (x_stride == n && y_stride == n) {
    packed_rows(x, y, rows * n, BitRange{first, log2_n}, scale);
  } else {
    rows_in_lanes(x, x_stride, y, y_stride, rows, static_cast<std::size_t>(n), BitRange{first, log2_n},
                  scale);
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
template <class In, class C, class Bits>
HWY_NOINLINE void first_pass(const In* x, C* t, std::int64_t blocks, Bits bits, RowPrefetch& prefetch) {
  constexpr std::int64_t size = std::int64_t{1} << log2_block<C>;
  const LaneStages<C> lane_stages;
  Prefetcher prefetcher = prefetch.take(block_registers, blocks);
  for (std::int64_t i = 0; i < blocks; ++i) {
    prefetcher.step();
    register_block<block_registers>(x + i * size, t + i * size, bits, lane_stages, Scale<C>::none());
  }
}

/// All stages within each of `count` blocks of 2^log2_n elements of x, into t, block by block, depth first,
/// and without the scale.
template <class In, class C, class Bits>
void inner_blocks(const In* x, C* t, std::int64_t count, int log2_n, Bits lane_bits, RowPrefetch& prefetch) {
  if (log2_n == log2_block<C>) return first_pass(x, t, count, lane_bits, prefetch);
  const int bits = last_pass_bits<C>(log2_n);
  const std::int64_t distance = std::int64_t{1} << (log2_n - bits);
  for (std::int64_t i = 0; i < count; ++i) {
    inner_blocks(x, t, std::int64_t{1} << bits, log2_n - bits, lane_bits, prefetch);
    radix_pass(bits, t, distance, t, distance, distance, Scale<C>::none(),
               prefetch.take(1 << bits, distance / lanes<C>));
    x += std::int64_t{1} << log2_n;
    t += std::int64_t{1} << log2_n;
  }
}

/// Rows that fit the second-level cache, longer than a register block.
template <class In, class Out, class C, class Bits>
void long_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows,
               int log2_n, Bits lane_bits, Scale<C> scale, C* scratch) {
  const int bits = last_pass_bits<C>(log2_n);
  const std::int64_t n = std::int64_t{1} << log2_n;
  const std::int64_t distance = n >> bits;
  // Contiguous rows of a few register blocks are taken together, as many as are worth the calls.
  const bool contiguous = x_stride == n && y_stride == n;
  const std::int64_t together =
      contiguous ? std::max<std::int64_t>(1, (std::int64_t{1} << log2_together<C>) / n) : 1;
  RowPrefetch prefetch(block_registers, static_cast<std::int64_t>(sizeof(In)) << log2_block<C>,
                       passes<C>(log2_n));
  for (std::int64_t r = 0; r < rows; r += together) {
    const std::int64_t count = std::min(together, rows - r);
    const In* from = x + r * x_stride;
    Out* to = y + r * y_stride;
    C* t;
    if constexpr (Types<In, Out>::out_is_c) {
      t = to;
    } else {
      t = scratch;
    }
    prefetch.start(from + together * x_stride);
    inner_blocks(from, t, count << bits, log2_n - bits, lane_bits, prefetch);
    for (std::int64_t i = 0; i < count; ++i) {
      radix_pass(bits, t + i * n, distance, to + i * n, distance, distance, scale,
                 prefetch.take(1 << bits, distance / lanes<C>));
    }
  }
}

/// Longest row that the recursion above takes, 512 KiB: half of the L2 cache, so that the next can be
/// fetched.
template <class C>
inline constexpr int log2_longest_row = sizeof(C) == 4 ? 17 : 16;

/// Any row longer than a register block. The longest are made of shorter ones, then transformed across those:
/// three more bits are one pass over memory, six are two over chunks that stay in the L2 cache.
template <class In, class Out, class C, class Bits>
void rows_in_passes(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows,
                    int log2_n, Bits lane_bits, Scale<C> scale, C* scratch) {
  if (log2_n <= log2_longest_row<C>) {
    return long_rows(x, x_stride, y, y_stride, rows, log2_n, lane_bits, scale, scratch);
  }
  const int bits = log2_n - log2_longest_row<C> <= 5 ? 3 : 6;
  const std::int64_t part = std::int64_t{1} << (log2_n - bits);
  for (std::int64_t r = 0; r < rows; ++r) {
    const In* from = x + r * x_stride;
    Out* to = y + r * y_stride;
    C* t;
    if constexpr (Types<In, Out>::out_is_c) {
      t = to;
    } else {
      t = scratch;
    }
    rows_in_passes(from, part, t, part, std::int64_t{1} << bits, log2_n - bits, lane_bits, Scale<C>::none(),
                   t);
    transform_columns(t, part, to, part, part, bits, scale, scratch + (std::int64_t{1} << log2_n));
  }
}

/// Whether the stages of a row only move whole vectors, so that the row is a matrix of columns.
template <class C>
bool rows_are_columns(int log2_n, int first_bit) {
  return first_bit >= log2_lanes<C> || first_bit >= log2_n;
}

template <class T>
void hadamard_rows(const typename T::In* x, std::int64_t x_stride, typename T::Out* y, std::int64_t y_stride,
                   std::int64_t rows, int log2_n, int first_bit, typename T::C factor,
                   typename T::C* scratch) {
  using C = typename T::C;
  const Scale<C> scale(factor);
  if (rows <= 0) return;
  scratch = align_up(scratch);
  if (rows_are_columns<C>(log2_n, first_bit)) {
    const int inner = std::min(first_bit, log2_n);
    const std::int64_t columns = std::int64_t{1} << inner;
    for (std::int64_t r = 0; r < rows; ++r) {
      transform_columns(x + r * x_stride, columns, y + r * y_stride, columns, columns, log2_n - inner, scale,
                        scratch);
    }
  } else if (log2_n <= log2_block<C>) {
    short_rows(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale);
  } else if (first_bit == 0) {
    rows_in_passes(x, x_stride, y, y_stride, rows, log2_n, AllBits{}, scale, scratch);
  } else {
    rows_in_passes(x, x_stride, y, y_stride, rows, log2_n, BitRange{first_bit, log2_n}, scale, scratch);
  }
}

template <class T>
std::size_t hadamard_rows_scratch_elements(int log2_n, int first_bit) {
  using C = typename T::C;
  if (rows_are_columns<C>(log2_n, first_bit)) {
    return with_alignment<C>(columns_scratch<T>(std::max(log2_n - first_bit, 0)));
  }
  if (T::out_is_c || log2_n <= log2_block<C>) return 0;
  // A row, or the short rows that are worked on together; and what the passes across its parts need.
  return with_alignment<C>((std::int64_t{1} << std::max(log2_n, log2_together<C>)) +
                           (log2_n > log2_longest_row<C> ? columns_scratch<T>(6) : 0));
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_ROWS_INL
