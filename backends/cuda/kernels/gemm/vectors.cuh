// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"

namespace papillon::cuda {

/// V neighbouring elements, read and written as one word.
template <class S, int V>
struct alignas(sizeof(S) * V) Elements {
  S values[V];
};

/// V elements of a row of `left` elements from here on; those it lacks are 0.
template <class S, int V>
__device__ __forceinline__ void load_elements(const S* source, std::int64_t stride, std::int64_t left,
                                              compute_type<S> (&values)[V]) {
  if (left >= V && (V == 1 || stride == 1)) {
    const auto word = *reinterpret_cast<const Elements<S, V>*>(source);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = load_converted<S>(word.values[i]);
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
    Elements<S, V> word;
#pragma unroll
    for (int i = 0; i < V; ++i) word.values[i] = rounded<S>(values[i]);
    *reinterpret_cast<Elements<S, V>*>(target) = word;
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
