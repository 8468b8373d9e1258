// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "device.hpp"
#include "gemm.hpp"
#include "papillon/core/scalar.hpp"

namespace papillon::cuda {

// cuBLAS, looked for when it is first wanted: libcublas.so.13 or .12, as the loader finds them. Nothing of it
// is needed to build Papillon.

/// Empty when cuBLAS can be called; else why not, in one sentence.
const std::string& why_no_cublas();

/// Bytes of workspace of a call, as cuBLAS recommends for Hopper.
inline constexpr std::size_t cublas_workspace_bytes = std::size_t{32} << 20;

/// The product by cuBLAS, in the caller's workspace. Throws std::runtime_error when cuBLAS fails.
void cublas_gemm(cudaStream_t stream, const Device& device, ScalarType in, ScalarType out,
                 const GemmProduct& product, void* workspace);

}  // namespace papillon::cuda
