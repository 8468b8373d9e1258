// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_map.hpp"

#include <cudaTypedefs.h>

#include <array>

namespace papillon::cuda {
namespace {

PFN_cuTensorMapEncodeTiled_v12000 encode_function() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

}  // namespace

cudaError_t make_tensor_map(CUtensorMap& map, const MatrixBoxes& boxes, int bytes) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = encode_function();
  if (encode == nullptr) return cudaErrorNotSupported;
  const auto in_bytes = [&](std::int64_t elements) {
    return static_cast<cuuint64_t>(elements) * static_cast<cuuint64_t>(bytes);
  };
  const std::array<cuuint64_t, 3> extents{static_cast<cuuint64_t>(boxes.columns),
                                          static_cast<cuuint64_t>(boxes.rows),
                                          static_cast<cuuint64_t>(boxes.batch)};
  // With one matrix its distance to the next is not used, but must be a valid one.
  const std::array<cuuint64_t, 2> strides{in_bytes(boxes.row_stride),
                                          in_bytes(boxes.batch == 1 ? boxes.row_stride : boxes.batch_stride)};
  const std::array<cuuint32_t, 3> box{static_cast<cuuint32_t>(boxes.box_columns),
                                      static_cast<cuuint32_t>(boxes.box_rows), 1};
  const std::array<cuuint32_t, 3> steps{1, 1, 1};
  const CUresult result = encode(
      &map, bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16 : CU_TENSOR_MAP_DATA_TYPE_UINT32, 3,
      const_cast<void*>(boxes.values), extents.data(), strides.data(), box.data(), steps.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, boxes.swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace papillon::cuda
