// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "papillon/kronecker.hpp"
#include "support/guarded.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// A product of random factors with a random array, and its plain statement: the dense matrix, entry by
/// entry, in long double.
template <class T>
struct KroneckerCase {
  using Wide = std::complex<long double>;
  struct Matrix {
    std::int64_t rows, columns;
    bool conjugate = false;
    std::vector<T> values = {};  ///< row-major, all batch entries one after the other
  };

  Shape shape;  ///< of x
  int axis = -1;
  std::vector<Matrix> matrices;
  papillon::KroneckerOptions options = {};
  std::vector<T> x = {};
  std::int64_t batches = 1;

  void draw(std::uint64_t seed) {
    options.axis = axis;
    batches = options.batch_axis ? shape[position(*options.batch_axis)] : 1;
    for (Matrix& matrix : matrices)
      matrix.values =
          random_values<T>(static_cast<std::size_t>(batches * matrix.rows * matrix.columns), ++seed);
    x = random_values<T>(volume(shape), ++seed);
  }

  std::size_t position(int a) const {
    return static_cast<std::size_t>(a < 0 ? a + static_cast<int>(shape.size()) : a);
  }
  bool turned() const { return (options.vectors == papillon::VectorSide::left) != options.adjoint; }
  std::int64_t length(bool of_result) const {
    std::int64_t product = 1;
    for (const Matrix& matrix : matrices) product *= of_result != turned() ? matrix.rows : matrix.columns;
    return product;
  }
  Shape result_shape() const {
    Shape result = shape;
    result[position(axis)] = length(true);
    return result;
  }

  /// Entry (row, column) of the matrix that multiplies a column of batch entry `batch`.
  Wide entry(std::int64_t row, std::int64_t column, std::int64_t batch) const {
    Wide product = 1;
    for (auto matrix = matrices.rbegin(); matrix != matrices.rend(); ++matrix) {
      const std::int64_t rows = turned() ? matrix->columns : matrix->rows;
      const std::int64_t columns = turned() ? matrix->rows : matrix->columns;
      const std::int64_t i = row % rows, j = column % columns;
      row /= rows;
      column /= columns;
      const std::int64_t at = batch * matrix->rows * matrix->columns +
                              (turned() ? j * matrix->columns + i : i * matrix->columns + j);
      const Wide value = wide(matrix->values[static_cast<std::size_t>(at)]);
      product *= matrix->conjugate != options.adjoint ? std::conj(value) : value;
    }
    return product;
  }

  static Wide wide(const T& value) {
    if constexpr (is_std_complex<T>) {
      return {static_cast<long double>(value.real()), static_cast<long double>(value.imag())};
    } else if constexpr (std::is_same_v<T, double>) {
      return static_cast<long double>(value);
    } else {
      return static_cast<long double>(static_cast<float>(value));
    }
  }

  /// Unit roundoff of the sums and of the result.
  static long double sum_roundoff() {
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) return 0x1p-53L;
    return 0x1p-24L;
  }
  static long double result_roundoff() {
    if constexpr (std::is_same_v<T, papillon::half>) return 0x1p-11L;
    if constexpr (std::is_same_v<T, papillon::bfloat16>) return 0x1p-8L;
    return sum_roundoff();
  }

  /// Checks `y`, the result in row-major order, against the bound of the docstring; of every line `sample`
  /// points, or all.
  void check(const std::vector<T>& y, std::optional<std::int64_t> sample = {}) const {
    const std::int64_t n = length(false), m = length(true);
    std::int64_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != position(axis)) (d < position(axis) ? outer : inner) *= shape[d];
    long double depth = 1;
    for (const Matrix& matrix : matrices)
      depth += static_cast<long double>(turned() ? matrix.rows : matrix.columns);
    const long double u = (is_std_complex<T> ? 3 : 1) * sum_roundoff();
    const long double gamma = depth * u / (1 - depth * u);
    const std::int64_t step = sample ? std::max<std::int64_t>(1, m / *sample) : 1;
    REQUIRE(y.size() == static_cast<std::size_t>(outer * m * inner));
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i)
        for (std::int64_t row = sample ? o % step : 0; row < m; row += step) {
          Wide sum = 0;
          long double size = 0;
          for (std::int64_t column = 0; column < n; ++column) {
            const Wide term = entry(row, column, batch_of(o, i)) *
                              wide(x[static_cast<std::size_t>((o * n + column) * inner + i)]);
            sum += term;
            size += std::abs(term);
          }
          const Wide actual = wide(y[static_cast<std::size_t>((o * m + row) * inner + i)]);
          const long double scale = std::abs(static_cast<long double>(options.scale));
          const Wide expected = static_cast<long double>(options.scale) * sum;
          // One result in the range of subnormal 16-bit numbers may be off by half of the smallest.
          const long double smallest = std::is_same_v<T, papillon::half> ? 0x1p-25L : 0.0L;
          const long double bound = gamma * scale * size * (1 + result_roundoff()) +
                                    result_roundoff() * std::abs(expected) + smallest;
          if (std::abs(actual - expected) <= bound) continue;
          INFO("line ", o, ", ", i, " row ", row, ": off by ",
               static_cast<double>(std::abs(actual - expected)), ", bound ", static_cast<double>(bound));
          REQUIRE(false);
        }
    CHECK(true);
  }

  /// The batch entry of a line.
  std::int64_t batch_of(std::int64_t outer, std::int64_t inner) const {
    if (!options.batch_axis) return 0;
    const std::size_t wanted = position(*options.batch_axis);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (d == position(axis)) continue;
      std::int64_t& index = d > position(axis) ? inner : outer;
      if (d == wanted) return index % shape[d];
      index /= shape[d];
    }
    return 0;
  }

  /// The factors in memory laid out as asked, kept in `stored`.
  template <class Space>
  std::vector<papillon::Factor> factors(std::vector<Guarded<T, Space>>& stored, Memory memory) const {
    std::vector<papillon::Factor> result;
    for (const Matrix& matrix : matrices) {
      stored.emplace_back(Shape{batches, matrix.rows, matrix.columns}, memory, matrix.values);
      const auto tensor = stored.back().descriptor();
      result.push_back({tensor.data, tensor.type, matrix.rows, matrix.columns, tensor.strides[1],
                        tensor.strides[2], options.batch_axis ? tensor.strides[0] : 0, matrix.conjugate});
    }
    return result;
  }

  /// Runs the product on guarded arrays laid out as asked.
  template <class Space>
  std::vector<T> run(const Space& space, Memory x_memory = Memory::row_major,
                     Memory y_memory = Memory::row_major, Memory factor_memory = Memory::row_major) const {
    Guarded<T, Space> from(shape, x_memory, x);
    Guarded<T, Space> to(result_shape(), y_memory);
    std::vector<Guarded<T, Space>> stored;
    const auto list = factors(stored, factor_memory);
    const auto before = from.bytes();
    papillon::kronecker(space, list, from.const_descriptor(), to.descriptor(), options);
    space.fence();
    CHECK_MESSAGE(from.bytes() == before, "the input was written");
    CHECK_MESSAGE(to.surroundings_intact(), "something beside the output was written");
    return to.get();
  }
};

}  // namespace papillon_test
