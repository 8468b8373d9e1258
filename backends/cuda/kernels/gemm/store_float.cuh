// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/problem_float.cuh"

namespace papillon::cuda {

/// C = alpha · sums + beta · C for four neighbouring elements of a row; those from column n on are left out.
__device__ __forceinline__ void store_sums(const GemmFloatProblem& problem, float* c, int column,
                                           const float (&sums)[4]) {
  const float beta = problem.beta;
  if (column + 4 <= problem.n) {
    float4 old{};
    if (beta != 0.0F) old = *reinterpret_cast<const float4*>(c);
    const auto result = [&](float sum, float before) {
      const float scaled = problem.alpha * sum;
      return beta != 0.0F ? __fmaf_rn(beta, before, scaled) : scaled;
    };
    *reinterpret_cast<float4*>(c) = make_float4(result(sums[0], old.x), result(sums[1], old.y),
                                                result(sums[2], old.z), result(sums[3], old.w));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column + i >= problem.n) break;
      const float scaled = problem.alpha * sums[i];
      c[i] = beta != 0.0F ? __fmaf_rn(beta, c[i], scaled) : scaled;
    }
  }
}

}  // namespace papillon::cuda
