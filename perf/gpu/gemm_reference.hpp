// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "papillon/core/scalar.hpp"

namespace papillon::perf {

/// Fills `count` elements with normally distributed values of mean 0 and variance 1.
cudaError_t fill_gaussian(void* x, ScalarType type, std::size_t count, unsigned seed, cudaStream_t stream);

/// Row-major matrices C = A B, densely stored, that were computed.
struct ComputedProduct {
  const void* a;
  const void* b;
  const void* c;
  ScalarType in;
  ScalarType out;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// sqrt(Σ (C - exact)² / Σ exact²) over 8192 elements spread over C, against sums in twice double's
/// precision.
double relative_error(const ComputedProduct& product, cudaStream_t stream);

}  // namespace papillon::perf
