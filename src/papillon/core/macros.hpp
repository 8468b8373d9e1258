// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Marks a function that CUDA or HIP device code may call too. Empty where a plain C++ compiler reads it, so
/// the core needs neither Kokkos nor CUDA.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PAPILLON_FUNCTION __host__ __device__
#else
#define PAPILLON_FUNCTION
#endif
