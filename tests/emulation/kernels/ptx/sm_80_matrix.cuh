// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "kernels/arithmetic.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"

namespace papillon::cuda::ptx {

inline std::uint16_t matrix_value(std::uint32_t row_address, unsigned column) {
  std::uint16_t value;
  __builtin_memcpy(&value, shared_place(row_address, 16) + 2 * column, 2);
  return value;
}

template <bool Transposed>
void load_four(std::uint32_t address, std::uint32_t (&matrices)[4]) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = lane / 4, column = lane % 4 * 2;
  papillon_test::emulation::share(address, [&](const auto& address_of) {
    for (unsigned i = 0; i < 4; ++i) {
      std::uint32_t values[2];
      for (unsigned next = 0; next < 2; ++next) {
        values[next] = Transposed ? matrix_value(address_of(8 * i + column + next), row)
                                  : matrix_value(address_of(8 * i + row), column + next);
      }
      matrices[i] = values[0] | values[1] << 16;
    }
  });
}
inline void load_matrices(std::uint32_t address, std::uint32_t (&matrices)[4]) {
  load_four<false>(address, matrices);
}
inline void load_transposed(std::uint32_t address, std::uint32_t (&matrices)[4]) {
  load_four<true>(address, matrices);
}

template <class S>
void multiply_add_16(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1, float (&sums)[4]) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned row = lane / 4, column = lane % 4 * 2;
  const std::uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  papillon_test::emulation::share(&own[0], [&](const auto& words_of) {
    for (unsigned k = 0; k < 16; k += 2) {
      const unsigned quarter = k / 2 % 4, part = k / 8;
      for (unsigned below = 0; below < 2; ++below) {
        float x[2];
        unpack_pair<S>(words_of(row * 4 + quarter)[part * 2 + below], x[0], x[1]);
        for (unsigned next = 0; next < 2; ++next) {
          float y[2];
          unpack_pair<S>(words_of((column + next) * 4 + quarter)[4 + part], y[0], y[1]);
          sums[below * 2 + next] += x[0] * y[0];
          sums[below * 2 + next] += x[1] * y[1];
        }
      }
    }
  });
}

inline void multiply_add_8(double a0, double a1, double a2, double a3, double b0, double b1,
                           double (&sums)[4]) {
  const unsigned lane = threadIdx.x % 32;
  const double own[6] = {a0, a1, a2, a3, b0, b1};
  papillon_test::emulation::share(&own[0], [&](const auto& values_of) {
    for (unsigned k = 0; k < 8; ++k)
      for (unsigned i = 0; i < 4; ++i) {
        const double a = values_of(lane / 4 * 4 + k % 4)[k / 4 * 2 + i / 2];
        const double b = values_of((lane % 4 * 2 + i % 2) * 4 + k % 4)[4 + k / 4];
        sums[i] = __fma_rn(a, b, sums[i]);
      }
  });
}

}  // namespace papillon::cuda::ptx
