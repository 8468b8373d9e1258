// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "hwy/highway.h"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/simd/tiles.hpp"

// The public functions in terms of the kernels of the instruction set chosen at run time. Included by the
// kernel files, once each, after the kernels; each file then instantiates its types.
namespace papillon::simd {

template <class In, class Out>
void Kernels<In, Out>::hadamard_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                     std::int64_t rows, int log2_n, int first_bit, C scale, C* scratch) {
  using T = Types<In, Out>;
  HWY_EXPORT_T(rows_table, hadamard_rows<T>);
  HWY_DYNAMIC_DISPATCH_T(rows_table)(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale, scratch);
}

template <class In, class Out>
std::size_t Kernels<In, Out>::hadamard_rows_scratch_elements(int log2_n, int first_bit) {
  using T = Types<In, Out>;
  HWY_EXPORT_T(rows_scratch_table, hadamard_rows_scratch_elements<T>);
  return HWY_DYNAMIC_DISPATCH_T(rows_scratch_table)(log2_n, first_bit);
}

template <class In, class Out>
void Kernels<In, Out>::hadamard_columns(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                                        std::int64_t columns, int log2_n, C scale, C* scratch) {
  using T = Types<In, Out>;
  HWY_EXPORT_T(columns_table, hadamard_columns<T>);
  HWY_DYNAMIC_DISPATCH_T(columns_table)(x, x_stride, y, y_stride, columns, log2_n, scale, scratch);
}

template <class In, class Out>
std::size_t Kernels<In, Out>::hadamard_columns_scratch_elements(int log2_n) {
  return with_alignment<C>(columns_scratch<Types<In, Out>>(log2_n));
}

template <class In, class Out>
void Kernels<In, Out>::signed_matrix_columns(const C* signs, int m, const In* x, std::int64_t x_stride,
                                             Out* y, std::int64_t y_stride, std::int64_t columns, C scale,
                                             C* scratch) {
  using T = Types<In, Out>;
  HWY_EXPORT_T(matrix_table, signed_matrix_columns<T>);
  HWY_DYNAMIC_DISPATCH_T(matrix_table)(signs, m, x, x_stride, y, y_stride, columns, scale, scratch);
}

template <class In, class Out>
std::size_t Kernels<In, Out>::signed_matrix_scratch_elements(int m) {
  return with_alignment<C>(m * matrix_tile_columns<C>);
}

}  // namespace papillon::simd
