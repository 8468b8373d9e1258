// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/block_codes.hpp"
#include "papillon/core/row_chunks.hpp"

namespace papillon::detail {

// The plain statement of `quantize` and `dequantize`, as functions of an index that any backend calls for all
// indices below `count()`, in any order. Every other implementation must equal it bit for bit. `Atomics` has
// static max(std::uint32_t*, std::uint32_t) and add(std::uint64_t*, std::uint64_t).

/// Element number `index` of a chunk.
struct ChunkElement {
  std::int64_t row;
  std::int64_t column;
  PAPILLON_FUNCTION ChunkElement(const RowChunk& chunk, std::int64_t index)
      : row(chunk.first_row + index / chunk.columns), column(chunk.first_column + index % chunk.columns) {}
};

template <class Atomics>
PAPILLON_FUNCTION void raise_amax(std::uint32_t* bits, float amax) {
  if (float_bits(amax) > *static_cast<volatile std::uint32_t*>(bits)) Atomics::max(bits, float_bits(amax));
}

PAPILLON_FUNCTION constexpr float finite_amax(float so_far, float y) {
  return is_finite(y) && magnitude(y) > so_far ? magnitude(y) : so_far;
}

/// Clears what the kernels of a call share.
struct StartQuantize {
  QuantizeState* state;
  QuantizeStatistics* statistics;

  std::int64_t count() const { return 1; }
  PAPILLON_FUNCTION void operator()(std::int64_t) const {
    *state = QuantizeState{};
    if (statistics != nullptr) *statistics = QuantizeStatistics{};
  }
};

/// The scale of the tensor: from its amax, from the caller, or from an earlier call.
struct SetGlobalScale {
  QuantizeState* state;
  QuantizeStatistics* statistics;
  float* global_scale;
  GlobalScaleSource source;
  ScaleRule rule;
  float given;

  std::int64_t count() const { return global_scale != nullptr ? 1 : 0; }
  PAPILLON_FUNCTION void operator()(std::int64_t) const {
    if (source == GlobalScaleSource::computed) {
      state->global = GlobalScale::from_amax(__builtin_bit_cast(float, state->amax_bits), rule);
    } else {
      const float scale = source == GlobalScaleSource::given ? given : *global_scale;
      state->global = GlobalScale::of(scale);
      if (statistics != nullptr && !is_usable_scale(scale)) statistics->bad_global_scale = 1;
    }
    if (source != GlobalScaleSource::kept) *global_scale = state->global.decode;
  }
};

struct StoreAmax {
  const QuantizeState* state;
  float* amax;

  std::int64_t count() const { return amax != nullptr ? 1 : 0; }
  PAPILLON_FUNCTION void operator()(std::int64_t) const {
    *amax = __builtin_bit_cast(float, state->amax_bits);
  }
};

/// Copies the elements of a chunk to a dense matrix of C, which is wider or the same.
template <class S, class C>
struct CopyChunk {
  RowChunk chunk;
  RowIndex rows;
  const S* x;
  C* values;

  std::int64_t count() const { return chunk.rows * chunk.columns; }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const ChunkElement at(chunk, i);
    values[i] = static_cast<C>(x[rows.offset(at.row) + at.column * rows.element_stride]);
  }
};

/// The tensor's amax, from the segments of a chunk's rows.
template <class Source, class Atomics>
struct FindAmax {
  static constexpr std::int64_t segment = 256;
  RowChunk chunk;
  Source source;
  QuantizeState* state;

  PAPILLON_FUNCTION std::int64_t segments() const { return (chunk.columns + segment - 1) / segment; }
  std::int64_t count() const { return chunk.rows * segments(); }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t first = i % segments() * segment;
    float amax = 0.0f;
    for (std::int64_t c = first; c < first + segment && c < chunk.columns; ++c)
      amax = finite_amax(amax, source(chunk.first_row + i / segments(), chunk.first_column + c));
    raise_amax<Atomics>(&state->amax_bits, amax);
  }
};

/// The blocks of a chunk, counted over the row groups.
struct ChunkBlocks {
  RowChunk chunk;
  QuantizedRows q;

  PAPILLON_FUNCTION std::int64_t columns() const {
    return (chunk.columns + q.layout.block - 1) / q.layout.block;
  }
  PAPILLON_FUNCTION std::int64_t count() const { return chunk.groups * columns(); }
  PAPILLON_FUNCTION std::int64_t group(std::int64_t i) const { return chunk.first_group + i / columns(); }
  PAPILLON_FUNCTION std::int64_t block(std::int64_t i) const {
    return chunk.first_column / q.layout.block + i % columns();
  }
  PAPILLON_FUNCTION std::int64_t first_column(std::int64_t i) const { return block(i) * q.layout.block; }
  PAPILLON_FUNCTION std::int64_t last_column(std::int64_t i) const {
    const std::int64_t last = first_column(i) + q.layout.block;
    return last < q.layout.columns ? last : q.layout.columns;
  }
};

/// Stores the scale of a block for each row that shares it.
template <class Atomics>
PAPILLON_FUNCTION void store_scales(const BlockCodes& codes, const ChunkBlocks& blocks, std::int64_t i,
                                    float amax, const QuantizeState& state, QuantizeStatistics* statistics) {
  const BlockScale scale = codes.q.scaling.of(amax, state.global);
  const std::int64_t group = blocks.group(i);
  for (std::int64_t r = 0; r < codes.q.row_count(group); ++r)
    codes.store_scale(codes.q.first_row(group) + r, blocks.block(i), scale);
  if (statistics != nullptr && amax > 0.0f && scale.zero)
    Atomics::add(&statistics->zero_scale_blocks, std::uint64_t{1});
}

/// The scales of a chunk's blocks, a block at a time.
template <class Source, class Atomics>
struct MakeScales {
  ChunkBlocks blocks;
  BlockCodes codes;
  Source source;
  const QuantizeState* state;
  QuantizeStatistics* statistics;

  std::int64_t count() const { return blocks.count(); }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t group = blocks.group(i);
    const std::int64_t row = codes.q.first_row(group);
    float amax = 0.0f;
    for (std::int64_t r = row; r < row + codes.q.row_count(group); ++r)
      for (std::int64_t c = blocks.first_column(i); c < blocks.last_column(i); ++c)
        amax = codes.q.scaling.amax(amax, source(r, c));
    store_scales<Atomics>(codes, blocks, i, amax, *state, statistics);
  }
};

/// Blocks of more elements than this get their amax from several indices; only formats with float scales have
/// such blocks, and their scales have room for it.
inline constexpr std::int64_t longest_single_block = 2048;

/// Clears the scales of the first row of each group of a chunk.
struct ClearScales {
  ChunkBlocks blocks;
  float* scales;

  std::int64_t count() const { return blocks.count(); }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    scales[blocks.q.layout.scale_index(blocks.q.first_row(blocks.group(i)), blocks.block(i))] = 0.0f;
  }
};

/// The amax of long blocks, from segments of their rows, where the scale of the group's first row will be.
template <class Source, class Atomics>
struct FindBlockAmax {
  static constexpr std::int64_t segment = 512;
  ChunkBlocks blocks;
  Source source;
  float* scales;

  PAPILLON_FUNCTION std::int64_t segments() const { return (blocks.q.layout.block + segment - 1) / segment; }
  PAPILLON_FUNCTION std::int64_t parts() const { return segments() * blocks.q.group_rows(); }
  std::int64_t count() const { return blocks.count() * parts(); }
  PAPILLON_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t i = index / parts();
    const std::int64_t group = blocks.group(i);
    const std::int64_t r = index % parts() / segments();
    if (r >= blocks.q.row_count(group)) return;
    const std::int64_t row = blocks.q.first_row(group);
    const std::int64_t first = blocks.first_column(i) + index % segments() * segment;
    const std::int64_t end = blocks.last_column(i);
    float amax = 0.0f;
    for (std::int64_t c = first; c < first + segment && c < end; ++c)
      amax = blocks.q.scaling.amax(amax, source(row + r, c));
    const std::int64_t slot = blocks.q.layout.scale_index(row, blocks.block(i));
    raise_amax<Atomics>(reinterpret_cast<std::uint32_t*>(scales) + slot, amax);
  }
};

/// Replaces the amax of long blocks by their scales.
template <class Atomics>
struct MakeLongScales {
  ChunkBlocks blocks;
  BlockCodes codes;
  const QuantizeState* state;
  QuantizeStatistics* statistics;

  std::int64_t count() const { return blocks.count(); }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = codes.q.first_row(blocks.group(i));
    const float amax =
        reinterpret_cast<const float*>(codes.scales)[codes.q.layout.scale_index(row, blocks.block(i))];
    store_scales<Atomics>(codes, blocks, i, amax, *state, statistics);
  }
};

/// The codes of a chunk's runs of 16 elements, with those of the padding behind the last column.
template <class Source, class Atomics>
struct MakeCodes {
  RowChunk chunk;
  BlockCodes codes;
  Source source;
  QuantizeState* state;
  QuantizeStatistics* statistics;
  bool finds_amax;

  PAPILLON_FUNCTION std::int64_t first_run() const { return chunk.first_column / run_length; }
  PAPILLON_FUNCTION std::int64_t runs() const {
    const std::int64_t end = chunk.first_column + chunk.columns;
    return (end == codes.q.layout.columns ? codes.runs() : end / run_length) - first_run();
  }
  std::int64_t count() const { return chunk.rows * runs(); }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    QuantizeStatistics counts;
    float amax = 0.0f;
    const auto read = [&](std::int64_t row, std::int64_t column) {
      const float y = source(row, column);
      amax = finite_amax(amax, y);
      return y;
    };
    codes.encode_run(chunk.first_row + i / runs(), first_run() + i % runs(), state->global, read, counts);
    if (finds_amax) raise_amax<Atomics>(&state->amax_bits, amax);
    if (statistics == nullptr) return;
    if (counts.nan > 0) Atomics::add(&statistics->nan, counts.nan);
    if (counts.infinite > 0) Atomics::add(&statistics->infinite, counts.infinite);
    if (counts.saturated > 0) Atomics::add(&statistics->saturated, counts.saturated);
  }
};

/// Zeros the padding of swizzled scales.
struct ClearScalePadding {
  QuantizedLayout layout;
  std::uint8_t* scales;

  std::int64_t count() const {
    return layout.scale_layout == ScaleLayout::swizzled ? layout.scale_rows * layout.scale_columns : 0;
  }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t row = i / layout.scale_columns;
    const std::int64_t block = i % layout.scale_columns;
    if (row >= layout.rows || block >= layout.blocks) scales[layout.scale_index(row, block)] = 0;
  }
};

/// Decodes the elements of a chunk into a dense float matrix, or into the array itself.
template <class T>
struct DecodeChunk {
  RowChunk chunk;
  BlockValues values;
  const float* global_scale;
  RowIndex rows;  ///< of the target
  T* target;      ///< element (first_row, first_column)
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;

  std::int64_t count() const { return chunk.rows * chunk.columns; }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const ChunkElement at(chunk, i);
    const float global = global_scale != nullptr ? *global_scale : 1.0f;
    target[rows.offset(at.row - first_row) + (at.column - first_column) * rows.element_stride] =
        static_cast<T>(values(at.row, at.column, global));
  }
};

/// Copies a dense matrix to the elements of a chunk, rounding once.
template <class S>
struct StoreChunk {
  RowChunk chunk;
  RowIndex rows;
  const float* values;
  S* y;

  std::int64_t count() const { return chunk.rows * chunk.columns; }
  PAPILLON_FUNCTION void operator()(std::int64_t i) const {
    const ChunkElement at(chunk, i);
    y[rows.offset(at.row) + at.column * rows.element_stride] = static_cast<S>(values[i]);
  }
};

/// A dense matrix that holds a chunk.
inline RowIndex dense_rows(const RowChunk& chunk) {
  RowIndex rows;
  rows.outer_rank = 1;
  rows.extents[0] = chunk.rows;
  rows.strides[0] = chunk.columns;
  return rows;
}

}  // namespace papillon::detail
