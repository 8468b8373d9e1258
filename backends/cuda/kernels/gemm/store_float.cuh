// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_float.cuh"

namespace papillon::cuda {

/// C = alpha · sums + beta · C for `Count` neighbouring elements of a row; those from column n on are left
/// out.
template <int Count>
__device__ __forceinline__ void store_sums(const GemmFloatProblem& problem, float* c, int column,
                                           const float (&sums)[Count]) {
  if (column + Count <= problem.n && Count > 1) {
    using Word = std::conditional_t<Count == 4, float4, float2>;
    float values[Count];
    if (problem.beta != 0.0F) *reinterpret_cast<Word*>(values) = *reinterpret_cast<const Word*>(c);
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const float sum = problem.alpha * sums[i];
      values[i] = problem.beta != 0.0F ? __fmaf_rn(problem.beta, values[i], sum) : sum;
    }
    *reinterpret_cast<Word*>(c) = *reinterpret_cast<const Word*>(values);
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      if (column + i >= problem.n) break;
      const float sum = problem.alpha * sums[i];
      c[i] = problem.beta != 0.0F ? __fmaf_rn(problem.beta, c[i], sum) : sum;
    }
  }
}

}  // namespace papillon::cuda
