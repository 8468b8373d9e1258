// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/shared_tile.cuh"
#include "kernels/small_base.cuh"
#include "papillon/core/pass.hpp"
#include "tuning/row_tuning.hpp"

namespace papillon::cuda {

/// Contiguous rows of M * 2^k points with all that the faster kernels leave out.
template <class S>
struct SharedRows {
  const S* x = nullptr;
  S* y = nullptr;
  std::int64_t rows = 0;
  std::int64_t x_stride = 0;  ///< elements from row to row
  std::int64_t y_stride = 0;
  int k = 0;
  int tile_rows = 1;
  compute_type<S> scale{};
  detail::SignVector in;
  detail::SignVector out;
  Ordering ordering = Ordering::natural;
  SmallBase base;
};

/// One side of a tile in memory: rows, or all of them as one where they follow one another.
template <class Pointer>
struct Segments {
  Pointer data;
  std::int64_t stride;
  int count;
  int length;

  __device__ Segments(Pointer first, std::int64_t row_stride, int rows, int n)
      : data(first), stride(row_stride), count(rows), length(n) {
    if (rows == 1 || row_stride == n) {
      count = 1;
      length = rows * n;
    }
  }

  /// Whether every segment is whole 16-byte words.
  __device__ bool whole_words() const {
    constexpr int size = sizeof(*data);
    constexpr int word = 16 / size;
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && length % word == 0 &&
           (count == 1 || stride % word == 0);
  }

  /// Elements of segment `s` before the first 16-byte boundary.
  __device__ int head(int s) const {
    constexpr int size = sizeof(*data);
    const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(data + s * stride) % 16);
    return past == 0 ? 0 : (16 - past) / size;
  }
};

/// Calls body(segment, first) for each 16-byte word of memory that holds elements of the segments, `first`
/// being the index in the segment of the word's first element: negative, or less than a word before the
/// segment's end, where the word has elements that are not the segment's. `Batch` words at a time, so that
/// `load(i, …)` of all of them are under way before the first `use(i, …)`.
template <int Batch, bool Whole, class Pointer, class Load, class Use>
__device__ __forceinline__ void for_each_word(const Segments<Pointer>& segments, const Load& load,
                                              const Use& use) {
  constexpr int word = 16 / static_cast<int>(sizeof(*segments.data));
  // Where words and segments do not agree a segment touches up to two more.
  const int words = Whole ? segments.length / word : segments.length / word + 2;
  const int all = words * segments.count;
  const int threads = static_cast<int>(blockDim.x);
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += Batch * threads) {
    int segment[Batch];
    int first[Batch];
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      const int index = begin + i * threads;
      segment[i] = segments.count == 1 ? 0 : index / words;
      first[i] = (index - segment[i] * words) * word;
      if (!Whole && index < all) first[i] -= word - segments.head(segment[i]) % word;
      if (index < all) load(i, segment[i], first[i]);
    }
#pragma unroll
    for (int i = 0; i < Batch; ++i) {
      if (begin + i * threads < all) use(i, segment[i], first[i]);
    }
  }
}

/// The signs of `word` neighbouring positions of a tile, bit i set where element `first` + i is to be negated.
template <int M, int Word>
__device__ __forceinline__ std::uint32_t sign_bits(const detail::SignVector& signs, int first, int k) {
  const auto position_of = [&](int element) {
    const int low = element & ((1 << k) - 1);
    return M == 1 ? low : ((element >> k) % M << k) + low;
  };
  std::uint32_t bits = 0;
  if (first + Word <= 0) return bits;
  if (((M << k) % Word) == 0 && first % Word == 0) {  // one row's, and of one random word
    const int position = position_of(first);
    if (signs.seeded)
      return static_cast<std::uint32_t>(random_sign_word(signs.seed, position / 64) >> (position % 64));
#pragma unroll
    for (int i = 0; i < Word; ++i) bits |= (signs.values[position + i] < 0 ? 1u : 0u) << i;
  } else {
#pragma unroll
    for (int i = 0; i < Word; ++i) {
      if (first + i >= 0 && signs.negative(position_of(first + i))) bits |= 1u << i;
    }
  }
  return bits;
}

template <int Count, class C>
__device__ __forceinline__ void negate_marked(C (&values)[Count], std::uint32_t bits) {
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    if ((bits >> i & 1u) != 0) values[i] = negated(values[i]);
  }
}

/// Reads the rows of a tile, with their signs, into shared memory. Words of memory that are words of the tile
/// too go through the stages below a word on their way; returns whether all did.
template <class S, int M, bool Whole>
__device__ __forceinline__ void load_tile(const SharedTile<S>& tile, const Segments<const S*>& segments,
                                          const SharedRows<S>& rows) {
  using C = compute_type<S>;
  constexpr int word = SharedTile<S>::word;
  constexpr int batch = 4;
  uint4 raw[batch];
  for_each_word<batch, Whole>(
      segments,
      [&](int i, int s, int first) {
        const S* source = segments.data + s * segments.stride + first;
        if (Whole || (first >= 0 && first + word <= segments.length))
          raw[i] = __ldcs(reinterpret_cast<const uint4*>(source));
      },
      [&](int i, int s, int first) {
        const int element = s * segments.length + first;
        C values[word];
        if (Whole || (first >= 0 && first + word <= segments.length)) {
          unpack<S>(raw[i], values);
        } else {
#pragma unroll
          for (int j = 0; j < word; ++j) {
            values[j] = C{};
            if (first + j >= 0 && first + j < segments.length)
              values[j] = load_converted(segments.data[s * segments.stride + first + j]);
          }
        }
        if (rows.in.any()) negate_marked(values, sign_bits<M, word>(rows.in, element, rows.k));
        if constexpr (Whole) {
          tile.word_stages(values, rows.k);
          tile.store_word(element, values);
        } else {
#pragma unroll
          for (int j = 0; j < word; ++j) {
            if (first + j >= 0 && first + j < segments.length) tile.at(element + j) = values[j];
          }
        }
      });
}

/// Scales and rounds the values of a tile, and writes them with their signs in the order asked for.
template <class S, int M, bool Whole>
__device__ __forceinline__ void store_tile(const SharedTile<S>& tile, const Segments<S*>& segments,
                                           const SharedRows<S>& rows) {
  using C = compute_type<S>;
  constexpr int word = SharedTile<S>::word;
  const int k = rows.k;
  const auto index_of = [&](int element) {  // M = 1 where the order is not the natural one
    if (rows.ordering == Ordering::natural) return element;
    const int place = element & ((1 << k) - 1);
    const int gray = rows.ordering == Ordering::sequency ? place ^ (place >> 1) : place;
    const int natural = k == 0 ? 0 : static_cast<int>(__brev(static_cast<unsigned>(gray)) >> (32 - k));
    return element - place + natural;
  };
  for_each_word<1, Whole>(
      segments, [](int, int, int) {},
      [&](int, int s, int first) {
        const int element = s * segments.length + first;
        C values[word];
        if (Whole && rows.ordering == Ordering::natural) {
          tile.load_word(element, values);
        } else {
#pragma unroll
          for (int j = 0; j < word; ++j) {
            values[j] = C{};
            if (Whole || (first + j >= 0 && first + j < segments.length))
              values[j] = tile.at(index_of(element + j));
          }
        }
#pragma unroll
        for (int j = 0; j < word; ++j) values[j] = product(values[j], rows.scale);
        if (rows.out.any()) negate_marked(values, sign_bits<M, word>(rows.out, element, k));
        S* target = segments.data + s * segments.stride + first;
        if (Whole || (first >= 0 && first + word <= segments.length)) {
          __stcs(reinterpret_cast<uint4*>(target), pack<S>(values));
        } else {
#pragma unroll
          for (int j = 0; j < word; ++j) {
            if (first + j >= 0 && first + j < segments.length) target[j] = rounded<S>(values[j]);
          }
        }
      });
}

/// The order-M factor over blocks of 2^k: a thread takes `Columns` columns of M values into registers and
/// sums them in increasing index order for each row of the matrix, whose entries, as ±1 in the compute type,
/// every thread reads from the same place of shared memory.
template <class S, int M>
__device__ __forceinline__ void base_factor(const SharedTile<S>& tile, const compute_type<S>* signs, int k,
                                            int rows) {
  using C = compute_type<S>;
  constexpr int columns = sizeof(C) * M <= 4 * 28 ? 2 : 1;
  constexpr int vector = 16 / static_cast<int>(sizeof(C));
  static_assert(M % vector == 0);
  const int all = rows << k;
  const int threads = static_cast<int>(blockDim.x);
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += columns * threads) {
    C terms[columns][M];
    int place[columns];
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int index = begin + c * threads < all ? begin + c * threads : begin;
      place[c] = ((index >> k) * M << k) + (index & ((1 << k) - 1));
#pragma unroll
      for (int q = 0; q < M; ++q) terms[c][q] = tile.at(place[c] + (q << k));
    }
#pragma unroll 1
    for (int p = 0; p < M; ++p) {
      C sums[columns];
#pragma unroll
      for (int q = 0; q < M; q += vector) {
        C entries[vector];
        unpack<C>(*reinterpret_cast<const uint4*>(signs + p * M + q), entries);
#pragma unroll
        for (int i = 0; i < vector; ++i) {
#pragma unroll
          for (int c = 0; c < columns; ++c) {
            sums[c] = q + i == 0 ? product(terms[c][0], entries[0])
                                 : signed_sum(sums[c], terms[c][q + i], entries[i]);
          }
        }
      }
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        if (c == 0 || begin + c * threads < all) tile.at(place[c] + (p << k)) = sums[c];
      }
    }
  }
}

/// Rows of M * 2^k points at any address and row distance, with signs and in any order: a block holds a tile
/// of whole rows in shared memory. 16-byte words are read where memory allows, single elements at the edges
/// of a row; the stages below a word run in registers on the way in, the others sixteen points
/// at a time, the order-M factor last.
template <class S, int M>
__global__ void __launch_bounds__(most_shared_threads(sizeof(compute_type<S>), M),
                                  sizeof(compute_type<S>) == 4 && M <= 12 ? 2 : 1)
    shared_rows(const __grid_constant__ SharedRows<S> rows) {
  using C = compute_type<S>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* const signs = reinterpret_cast<C*>(shared);
  const SharedTile<S> tile{signs + (M > 1 ? M * M : 0)};
  const int n = M << rows.k;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * rows.tile_rows;
  const std::int64_t left = rows.rows - first_row;
  const int count = left < rows.tile_rows ? static_cast<int>(left) : rows.tile_rows;

  const Segments<const S*> source(rows.x + first_row * rows.x_stride, rows.x_stride, count, n);
  if (source.whole_words()) {
    load_tile<S, M, true>(tile, source, rows);
  } else {
    load_tile<S, M, false>(tile, source, rows);
    __syncthreads();
    tile.all_word_stages(count * n, rows.k);
  }
  if constexpr (M > 1) {
    for (int i = static_cast<int>(threadIdx.x); i < M * M; i += static_cast<int>(blockDim.x))
      signs[i] = (rows.base.rows[i / M] >> (i % M) & 1u) != 0 ? C{-1} : C{1};
  }
  __syncthreads();
  tile.upper_stages(count * n, rows.k);
  if constexpr (M > 1) {
    base_factor<S, M>(tile, signs, rows.k, count);
    __syncthreads();
  }
  const Segments<S*> target(rows.y + first_row * rows.y_stride, rows.y_stride, count, n);
  if (target.whole_words()) {
    store_tile<S, M, true>(tile, target, rows);
  } else {
    store_tile<S, M, false>(tile, target, rows);
  }
}

}  // namespace papillon::cuda
