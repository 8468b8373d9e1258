// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "device.hpp"
#include "kernels/small_base.cuh"

namespace papillon::cuda {

/// The signs of the order-m matrix, or of its transpose; all zero where m is 1 or more than 64.
SmallBase small_base(std::int64_t m, bool transpose);

/// The order-m matrix in the memory of the device, row-major: copied there at the first use of an order and
/// kept for the life of the program. Allowed while another stream of this thread is being captured.
const std::int8_t* device_base_matrix(const Device& device, std::int64_t m);

}  // namespace papillon::cuda
