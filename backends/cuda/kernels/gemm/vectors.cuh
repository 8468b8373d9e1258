// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"

namespace papillon::cuda {

/// What V elements of S fill: a type that is read and written by one instruction.
template <int Bytes>
struct WordOfBytes;
template <>
struct WordOfBytes<2> {
  using type = std::uint16_t;
};
template <>
struct WordOfBytes<4> {
  using type = std::uint32_t;
};
template <>
struct WordOfBytes<8> {
  using type = uint2;
};
template <>
struct WordOfBytes<16> {
  using type = uint4;
};
template <class S, int V>
using Word = typename WordOfBytes<static_cast<int>(sizeof(S)) * V>::type;

template <class S, int V>
struct Elements {
  S values[V];
};

template <class S, int V>
__device__ __forceinline__ void load_word(const S* source, compute_type<S> (&values)[V]) {
  const auto elements = __builtin_bit_cast(Elements<S, V>, *reinterpret_cast<const Word<S, V>*>(source));
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = load_converted<S>(elements.values[i]);
}

template <class S, int V>
__device__ __forceinline__ void store_word(S* target, const compute_type<S> (&values)[V]) {
  Elements<S, V> elements;
#pragma unroll
  for (int i = 0; i < V; ++i) elements.values[i] = rounded<S>(values[i]);
  // The intrinsic, since the compiler splits a plain store of a word into its elements in some kernels.
  __stcg(reinterpret_cast<Word<S, V>*>(target), __builtin_bit_cast(Word<S, V>, elements));
}

/// V elements of a row of `left` elements from here on; those it lacks are 0.
template <class S, int V>
__device__ __forceinline__ void load_elements(const S* source, std::int64_t stride, std::int64_t left,
                                              compute_type<S> (&values)[V]) {
  if (left >= V && (V == 1 || stride == 1)) {
    load_word<S, V>(source, values);
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    values[i] = i < left ? load_converted<S>(source[i * stride]) : compute_type<S>{0};
}

/// Stores V elements of a row of `left` elements from here on.
template <class S, int V>
__device__ __forceinline__ void store_elements(S* target, std::int64_t stride, std::int64_t left,
                                               const compute_type<S> (&values)[V]) {
  if (left >= V && (V == 1 || stride == 1)) {
    store_word<S, V>(target, values);
    return;
  }
#pragma unroll
  for (int i = 0; i < V; ++i)
    if (i < left) target[i * stride] = rounded<S>(values[i]);
}

__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

/// target = alpha · sums + beta · target, for V elements of a row of `left` from here on.
template <class C, class Out, int V>
__device__ __forceinline__ void finish_elements(Out* target, std::int64_t stride, std::int64_t left,
                                                const C (&sums)[V], C alpha, C beta) {
  C old[V] = {};
  if (beta != C{0}) load_elements<Out, V>(target, stride, left, old);
  C results[V];
#pragma unroll
  for (int i = 0; i < V; ++i)
    results[i] = beta != C{0} ? fused(alpha, sums[i], beta * old[i]) : alpha * sums[i];
  store_elements<Out, V>(target, stride, left, results);
}

}  // namespace papillon::cuda
