// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace papillon::cuda {

/// A batch of matrices as the copy engine sees it, the fastest index first.
struct MatrixBoxes {
  const void* values = nullptr;
  std::int64_t columns = 0;
  std::int64_t rows = 0;
  std::int64_t batch = 1;
  std::int64_t row_stride = 0;    ///< elements
  std::int64_t batch_stride = 0;  ///< elements
  int box_columns = 0;            ///< 128 bytes if swizzled, at most 256 elements
  int box_rows = 0;
  bool swizzled = true;
};

/// The map of boxes of `bytes`-byte elements, with the 128-byte swizzle or plain; elements outside read as 0.
/// The driver's function comes through the runtime, so that programs start without a driver.
cudaError_t make_tensor_map(CUtensorMap& map, const MatrixBoxes& boxes, int bytes);

}  // namespace papillon::cuda
