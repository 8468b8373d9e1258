// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/quantize_problem.hpp"
#include "papillon/generic/quantize.hpp"

namespace papillon::generic {

/// What elements of one column add to its errors.
struct ErrorSums {
  double squared_error = 0;
  double squared_norm = 0;
  double largest = 0;
  std::uint64_t nonfinite_inputs = 0;
  std::uint64_t nonfinite_results = 0;

  KOKKOS_FUNCTION void operator+=(const ErrorSums& other) {
    squared_error += other.squared_error;
    squared_norm += other.squared_norm;
    largest = other.largest > largest ? other.largest : largest;
    nonfinite_inputs += other.nonfinite_inputs;
    nonfinite_results += other.nonfinite_results;
  }
};

/// Rows whose errors are summed one after the other; sums of such blocks are added in their order, so that
/// results depend neither on threads nor on how many rows are worked on at a time.
inline constexpr std::int64_t error_rows = 16;

/// Sums over blocks of `error_rows` rows, a few columns at a time: sums[block * columns + column].
template <class S>
struct SumErrors {
  static constexpr int width = 8;
  detail::RowIndex x_rows;
  const S* x;
  const float* decoded;  ///< `rows` dense rows, from first_row on
  std::int64_t first_row;
  std::int64_t rows;
  std::int64_t columns;
  ErrorSums* sums;

  KOKKOS_FUNCTION std::int64_t column_blocks() const { return (columns + width - 1) / width; }
  std::int64_t count() const { return (rows + error_rows - 1) / error_rows * column_blocks(); }
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::int64_t block = i / column_blocks();
    const std::int64_t first_column = i % column_blocks() * width;
    const std::int64_t left = columns - first_column;
    const int used = left < width ? static_cast<int>(left) : width;
    ErrorSums found[width];
    for (std::int64_t r = block * error_rows; r < (block + 1) * error_rows && r < rows; ++r) {
      const S* row = x + x_rows.offset(first_row + r) + first_column * x_rows.element_stride;
      for (int c = 0; c < used; ++c)
        add(found[c], static_cast<double>(row[c * x_rows.element_stride]),
            static_cast<double>(decoded[r * columns + first_column + c]));
    }
    for (int c = 0; c < used; ++c) sums[block * columns + first_column + c] = found[c];
  }

 private:
  KOKKOS_FUNCTION static bool is_finite(double value) { return value - value == 0.0; }
  KOKKOS_FUNCTION static void add(ErrorSums& sums, double exact, double decoded) {
    if (!is_finite(exact)) {
      ++sums.nonfinite_inputs;
    } else if (!is_finite(decoded)) {
      ++sums.nonfinite_results;
    } else {
      const double error = exact < decoded ? decoded - exact : exact - decoded;
      sums.squared_error += error * error;
      sums.squared_norm += exact * exact;
      if (error > sums.largest) sums.largest = error;
    }
  }
};

/// Adds the sums of blocks of rows to those of the columns, in the order of the rows.
struct AddErrors {
  const ErrorSums* sums;
  std::int64_t blocks;
  std::int64_t columns;
  ErrorSums* totals;

  std::int64_t count() const { return columns; }
  KOKKOS_FUNCTION void operator()(std::int64_t column) const {
    for (std::int64_t b = 0; b < blocks; ++b) totals[column] += sums[b * columns + column];
  }
};

}  // namespace papillon::generic
