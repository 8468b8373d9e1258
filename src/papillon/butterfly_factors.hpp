// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "papillon/butterfly_options.hpp"
#include "papillon/core/scalar.hpp"

namespace papillon {

/// The factors of a matrix, F1 first, with their values in host memory, and the permutation that comes before
/// them, if any. `butterfly(space, factors.view(), x, y, {.x_permutation = factors.permutation()})` applies
/// it on a host space. For a device copy `values()` and `permutation()` there and pass `view(copy)` and the
/// copied permutation.
template <Scalar T>
class ButterflyFactors {
 public:
  /// Strides of a factor's values along (i, p, q, j) in elements.
  using Strides = std::array<std::int64_t, 4>;

  /// Adds a factor of pattern (a, b, c, d) after those there are. `values` may be shared by strides of 0.
  void add(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d, const Strides& strides,
           std::span<const T> values);
  void set_permutation(std::vector<std::int64_t> permutation) { permutation_ = std::move(permutation); }

  /// The values of all factors, one factor after the other.
  std::span<const T> values() const { return values_; }
  /// Empty if there is none; see ButterflyOptions::x_permutation.
  std::span<const std::int64_t> permutation() const { return permutation_; }
  /// The factors with their values in this object, which must outlive their use.
  std::vector<ButterflyFactor> view() const { return view(values_.data()); }
  /// The same with the values at a copy of `values()`.
  std::vector<ButterflyFactor> view(const T* copy) const;

 private:
  struct Stored {
    std::int64_t a, b, c, d;
    Strides strides;
    std::int64_t first;  ///< of its values
  };
  std::vector<Stored> factors_;
  std::vector<T> values_;
  std::vector<std::int64_t> permutation_;
};

/// Radices of an FFT at most.
inline constexpr std::int64_t max_fft_radix = 4096;

/// The factors of the discrete Fourier transform of length n >= 1, X[k] = sum over j of x[j] exp(-2 pi i j k
/// / n), with `inverse` exp(+2 pi i j k / n), unscaled like FFTW: the inverse of the first is 1/n times the
/// second. T is std::complex<float> or std::complex<double>.
///
/// One factor for each prime factor r of n, by decimation in time (Cooley and Tukey 1965; van Loan,
/// Computational frameworks for the fast Fourier transform, 1992): the factor of the last, longest transforms
/// comes first. The permutation is the digit reversal of the input. Twiddles are rounded from long double.
/// Throws std::invalid_argument for n < 1 and for n with a prime factor above `max_fft_radix`.
template <Scalar T>
ButterflyFactors<T> fft_factors(std::int64_t n, bool inverse = false);

/// The digit reversal of `fft_factors(n)`, for a power of two the bit reversal: the index of the element that
/// is read for each place.
std::vector<std::int64_t> digit_reversal(std::int64_t n);

/// The factors of the Hadamard matrix H_n (`hadamard_matrix`), unscaled: one for each factor 2 and one for
/// the base order, if n is no power of two. The product gives the bits of `hadamard`. Throws as
/// `hadamard_factorization` does.
template <Scalar T>
ButterflyFactors<T> hadamard_factors(std::int64_t n);

/// `count` dense matrices of `rows` × `columns`, row-major, one after the other.
template <Scalar T>
struct DenseBlocks {
  std::span<const T> values;
  std::int64_t count = 0, rows = 0, columns = 0;
};

/// The two factors of a Monarch matrix (Dao and others 2022), left · right. `right` has r blocks along the
/// diagonal, of pattern (r, rows, columns, 1). `left` has l blocks, of pattern (1, rows, columns, l): block j
/// takes every l-th element from element j on, which is the matrix P L Pᵀ with the block-diagonal L of that
/// literature and its permutation P. Throws std::invalid_argument unless right.count * right.rows =
/// left.columns * left.count and the values fit the sizes.
template <Scalar T>
ButterflyFactors<T> monarch(const DenseBlocks<T>& left, const DenseBlocks<T>& right);

/// log2(n) factors of 2 × 2 rotations by angles drawn from `seed`, the first of pattern (1, 2, 2, n/2): an
/// orthogonal matrix but for the rounding of its entries. n is a power of two; T real or complex.
template <Scalar T>
ButterflyFactors<T> random_orthogonal(std::int64_t n, std::uint64_t seed);

/// The product of factors in host memory as a row-major matrix, without permutation: plain sums in double
/// precision, for tests and small sizes. T is the factors' scalar. Throws std::invalid_argument when
/// neighbours do not fit, for another scalar, and above 2^26 entries.
template <Scalar T>
std::vector<T> to_dense(std::span<const ButterflyFactor> factors);

/// The same, with the permutation.
template <Scalar T>
std::vector<T> to_dense(const ButterflyFactors<T>& factors);

}  // namespace papillon
