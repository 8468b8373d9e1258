// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic.cuh"
#include "kernels/sign_words.cuh"
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
};

/// The order-M matrix as a kernel parameter: its entries where a thread's code for all of it is short enough
/// to be unrolled, so that they are operands from constant memory; its signs otherwise, from which each block
/// makes the entries in shared memory.
template <class C, int M>
struct BaseMatrix {
  static constexpr bool unrolled = M <= 20 && sizeof(C) == 4;
  std::conditional_t<unrolled, C[unrolled ? M * M : 1], SmallBase> entries;
};
template <class C>
struct BaseMatrix<C, 1> {
  static constexpr bool unrolled = false;
};

/// The block of shared_rows: a tile of whole rows, numbered through as elements 0 … count - 1.
template <class S, int M>
class SharedRowsBlock {
  using C = compute_type<S>;
  static constexpr int word_bits = sizeof(S) == 2 ? 3 : sizeof(S) == 4 ? 2 : 1;
  static constexpr int word = 1 << word_bits;
  static constexpr int warp_bits = word_bits + 5;  ///< stages inside a warp's 32 words
  static constexpr int round_bits = 4;             ///< of a round through shared memory: 16 registers
  static constexpr bool shared_entries = M > 1 && !BaseMatrix<C, M>::unrolled;

 public:
  __device__ SharedRowsBlock(const SharedRows<S>& rows, const BaseMatrix<C, M>& base, unsigned char* shared)
      : rows_(rows),
        base_(base),
        k_(rows.k),
        n_(M << rows.k),
        thread_(static_cast<int>(threadIdx.x)),
        threads_(static_cast<int>(blockDim.x)) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows.tile_rows;
    const std::int64_t left = rows.rows - first;
    count_ = (left < rows.tile_rows ? static_cast<int>(left) : rows.tile_rows) * n_;
    source_ = rows.x + first * rows.x_stride;
    target_ = rows.y + first * rows.y_stride;
    values_ = reinterpret_cast<C*>(shared);
    entries_ = values_ + (rows.tile_rows * n_ + word - 1) / word * word;
    signs_ = reinterpret_cast<std::uint32_t*>(entries_ + (shared_entries ? M * M : 0));
    const bool natural = rows.ordering == Ordering::natural;
    // Values go from registers to memory where neighbouring threads then write neighbouring elements.
    straight_ = natural && M == 1 && k_ <= warp_bits && whole_words(target_, rows.y_stride);
    direct_ = natural && (M == 1 ? k_ > warp_bits : k_ >= 5 && sizeof(S) > 2);
    swizzle_ = !natural && k_ > warp_bits ? (k_ < 10 ? 5 : k_ - 5) : 0;
  }

  __device__ void run() {
    prepare();
    if (whole_words(source_, rows_.x_stride)) {
      load<true>();
    } else {
      load<false>();
    }
    if (straight_) return;
    __syncthreads();
    rounds();
    if constexpr (M > 1) {
      base_factor();
      __syncthreads();
    }
    if (!direct_) store_in_order();
  }

 private:
  /// Whether all rows of one side are whole 16-byte words.
  __device__ bool whole_words(const S* data, std::int64_t stride) const {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && count_ % word == 0 &&
           (stride == n_ || (stride % word == 0 && n_ % word == 0));
  }

  __device__ int row_of(int element) const { return (element >> k_) / M; }
  __device__ std::int64_t offset(int element, std::int64_t stride) const {
    if (stride == n_) return element;
    const int row = row_of(element);
    return row * stride + (element - row * n_);
  }

  /// Signs, one bit a position, and the entries of the order-M matrix, as ±1, to shared memory.
  __device__ void prepare() {
    const detail::SignVector& signs = rows_.in.any() ? rows_.in : rows_.out;
    if constexpr (shared_entries) {
      for (int i = thread_; i < M * M; i += threads_)
        entries_[i] = (base_.entries.rows[i / M] >> (i % M) & 1u) != 0 ? C{-1} : C{1};
    }
    if (signs.any()) make_sign_words(signs, signs_, n_);
    if (signs.any()) __syncthreads();  // the entries are not read before the next one
  }

  /// The signs of a word of elements in its lowest bits.
  __device__ std::uint32_t sign_bits(int element) const {
    const int position = position_of(element);
    if (n_ % word == 0) return signs_[position >> 5] >> (position & 31);
    std::uint32_t bits = 0;
#pragma unroll
    for (int j = 0; j < word; ++j) bits |= (sign_at(position_of(element + j)) ? 1u : 0u) << j;
    return bits;
  }
  __device__ int position_of(int element) const { return element - row_of(element) * n_; }
  __device__ bool sign_at(int position) const { return (signs_[position >> 5] >> (position & 31) & 1u) != 0; }

  /// Reads the tile, with its signs, and runs the stages inside 32 words: in registers below a word, between
  /// lanes above.
  template <bool Whole>
  __device__ void load() {
    constexpr int batch = Whole ? 2 : 1;
    const int words = (count_ + word - 1) / word;
    const int lane = thread_ & 31;
    // Whole warps go round: every lane takes part in the shuffles.
    for (int begin = thread_; begin - lane < words; begin += batch * threads_) {
      uint4 raw[batch];
      C values[word];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int element = (begin + i * threads_) * word;
        raw[i] = make_uint4(0, 0, 0, 0);
        if constexpr (Whole) {
          if (element < count_)
            raw[i] = __ldcs(reinterpret_cast<const uint4*>(source_ + offset(element, rows_.x_stride)));
        } else {
          const S* from = source_ + offset(element, rows_.x_stride);
          int left = n_ - position_of(element);  // elements to the end of the row
#pragma unroll
          for (int j = 0; j < word; ++j, ++from, --left) {
            if (left == 0) {
              left = n_;
              from += rows_.x_stride - n_;
            }
            values[j] = element + j < count_ ? load_converted(*from) : C{};
          }
        }
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int element = (begin + i * threads_) * word;
        if (i > 0 && element - lane * word >= count_) break;
        if constexpr (Whole) unpack<S>(raw[i], values);
        if (rows_.in.any() && element < count_) negate_marked(values, sign_bits(element));
        warp_stages(values, lane);
        if (element >= count_) continue;
        if (straight_) {
          store_word(values, element);
        } else {
          constexpr int vector = 16 / static_cast<int>(sizeof(C));
#pragma unroll
          for (int j = 0; j < word; j += vector)
            *reinterpret_cast<uint4*>(values_ + element + j) = pack<C>(values + j);
        }
      }
    }
  }

  __device__ __forceinline__ void warp_stages(C (&values)[word], int lane) const {
    if (k_ > 0) register_stages<0, 1>(values);
    if constexpr (word_bits > 1) {
      if (k_ > 1) register_stages<1, 2>(values);
    }
    if constexpr (word_bits > 2) {
      if (k_ > 2) register_stages<2, 3>(values);
    }
#pragma unroll
    for (int t = 0; t < 5; ++t) {
      if (k_ <= word_bits + t) break;
      lane_stage(values, lane, t);
    }
  }

  /// Where an element lies in shared memory before it is written in another order: 32 neighbours of that
  /// order, which differ in the highest bits, must not share a bank.
  __device__ int swizzled(int element) const {
    return swizzle_ == 0 ? element : element ^ (element >> swizzle_ & 31);
  }

  /// The scale, one rounding, the sign, the store.
  __device__ __forceinline__ void finish(C value, int position, S* target) const {
    value = product(value, rows_.scale);
    if (rows_.out.any() && sign_at(position)) value = negated(value);
    *target = rounded<S>(value);
  }
  /// The same for a word that is one of memory too.
  __device__ __forceinline__ void store_word(C (&values)[word], int element) const {
#pragma unroll
    for (int j = 0; j < word; ++j) values[j] = product(values[j], rows_.scale);
    if (rows_.out.any()) negate_marked(values, sign_bits(element));
    __stcs(reinterpret_cast<uint4*>(target_ + offset(element, rows_.y_stride)), pack<S>(values));
  }

  /// `Bits` stages from bit `low_bit` on.
  template <int Bits>
  __device__ __forceinline__ void round(int low_bit, bool last) {
    constexpr int points = 1 << Bits;
    const int mask = (1 << low_bit) - 1;
    for (int index = thread_; index < count_ >> Bits; index += threads_) {
      const int element = (index & mask) | (index & ~mask) << Bits;
      C v[points];
#pragma unroll
      for (int i = 0; i < points; ++i) v[i] = values_[element + (i << low_bit)];
      register_stages<0, Bits>(v);
      if (M == 1 && last && direct_) {
        S* target = target_ + offset(element, rows_.y_stride);
        int position = position_of(element);
#pragma unroll
        for (int i = 0; i < points; ++i) {
          finish(v[i], position, target);
          position += 1 << low_bit;
          target += 1 << low_bit;
        }
      } else {
        __syncwarp();  // what the warp has read it may now write in another order
#pragma unroll
        for (int i = 0; i < points; ++i) {
          const int place = element + (i << low_bit);
          values_[last && M == 1 ? swizzled(place) : place] = v[i];
        }
      }
    }
    __syncthreads();
  }

  /// The stages above a warp's.
  __device__ void rounds() {
    int bit = warp_bits;
    for (int left = (k_ - bit + round_bits - 1) / round_bits; left > 0; --left) {
      const int bits = (k_ - bit + left - 1) / left;
      switch (bits) {
        case 4:
          round<4>(bit, left == 1);
          break;
        case 3:
          round<3>(bit, left == 1);
          break;
        case 2:
          round<2>(bit, left == 1);
          break;
        default:
          round<1>(bit, left == 1);
          break;
      }
      bit += bits;
    }
  }

  /// The order-M factor over blocks of 2^k: a thread takes columns of M values into registers and sums them
  /// in increasing index order for each row of the matrix.
  __device__ void base_factor() {
    constexpr int columns = sizeof(C) == 4 ? 2 : 1;
    constexpr int vector = 16 / static_cast<int>(sizeof(C));
    static_assert(M % vector == 0);
    const int all = count_ / M;
    for (int begin = thread_; begin < all; begin += columns * threads_) {
      C terms[columns][M];
      int place[columns];
      S* target[columns];
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const int index = begin + c * threads_ < all ? begin + c * threads_ : begin;
        place[c] = ((index >> k_) * M << k_) + (index & ((1 << k_) - 1));
        target[c] = target_ + offset(place[c], rows_.y_stride);
#pragma unroll
        for (int q = 0; q < M; ++q) terms[c][q] = values_[place[c] + (q << k_)];
      }
      const auto store = [&](const C(&sums)[columns], int p) {
#pragma unroll
        for (int c = 0; c < columns; ++c) {
          if (c > 0 && begin + c * threads_ >= all) continue;
          const int element = place[c] + (p << k_);
          if (direct_) {
            finish(sums[c], position_of(element), target[c] + (p << k_));
          } else {
            values_[element] = sums[c];
          }
        }
      };
      if constexpr (BaseMatrix<C, M>::unrolled) {
#pragma unroll
        for (int p = 0; p < M; ++p) {
          C sums[columns];
#pragma unroll
          for (int c = 0; c < columns; ++c) {
            sums[c] = product(terms[c][0], base_.entries[p * M]);
#pragma unroll
            for (int q = 1; q < M; ++q) sums[c] = signed_sum(sums[c], terms[c][q], base_.entries[p * M + q]);
          }
          store(sums, p);
        }
      } else {
#pragma unroll 1
        for (int p = 0; p < M; ++p) {
          C sums[columns];
#pragma unroll
          for (int q = 0; q < M; q += vector) {
            C entries[vector];
            unpack<C>(*reinterpret_cast<const uint4*>(entries_ + p * M + q), entries);
#pragma unroll
            for (int i = 0; i < vector; ++i) {
#pragma unroll
              for (int c = 0; c < columns; ++c) {
                sums[c] = q + i == 0 ? product(terms[c][0], entries[0])
                                     : signed_sum(sums[c], terms[c][q + i], entries[i]);
              }
            }
          }
          store(sums, p);
        }
      }
    }
  }

  /// The tile from shared memory to memory in the order asked for.
  __device__ void store_in_order() {
    if (rows_.ordering == Ordering::natural && whole_words(target_, rows_.y_stride)) {
      for (int element = thread_ * word; element < count_; element += threads_ * word) {
        constexpr int vector = 16 / static_cast<int>(sizeof(C));
        C values[word];
#pragma unroll
        for (int j = 0; j < word; j += vector)
          unpack<C>(*reinterpret_cast<const uint4*>(values_ + element + j), values + j);
        store_word(values, element);
      }
      return;
    }
    for (int element = thread_; element < count_; element += threads_) {
      int natural = element;
      if (rows_.ordering != Ordering::natural && k_ > 0) {  // then M = 1
        const int place = element & (n_ - 1);
        const int gray = rows_.ordering == Ordering::sequency ? place ^ (place >> 1) : place;
        natural = element - place + static_cast<int>(__brev(static_cast<unsigned>(gray)) >> (32 - k_));
      }
      finish(values_[swizzled(natural)], position_of(element), target_ + offset(element, rows_.y_stride));
    }
  }

  const SharedRows<S>& rows_;
  const BaseMatrix<C, M>& base_;
  const int k_;
  const int n_;
  const int thread_;
  const int threads_;
  int count_;
  const S* source_;
  S* target_;
  C* values_;
  C* entries_;
  std::uint32_t* signs_;
  bool straight_;
  bool direct_;
  int swizzle_;
};

/// Rows of M * 2^k points at any address and row distance, with signs and in any order: a block takes a tile
/// of whole rows. The lowest stages run inside a warp, on the way in; the others sixteen points at a time
/// through shared memory; the order-M factor last.
template <class S, int M>
__global__ void __launch_bounds__(most_shared_threads(M), sizeof(compute_type<S>) == 4 && M == 1 ? 2 : 1)
    shared_rows(const __grid_constant__ SharedRows<S> rows,
                const __grid_constant__ BaseMatrix<compute_type<S>, M> base) {
  extern __shared__ __align__(1024) unsigned char shared[];
  SharedRowsBlock<S, M>(rows, base, shared).run();
}

}  // namespace papillon::cuda
