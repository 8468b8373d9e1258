// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "papillon/core/scalar.hpp"

/// Single-thread vector kernels of the CPU layer, compiled once for several instruction sets and chosen at
/// run time. Nothing is allocated, nothing is thrown, no argument is checked: callers check and bring the
/// scratch.
///
/// Types. (In, Out) is one of (float, float), (double, double), (int32, int32), (int64, int64) and, for S in
/// {half, bfloat16}, (S, S), (S, float), (float, S); other pairs do not link. C = compute_type<In>: sums are
/// formed in float for 16-bit storage, integers wrap.
///
/// Bits. Butterfly stages run from the lowest index bit to the highest; the scale multiplies once, at the
/// end, and the result is rounded once to Out. So a result does not depend on the instruction set, the number
/// of rows or columns, strides, alignment or tiling (NaN payloads and signs excepted).
///
/// Memory. Pointers are aligned to their element only. Nothing outside the rows or columns is read or
/// written. In place means x == y with equal strides and In == Out; otherwise x and y must not overlap.
/// `scratch` has the number of elements that the function's *_scratch_elements names (none: nullptr is fine),
/// any alignment.
namespace papillon::simd {

/// The kernels of one pair of types; call them through the functions below, which document them.
template <class In, class Out>
struct Kernels {
  using C = compute_type<In>;
  static void hadamard_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                            std::int64_t rows, int log2_n, int first_bit, C scale, C* scratch);
  static std::size_t hadamard_rows_scratch_elements(int log2_n, int first_bit);
  static void hadamard_columns(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride,
                               std::int64_t columns, int log2_n, C scale, C* scratch);
  static std::size_t hadamard_columns_scratch_elements(int log2_n);
  static void signed_matrix_columns(const C* signs, int m, const In* x, std::int64_t x_stride, Out* y,
                                    std::int64_t y_stride, std::int64_t columns, C scale, C* scratch);
  static std::size_t signed_matrix_scratch_elements(int m);
};

/// y[r, :] = scale * (butterflies of x[r, :]) for r < rows, with rows of 2^log2_n contiguous elements, row r
/// at x + r * x_stride and y + r * y_stride (strides in elements). The stages have the distances 2^first_bit
/// ... 2^(log2_n - 1): first_bit 0 is the Hadamard transform H x, 1 that of interleaved complex numbers, and
/// in general that of an array with a contiguous inner extent of 2^first_bit. 0 <= first_bit; first_bit >=
/// log2_n only scales. Fast while a row fits the L2 cache; contiguous short rows share vectors.
template <class In, class Out>
void hadamard_rows(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t rows,
                   int log2_n, int first_bit, compute_type<In> scale, compute_type<In>* scratch) {
  Kernels<In, Out>::hadamard_rows(x, x_stride, y, y_stride, rows, log2_n, first_bit, scale, scratch);
}

/// Elements of C that hadamard_rows needs: for float rows kept between passes 2^log2_n where Out is a 16-bit
/// type, otherwise none.
template <class In, class Out>
std::size_t hadamard_rows_scratch_elements(int log2_n, int first_bit = 0) {
  return Kernels<In, Out>::hadamard_rows_scratch_elements(log2_n, first_bit);
}

/// y[j, i] = scale * sum_k (-1)^popcount(j & k) x[k, i] for j < 2^log2_n, i < columns: the Hadamard transform
/// along j of a matrix whose rows of `columns` contiguous elements start at x + j * x_stride.
/// Any number of columns may be given; give as many as there are, since far rows are best visited KiBs at a
/// time.
template <class In, class Out>
void hadamard_columns(const In* x, std::int64_t x_stride, Out* y, std::int64_t y_stride, std::int64_t columns,
                      int log2_n, compute_type<In> scale, compute_type<In>* scratch) {
  Kernels<In, Out>::hadamard_columns(x, x_stride, y, y_stride, columns, log2_n, scale, scratch);
}

/// Elements of C that hadamard_columns needs, whatever the number of columns: none where y keeps the
/// intermediate values; for a 16-bit Out at most 256 KiB for log2_n <= 12, 64 * 2^log2_n bytes beyond, and a
/// cache line.
template <class In, class Out>
std::size_t hadamard_columns_scratch_elements(int log2_n) {
  return Kernels<In, Out>::hadamard_columns_scratch_elements(log2_n);
}

/// Columns that hadamard_columns works on at a time when C has `compute_size` bytes: split work between
/// threads in multiples of it.
std::int64_t preferred_tile_columns(int log2_n, std::size_t compute_size);

/// y[j, i] = scale * (((s_j0 x[0, i]) + s_j1 x[1, i]) + ...), summed in increasing index order, for j < m and
/// i < columns: the product with a dense matrix of signs +-1, `signs` being row-major m * m in type C, m
/// >= 1.
template <class In, class Out>
void signed_matrix_columns(const compute_type<In>* signs, int m, const In* x, std::int64_t x_stride, Out* y,
                           std::int64_t y_stride, std::int64_t columns, compute_type<In> scale,
                           compute_type<In>* scratch) {
  Kernels<In, Out>::signed_matrix_columns(signs, m, x, x_stride, y, y_stride, columns, scale, scratch);
}

/// Elements of C that signed_matrix_columns needs, whatever the number of columns: 256 m bytes and a cache
/// line.
template <class In, class Out>
std::size_t signed_matrix_scratch_elements(int m) {
  return Kernels<In, Out>::signed_matrix_scratch_elements(m);
}

/// to[i] = from[i] for i < count, rounded to nearest even where `to` is narrower: the bits of the conversions
/// in core/half.hpp. (half, float), (bfloat16, float), (float, half), (float, bfloat16).
template <class In, class Out>
void convert(const In* from, Out* to, std::int64_t count);

/// Name of the instruction set that the kernels use on this machine ("AVX3", "AVX2", "NEON", ...).
const char* active_target();

}  // namespace papillon::simd
