// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "device.hpp"

namespace papillon::cuda {

/// The order-m matrix in the memory of the device, row-major: copied there at the first use of an order and
/// kept for the life of the program. Allowed while another stream of this thread is being captured.
const std::int8_t* device_base_matrix(const Device& device, std::int64_t m);

}  // namespace papillon::cuda
