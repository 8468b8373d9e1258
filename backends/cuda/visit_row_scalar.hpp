// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <type_traits>

#include "papillon/core/scalar.hpp"

namespace papillon::cuda {

/// run(std::type_identity<S>) for the scalars that the row kernels of the quantiser take.
template <class Run>
cudaError_t visit_row_scalar(ScalarType scalar, const Run& run) {
  switch (scalar) {
    case ScalarType::float16:
      return run(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return run(std::type_identity<bfloat16>{});
    default:
      return run(std::type_identity<float>{});
  }
}

}  // namespace papillon::cuda
