// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace papillon::generic {

/// The order-m base matrix, or its transpose, row-major, as ±1 of type C (float, double, int32, int64): made
/// at the first use of an order and kept. Thread-safe. `m` is an offered base order.
template <class C>
const C* base_signs(std::int64_t m, bool transpose);

}  // namespace papillon::generic
