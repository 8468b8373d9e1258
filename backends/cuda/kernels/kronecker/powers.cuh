// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/values.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda {

/// The sizes of a tile of `Count` factors of `P` x `P`, P a power of two: `Groups` x P^Count x `Lanes` values
/// of C, one of Groups and Lanes being 1. All of it is known to the compiler, so that addresses are
/// constants.
template <class C, int P, int Count, int Lanes, int Groups>
struct PowerTile {
  static constexpr int word = word_values<C>;
  static constexpr int power(int exponent) { return exponent == 0 ? 1 : P * power(exponent - 1); }
  static constexpr int points = power(Count);
  static constexpr int values = Groups * points * Lanes;
  /// Values after which 16 bytes are left free, so that the words of neighbouring vectors lie in other banks.
  static constexpr int pad_every = Lanes > 1 ? values : P < 8 ? 8 : P;
  static constexpr int place(int index) { return Lanes > 1 ? index : index + index / pad_every * word; }
  static constexpr int stored = place(values);
  static constexpr int factor_values = P * P;

  /// Shared memory for the factors and `stages` tiles.
  static constexpr int bytes(int stages) {
    return (stages * stored + Count * factor_values) * static_cast<int>(sizeof(C));
  }
};

/// Rows and vectors that a thread multiplies at a time.
template <class C, int P, int Rows, int Vectors>
struct PowerBlock {
  static constexpr int word = word_values<C>;
  static constexpr int rows = Rows < P ? Rows : P;
  static constexpr int vectors = Vectors;
  static constexpr int row_word = rows < word ? rows : word;
  static constexpr int row_words = rows / row_word;
  static constexpr int row_threads = P / rows;
};

/// The entries of a thread's rows in one column of a factor, which stands in shared memory as [column][row].
template <class Block, class C>
__device__ __forceinline__ void load_entries(const C* column, int row_thread, C (&entry)[Block::rows]) {
#pragma unroll
  for (int g = 0; g < Block::row_words; ++g) {
    const C* place = column + (g * Block::row_threads + row_thread) * Block::row_word;
    if constexpr (Block::row_word == Block::word) {
      const Word<C> w = *reinterpret_cast<const Word<C>*>(place);
#pragma unroll
      for (int i = 0; i < Block::row_word; ++i) entry[g * Block::row_word + i] = w.values[i];
    } else {
#pragma unroll
      for (int i = 0; i < Block::row_word; ++i) entry[g * Block::row_word + i] = place[i];
    }
  }
}

/// values[o, a, r] = sum over b of F[a, b] · values[o, b, r] in place, the index r having `Run` values.
template <class Tile, class Block, class C, int P, int Run, int Threads>
__device__ __forceinline__ void multiply_power(C* values, const C* factor) {
  constexpr int word = Block::word;
  constexpr int vectors = Block::vectors;
  constexpr int vector_threads = Threads / Block::row_threads;
  constexpr int all_vectors = Tile::values / P;
  constexpr bool by_points = Run == 1;
  constexpr int words = by_points ? vectors : vectors / word;
  constexpr int side = by_points ? 1 : word;  // vectors of a word
  constexpr int sweep = vector_threads * vectors;
  static_assert(by_points || Run % word == 0);
  // Of two neighbouring threads both read the same words of the tile, of four every other one the same words
  // of the factor: then a warp reads 16 bytes a thread in fewer steps.
  constexpr int pairs = by_points && Block::row_threads % 2 == 0 ? 2 : 1;
  constexpr int near = 32 / pairs < vector_threads ? 32 / pairs : vector_threads;
  const int thread = static_cast<int>(threadIdx.x);
  const int rest = thread / (pairs * near);
  const int row_thread = thread % pairs + rest % (Block::row_threads / pairs) * pairs;
  const int vector_thread = thread / pairs % near + rest / (Block::row_threads / pairs) * near;
#pragma unroll 1
  for (int first = 0; first < all_vectors; first += sweep) {
    int places[words];
#pragma unroll
    for (int j = 0; j < words; ++j) {
      const int vector = first + (j * vector_threads + vector_thread) * side;
      places[j] =
          Tile::place(vector / Run * (P * Run)) + (vector % Run + vector % Run / Tile::pad_every * word);
    }
    const bool valid = all_vectors % sweep == 0 || first + vector_thread * side < all_vectors;
    C sums[Block::rows][vectors];
#pragma unroll
    for (int i = 0; i < Block::rows; ++i)
#pragma unroll
      for (int j = 0; j < vectors; ++j) sums[i][j] = SumStart<C>::value();
    if constexpr (by_points) {
#pragma unroll 2
      for (int b = 0; b < P; b += word) {
        Word<C> x[vectors];
#pragma unroll
        for (int j = 0; j < vectors; ++j) x[j] = *reinterpret_cast<const Word<C>*>(values + places[j] + b);
#pragma unroll
        for (int k = 0; k < word; ++k) {
          C entry[Block::rows];
          load_entries<Block>(factor + (b + k) * P, row_thread, entry);
#pragma unroll
          for (int i = 0; i < Block::rows; ++i)
#pragma unroll
            for (int j = 0; j < vectors; ++j) sums[i][j] = multiply_add(entry[i], x[j].values[k], sums[i][j]);
        }
      }
    } else {
      constexpr int step = Tile::place(Run);
#pragma unroll 8
      for (int b = 0; b < P; ++b) {
        C entry[Block::rows];
        load_entries<Block>(factor + b * P, row_thread, entry);
        C x[vectors];
#pragma unroll
        for (int j = 0; j < words; ++j) {
          const Word<C> w = *reinterpret_cast<const Word<C>*>(values + places[j] + b * step);
#pragma unroll
          for (int i = 0; i < word; ++i) x[j * word + i] = w.values[i];
        }
#pragma unroll
        for (int i = 0; i < Block::rows; ++i)
#pragma unroll
          for (int j = 0; j < vectors; ++j) sums[i][j] = multiply_add(entry[i], x[j], sums[i][j]);
      }
    }
    __syncthreads();
    if (valid) {
#pragma unroll
      for (int g = 0; g < Block::row_words; ++g) {
        const int row = (g * Block::row_threads + row_thread) * Block::row_word;
#pragma unroll
        for (int j = 0; j < words; ++j) {
          if constexpr (by_points) {
            C* place = values + places[j] + row;
            if constexpr (Block::row_word == word) {
              Word<C> w;
#pragma unroll
              for (int i = 0; i < word; ++i) w.values[i] = sums[g * word + i][j];
              *reinterpret_cast<Word<C>*>(place) = w;
            } else {
#pragma unroll
              for (int i = 0; i < Block::row_word; ++i) place[i] = sums[g * Block::row_word + i][j];
            }
          } else {
            constexpr int step = Tile::place(Run);
#pragma unroll
            for (int i = 0; i < Block::row_word; ++i) {
              Word<C> w;
#pragma unroll
              for (int k = 0; k < word; ++k) w.values[k] = sums[g * Block::row_word + i][j * word + k];
              *reinterpret_cast<Word<C>*>(values + places[j] + (row + i) * step) = w;
            }
          }
        }
      }
    }
  }
  __syncthreads();
}

/// Applies the tile's factors, the last (its index varies fastest) first.
template <class Tile, class Block, class C, int P, int Count, int Lanes, int Threads, int Step = Count - 1>
__device__ __forceinline__ void multiply_powers(C* values, const C* factors) {
  constexpr int run = Tile::power(Count - 1 - Step) * Lanes;
  multiply_power<Tile, Block, C, P, run, Threads>(values, factors + Step * Tile::factor_values);
  if constexpr (Step > 0)
    multiply_powers<Tile, Block, C, P, Count, Lanes, Threads, Step - 1>(values, factors);
}

/// Visits the words of tile number `tile`, `Step` values each: visit(place in shared memory, pointer into the
/// array). What a thread's words are apart is a constant, or is added up.
template <class Tile, int Step, int Lanes, int Groups, int Threads, class T, class Visit>
__device__ __forceinline__ void for_each_word(const PowerProblem& problem, std::int64_t tile, T* array,
                                              std::int64_t stride, const Visit& visit) {
  constexpr int sweep = Threads * Step;
  constexpr int sweeps = Tile::values / sweep;
  static_assert(Tile::values % sweep == 0 &&
                (sweep % Tile::pad_every == 0 || Tile::pad_every == Tile::values));
  const int index = static_cast<int>(threadIdx.x) * Step;
  const int first = Tile::place(index);
  constexpr int step = Tile::place(sweep);
  if constexpr (Lanes == 1) {
    const std::int64_t line = tile * Groups;
    const bool whole = Groups == 1 || problem.lines - line >= Groups;
    if (whole && stride == Tile::points) {
      T* pointer = array + line * stride + index;
#pragma unroll
      for (int i = 0; i < sweeps; ++i) visit(first + i * step, pointer + i * sweep);
    } else {
#pragma unroll 2
      for (int i = 0; i < sweeps; ++i) {
        const std::int64_t group = line + (index + i * sweep) / Tile::points;
        if (group < problem.lines)
          visit(first + i * step, array + group * stride + (index + i * sweep) % Tile::points);
      }
    }
  } else {
    static_assert(sweep % Lanes == 0);
    const std::int64_t tiles = problem.inner / Lanes;
    T* pointer =
        array + tile / tiles * stride + tile % tiles * Lanes + index / Lanes * problem.inner + index % Lanes;
#pragma unroll
    for (int i = 0; i < sweeps; ++i) visit(first + i * step, pointer + i * (sweep / Lanes) * problem.inner);
  }
}

/// Starts loading a tile, or where its values are converted on the way loads it.
template <class Tile, class In, class C, int Lanes, int Groups, int Threads>
__device__ __forceinline__ void load_power_tile(const PowerProblem& problem, std::int64_t tile, C* values) {
  constexpr int word = word_values<C>;
  for_each_word<Tile, word_values<In>, Lanes, Groups, Threads>(
      problem, tile, static_cast<const In*>(problem.x), problem.x_stride, [&](int place, const In* source) {
        if constexpr (std::is_same_v<In, C>) {
          ptx::async_copy_16(ptx::shared_address(values + place), source);
        } else {
          C converted[word_values<In>];
          unpack<In>(*reinterpret_cast<const uint4*>(source), converted);
#pragma unroll
          for (int i = 0; i < word_values<In>; i += word) {
            Word<C> w;
#pragma unroll
            for (int k = 0; k < word; ++k) w.values[k] = converted[i + k];
            *reinterpret_cast<Word<C>*>(values + place + i) = w;
          }
        }
      });
}

template <class Tile, class Out, class C, int Lanes, int Groups, int Threads, class Scale>
__device__ __forceinline__ void store_power_tile(const PowerProblem& problem, std::int64_t tile,
                                                 const C* values, const Scale& scale) {
  constexpr int word = word_values<C>;
  for_each_word<Tile, word_values<Out>, Lanes, Groups, Threads>(
      problem, tile, static_cast<Out*>(problem.y), problem.y_stride, [&](int place, Out* target) {
        alignas(16) C sums[word_values<Out>];
#pragma unroll
        for (int i = 0; i < word_values<Out>; i += word) {
          const Word<C> w = *reinterpret_cast<const Word<C>*>(values + place + i);
#pragma unroll
          for (int k = 0; k < word; ++k) sums[i + k] = scale(w.values[k]);
        }
        if constexpr (std::is_same_v<Out, C>) {
          *reinterpret_cast<Word<C>*>(target) = *reinterpret_cast<const Word<C>*>(sums);
        } else {
          *reinterpret_cast<uint4*>(target) = pack<Out>(sums);
        }
      });
}

/// Consecutive factors of P x P over arrays without gaps: a block goes from tile to tile, its factors staying
/// in shared memory; with two `Stages` it loads the next tile meanwhile.
template <class In, class Out, class S, int P, int Count, int Lanes, int Groups, int Threads, int Blocks,
          int Stages, int Rows, int Vectors>
__global__ void __launch_bounds__(Threads, Blocks)
    kronecker_powers_kernel(const __grid_constant__ PowerProblem problem) {
  using C = sum_type<S>;
  using Tile = PowerTile<C, P, Count, Lanes, Groups>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* factors = reinterpret_cast<C*>(shared);
  C* values = factors + Count * Tile::factor_values;
  for (int f = 0; f < Count; ++f) {
    const PowerFactor& factor = problem.factors[f];
    const S* entries = static_cast<const S*>(factor.data);
    for (int i = static_cast<int>(threadIdx.x); i < P * P; i += Threads)
      factors[f * P * P + i] = to_sum<C>(entries[i % P * factor.row_stride + i / P * factor.column_stride]);
  }
  std::int64_t tile = blockIdx.x;
  if (Stages == 2 && tile < problem.tiles)
    load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile, values);
  for (int stage = 0; tile < problem.tiles; tile += gridDim.x) {
    C* current = values + stage * Tile::stored;
    if constexpr (Stages == 2) {
      stage ^= 1;
      ptx::async_copy_commit();
      if (tile + gridDim.x < problem.tiles)
        load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile + gridDim.x,
                                                             values + stage * Tile::stored);
    } else {
      load_power_tile<Tile, In, C, Lanes, Groups, Threads>(problem, tile, current);
    }
    ptx::async_copy_commit();
    ptx::async_copy_wait<Stages - 1>();
    __syncthreads();
    multiply_powers<Tile, PowerBlock<C, P, Rows, Vectors>, C, P, Count, Lanes, Threads>(current, factors);
    if (problem.scale == 1.0) {
      store_power_tile<Tile, Out, C, Lanes, Groups, Threads>(problem, tile, current,
                                                             [](C value) { return value; });
    } else {
      store_power_tile<Tile, Out, C, Lanes, Groups, Threads>(
          problem, tile, current, [&](C value) { return scaled(value, problem.scale); });
    }
    __syncthreads();
  }
}

}  // namespace papillon::cuda
