// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/values.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda {

/// Where value number `index` of a tile stands in shared memory.
__device__ __forceinline__ int place_in_tile(const KroneckerTile& tile, int index, int word) {
  if (tile.pad_every == 0) return index;
  return index + static_cast<int>(quotient(static_cast<std::uint32_t>(index), tile.pad_divisor)) * word;
}

struct LineOffsets {
  std::int64_t source;
  std::int64_t target;
  std::int64_t batch;
};

/// The offsets, in elements, of the first point of a line.
__device__ __forceinline__ LineOffsets locate_line(const KroneckerTile& tile, std::int64_t line) {
  std::int64_t column, outer, inner;
  if (tile.columns_fastest) {
    column = line % tile.column_count;
    line /= tile.column_count;
    inner = line % tile.inner;
    outer = line / tile.inner;
  } else {
    inner = line % tile.inner;
    line /= tile.inner;
    outer = line % tile.outer;
    column = line / tile.outer;
  }
  const Offset start = tile.fold.outer_offset(tile.first_column + column);
  const auto offset = [&](const TileEnd& end, std::int64_t array) {
    const std::int64_t first = end.buffer_points > 0 ? column * end.buffer_points : array;
    return first + (outer * end.points * tile.inner + inner) * end.axis_stride;
  };
  return {offset(tile.source, start.x), offset(tile.target, start.y), start.position};
}

/// Visits the values of the tile's lines in chunks of `Step`, neighbours in memory by neighbouring threads:
/// visit(index in the tile, offset in the array).
template <int Step, class Visit>
__device__ __forceinline__ void for_each_chunk(const KroneckerTile& tile, const TileEnd& end,
                                               const std::int64_t* offsets, int lines, const Visit& visit) {
  const std::int64_t stride = end.axis_stride * tile.inner;
  if (tile.lanes == 1) {
    const int chunks = static_cast<int>(end.points) / Step;
    const int count = lines * chunks;
    for (int index = static_cast<int>(threadIdx.x); index < count; index += static_cast<int>(blockDim.x)) {
      const int line = static_cast<int>(quotient(static_cast<std::uint32_t>(index), end.chunk_divisor));
      const int point = (index - line * chunks) * Step;
      visit(index * Step, offsets[line] + point * stride);
    }
    return;
  }
  const int points = static_cast<int>(end.points);
  if (Step == 1 && end.points_first) {
    for (int index = static_cast<int>(threadIdx.x); index < lines * points;
         index += static_cast<int>(blockDim.x)) {
      const int line = static_cast<int>(quotient(static_cast<std::uint32_t>(index), end.chunk_divisor));
      const int point = index - line * points;
      visit(point * tile.lanes + line, offsets[line] + point * stride);
    }
    return;
  }
  const int chunks = tile.lanes / Step;
  for (int index = static_cast<int>(threadIdx.x); index < points * chunks;
       index += static_cast<int>(blockDim.x)) {
    const int point = static_cast<int>(quotient(static_cast<std::uint32_t>(index), end.chunk_divisor));
    const int line = (index - point * chunks) * Step;
    if (line < lines) visit(index * Step, offsets[line] + point * stride);
  }
}

template <class In, class C>
__device__ __forceinline__ void load_tile(const KroneckerTile& tile, const std::int64_t* offsets, int lines,
                                          C* values) {
  const In* source = static_cast<const In*>(tile.source.data);
  constexpr int word = word_values<C>;
  if (tile.source.words) {
    constexpr int step = word_values<In>;
    if constexpr (std::is_same_v<In, C>) {
      for_each_chunk<step>(tile, tile.source, offsets, lines, [&](int index, std::int64_t offset) {
        ptx::async_copy_16(ptx::shared_address(values + place_in_tile(tile, index, word)), source + offset);
      });
      ptx::async_copy_commit();
      ptx::async_copy_wait<0>();
    } else {
      for_each_chunk<step>(tile, tile.source, offsets, lines, [&](int index, std::int64_t offset) {
        C converted[step];
        unpack<In>(*reinterpret_cast<const uint4*>(source + offset), converted);
#pragma unroll
        for (int i = 0; i < step; i += word) {
          Word<C> w;
#pragma unroll
          for (int j = 0; j < word; ++j) w.values[j] = converted[i + j];
          *reinterpret_cast<Word<C>*>(values + place_in_tile(tile, index + i, word)) = w;
        }
      });
    }
    return;
  }
  for_each_chunk<1>(tile, tile.source, offsets, lines, [&](int index, std::int64_t offset) {
    values[place_in_tile(tile, index, word)] = to_sum<C>(source[offset]);
  });
}

template <class Out, class C>
__device__ __forceinline__ void store_tile(const KroneckerTile& tile, const std::int64_t* offsets, int lines,
                                           const C* values) {
  Out* target = static_cast<Out*>(tile.target.data);
  constexpr int word = word_values<C>;
  if (tile.target.words) {
    constexpr int step = word_values<Out>;
    for_each_chunk<step>(tile, tile.target, offsets, lines, [&](int index, std::int64_t offset) {
      alignas(16) C sums[step];
#pragma unroll
      for (int i = 0; i < step; i += word) {
        const Word<C> w = *reinterpret_cast<const Word<C>*>(values + place_in_tile(tile, index + i, word));
#pragma unroll
        for (int j = 0; j < word; ++j) sums[i + j] = scaled(w.values[j], tile.scale);
      }
      if constexpr (std::is_same_v<Out, C>) {
        *reinterpret_cast<Word<C>*>(target + offset) = *reinterpret_cast<const Word<C>*>(sums);
      } else {
        *reinterpret_cast<uint4*>(target + offset) = pack<Out>(sums);
      }
    });
    return;
  }
  for_each_chunk<1>(tile, tile.target, offsets, lines, [&](int index, std::int64_t offset) {
    target[offset] = to_storage<Out>(scaled(values[place_in_tile(tile, index, word)], tile.scale));
  });
}

}  // namespace papillon::cuda
