// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/tile.cuh"

namespace papillon::cuda {

/// Copies columns first … first + count of a factor to shared memory, as [column][row], rows filled up with
/// zeros to `padded`.
template <class S, class C>
__device__ __forceinline__ void load_factor(const TileStep& step, int first, int count, int padded,
                                            C* factor) {
  const S* data = static_cast<const S*>(step.data);
  for (int i = static_cast<int>(threadIdx.x); i < count * padded; i += static_cast<int>(blockDim.x)) {
    const int column = i / padded;
    const int row = i - column * padded;
    C value{};
    if (row < step.rows) {
      value = conjugate_if(to_sum<C>(data[row * step.row_stride + (first + column) * step.column_stride]),
                           step.conjugate);
    }
    factor[i] = value;
  }
}

/// to[o, a, r] = sum over b of F[a, b] · from[o, b, r], for all vectors (o, r) of the tile, the sum in the
/// order of rising b. `from` and `to` may be one: then every thread reads all of its sums' terms before any
/// writes. `chunk` columns of the factor are in shared memory at a time.
template <class S, class C, int Rows, TileAccess How>
__device__ __forceinline__ void multiply_tile(const KroneckerTile& tile, const TileStep& step, const C* from,
                                              C* to, C* factor, int chunk) {
  constexpr int word = word_values<C>;
  constexpr int vectors = product_vectors(sizeof(C));
  constexpr int row_word = Rows < word ? Rows : word;
  constexpr int row_words = Rows / row_word;
  constexpr int words = How == TileAccess::lanes ? vectors / word : vectors;
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  const int padded = padded_rows(sizeof(C), step.rows);
  const int row_groups = padded / Rows;
  const int row_threads = row_groups < threads ? row_groups : threads;
  const int vector_threads = threads / row_threads;
  const int row_thread = thread % row_threads;
  const int vector_thread = thread / row_threads;
  const int run = step.run;
  const int vector_step = place_in_tile(tile, run, word);  // between terms of a sum, for `lanes`
  const bool in_place = from == to;

  for (int first = 0; first < step.vectors; first += vector_threads * vectors) {
    int places[words];
    int targets[words];
#pragma unroll
    for (int j = 0; j < words; ++j) {
      constexpr int side = How == TileAccess::lanes ? word : 1;
      int vector = first + (j * vector_threads + vector_thread) * side;
      const bool valid = vector_thread < vector_threads && vector < step.vectors;
      if (!valid) vector = 0;  // none of it is read, or only beside a valid word
      const int o = static_cast<int>(quotient(static_cast<std::uint32_t>(vector), step.run_divisor));
      const int r = vector - o * run;
      const int source = o * step.columns * run + r;
      places[j] = valid || j == 0 ? place_in_tile(tile, source, word) : places[0];
      targets[j] = valid ? o * step.rows * run + r : -1;
    }
    for (int row_first = 0; row_first < row_groups; row_first += row_threads) {
      const int row_group = row_first + row_thread;
      const bool row_valid = row_group < row_groups && targets[0] >= 0;
      const C start = step.columns > 0 ? SumStart<C>::value() : C{};
      C sums[Rows][vectors];
#pragma unroll
      for (int i = 0; i < Rows; ++i)
#pragma unroll
        for (int j = 0; j < vectors; ++j) sums[i][j] = start;

      for (int chunk_first = 0; chunk_first < step.columns; chunk_first += chunk) {
        const int left = step.columns - chunk_first;
        const int count = left < chunk ? left : chunk;
        if (!tile.factors_stay) {
          __syncthreads();
          load_factor<S>(step, chunk_first, count, padded, factor);
          __syncthreads();
        }
        if (row_valid) {
          const C* entries = factor + row_group * row_word;
          const auto entry_words = [&](int column, C(&entry)[Rows]) {
#pragma unroll
            for (int g = 0; g < row_words; ++g) {
              const C* place = entries + column * padded + g * row_groups * row_word;
              if constexpr (row_word == word) {
                const Word<C> w = *reinterpret_cast<const Word<C>*>(place);
#pragma unroll
                for (int i = 0; i < row_word; ++i) entry[g * row_word + i] = w.values[i];
              } else {
#pragma unroll
                for (int i = 0; i < row_word; ++i) entry[g * row_word + i] = place[i];
              }
            }
          };
          if constexpr (How == TileAccess::lanes) {
            const C* place[words];
#pragma unroll
            for (int j = 0; j < words; ++j) place[j] = from + places[j] + chunk_first * vector_step;
#pragma unroll 4
            for (int b = 0; b < count; ++b) {
              C entry[Rows];
              entry_words(b, entry);
              C x[vectors];
#pragma unroll
              for (int j = 0; j < words; ++j) {
                const Word<C> w = *reinterpret_cast<const Word<C>*>(place[j]);
                place[j] += vector_step;
#pragma unroll
                for (int i = 0; i < word; ++i) x[j * word + i] = w.values[i];
              }
#pragma unroll
              for (int i = 0; i < Rows; ++i)
#pragma unroll
                for (int j = 0; j < vectors; ++j) sums[i][j] = multiply_add(entry[i], x[j], sums[i][j]);
            }
          } else {
#pragma unroll 1
            for (int b = 0; b < count; b += word) {
              Word<C> x[vectors];
#pragma unroll
              for (int j = 0; j < vectors; ++j)
                x[j] = *reinterpret_cast<const Word<C>*>(from + places[j] + chunk_first + b);
#pragma unroll
              for (int k = 0; k < word; ++k) {
                C entry[Rows];
                entry_words(b + k, entry);
#pragma unroll
                for (int i = 0; i < Rows; ++i)
#pragma unroll
                  for (int j = 0; j < vectors; ++j)
                    sums[i][j] = multiply_add(entry[i], x[j].values[k], sums[i][j]);
              }
            }
          }
        }
      }
      if (in_place) __syncthreads();
      if (!row_valid) continue;
#pragma unroll
      for (int g = 0; g < row_words; ++g) {
        const int row = (g * row_groups + row_group) * row_word;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          if (targets[j] < 0) continue;
          if constexpr (How == TileAccess::lanes) {
#pragma unroll
            for (int i = 0; i < row_word; ++i) {
              if (row + i >= step.rows) continue;
              Word<C> w;
#pragma unroll
              for (int k = 0; k < word; ++k) w.values[k] = sums[g * row_word + i][j * word + k];
              *reinterpret_cast<Word<C>*>(to + place_in_tile(tile, targets[j] + (row + i) * run, word)) = w;
            }
          } else if constexpr (row_word == word) {
            if (row >= step.rows) continue;  // rows of `points` are whole words
            Word<C> w;
#pragma unroll
            for (int i = 0; i < word; ++i) w.values[i] = sums[g * word + i][j];
            *reinterpret_cast<Word<C>*>(to + place_in_tile(tile, targets[j] + row, word)) = w;
          }
        }
      }
    }
  }
}

/// The same with the factor of each line's batch entry, read where it lies.
template <class S, class C>
__device__ __forceinline__ void multiply_tile_batched(const KroneckerTile& tile, const TileStep& step,
                                                      const std::int64_t* batches, int lines, const C* from,
                                                      C* to) {
  constexpr int word = word_values<C>;
  const int vectors_of_group = step.vectors / tile.groups;
  const int count = step.vectors * step.rows;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const int row = i / step.vectors;
    const int vector = i - row * step.vectors;
    const int o = static_cast<int>(quotient(static_cast<std::uint32_t>(vector), step.run_divisor));
    const int r = vector - o * step.run;
    const int line = vector / vectors_of_group * tile.lanes + r % tile.lanes;
    if (line >= lines) continue;
    const S* entries =
        static_cast<const S*>(step.data) + batches[line] * step.batch_stride + row * step.row_stride;
    C sum = SumStart<C>::value();
    for (int b = 0; b < step.columns; ++b) {
      const C x = from[place_in_tile(tile, (o * step.columns + b) * step.run + r, word)];
      sum = multiply_add(conjugate_if(to_sum<C>(entries[b * step.column_stride]), step.conjugate), x, sum);
    }
    to[place_in_tile(tile, (o * step.rows + row) * step.run + r, word)] = sum;
  }
}

}  // namespace papillon::cuda
