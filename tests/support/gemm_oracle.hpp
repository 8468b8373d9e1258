// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Matrix products by their definition, one sum an element, in long double or in 64-bit integers.

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "papillon/gemm_options.hpp"
#include "support/random.hpp"

namespace papillon_test {

/// Real and imaginary parts of numbers in the arithmetic X.
template <class X>
struct Parts {
  std::vector<X> re;
  std::vector<X> im;  ///< empty unless `complex`
  bool complex = false;
};

template <class X, class T>
X part_as(const T& value) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return static_cast<X>(value);
  } else {
    return static_cast<X>(static_cast<float>(value));
  }
}

template <class X, class T>
Parts<X> parts_of(const std::vector<T>& values) {
  Parts<X> result{{}, {}, is_std_complex<T>};
  for (const T& value : values) {
    if constexpr (is_std_complex<T>) {
      result.re.push_back(part_as<X>(value.real()));
      result.im.push_back(part_as<X>(value.imag()));
    } else {
      result.re.push_back(part_as<X>(value));
    }
  }
  return result;
}

/// Extents of op(A) = m x k, op(B) = k x n and C = m x n, all row-major and, where stored as they are named
/// by an operation, turned; `batch` matrices of C, and as many of A and B or one for all.
struct ProductShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
  bool a_batched = false;
  bool b_batched = false;
  papillon::MatrixOperation op_a = papillon::MatrixOperation::none;
  papillon::MatrixOperation op_b = papillon::MatrixOperation::none;
};

inline bool turns(papillon::MatrixOperation operation) {
  return operation == papillon::MatrixOperation::transpose ||
         operation == papillon::MatrixOperation::conjugate_transpose;
}
inline bool conjugates(papillon::MatrixOperation operation) {
  return operation == papillon::MatrixOperation::conjugate ||
         operation == papillon::MatrixOperation::conjugate_transpose;
}

/// op(X) of `rows` x `columns` elements, one batch entry after the other, from what is stored.
template <class X>
Parts<X> operated(const Parts<X>& stored, papillon::MatrixOperation operation, std::int64_t rows,
                  std::int64_t columns) {
  Parts<X> result = stored;
  const auto size = static_cast<std::size_t>(rows * columns);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::size_t first = 0; turns(operation) && first < stored.re.size(); first += size) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        result.re[first + at(i * columns + j)] = stored.re[first + at(j * rows + i)];
        if (stored.complex) result.im[first + at(i * columns + j)] = stored.im[first + at(j * rows + i)];
      }
    }
  }
  if (conjugates(operation))
    for (X& value : result.im) value = -value;
  return result;
}

/// op(A) op(B) of every batch entry.
template <class X>
Parts<X> oracle_product(const ProductShape& shape, const Parts<X>& stored_a, const Parts<X>& stored_b) {
  const Parts<X> a = operated(stored_a, shape.op_a, shape.m, shape.k);
  const Parts<X> b = operated(stored_b, shape.op_b, shape.k, shape.n);
  Parts<X> c{{}, {}, a.complex};
  for (std::int64_t e = 0; e < shape.batch; ++e) {
    const std::int64_t a_first = shape.a_batched ? e * shape.m * shape.k : 0;
    const std::int64_t b_first = shape.b_batched ? e * shape.k * shape.n : 0;
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        X re = 0, im = 0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          const auto x = static_cast<std::size_t>(a_first + i * shape.k + l);
          const auto y = static_cast<std::size_t>(b_first + l * shape.n + j);
          re += a.re[x] * b.re[y];
          if (!c.complex) continue;
          re -= a.im[x] * b.im[y];
          im += a.re[x] * b.im[y] + a.im[x] * b.re[y];
        }
        c.re.push_back(re);
        if (c.complex) c.im.push_back(im);
      }
    }
  }
  return c;
}

/// alpha · product + beta · c, in place of the product; a factor of 0 does not read what it multiplies.
template <class X>
void oracle_combine(Parts<X>& product, std::complex<double> alpha, std::complex<double> beta,
                    const Parts<X>& c) {
  const auto scaled = [](std::complex<double> factor, const Parts<X>& values, std::size_t i, X& re, X& im) {
    if (factor == 0.0) return;
    const X f = static_cast<X>(factor.real()), g = static_cast<X>(factor.imag());
    re += f * values.re[i];
    if (!values.complex) return;
    re -= g * values.im[i];
    im += f * values.im[i] + g * values.re[i];
  };
  for (std::size_t i = 0; i < product.re.size(); ++i) {
    X re = 0, im = 0;
    scaled(alpha, product, i, re, im);
    scaled(beta, c, i, re, im);
    product.re[i] = re;
    if (product.complex) product.im[i] = im;
  }
}

/// The numbers' absolute values.
inline Parts<long double> magnitudes(const Parts<long double>& values) {
  Parts<long double> result;
  for (std::size_t i = 0; i < values.re.size(); ++i)
    result.re.push_back(values.complex ? std::hypot(values.re[i], values.im[i]) : std::abs(values.re[i]));
  return result;
}

/// Unit roundoff of the sums of T, and of its own numbers.
template <class T>
constexpr long double product_roundoff() {
  return std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>> ? 0x1p-53L : 0x1p-24L;
}
template <class T>
constexpr long double storage_roundoff() {
  if constexpr (std::is_same_v<T, papillon::half>) return 0x1p-11L;
  if constexpr (std::is_same_v<T, papillon::bfloat16>) return 0x1p-8L;
  return 0;
}

}  // namespace papillon_test
