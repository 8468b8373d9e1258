// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "papillon/kronecker.hpp"
#include "support/guarded.hpp"
#include "support/mode_oracle.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// A product of random factors with a random array, and its plain statement: the dense matrix, entry by
/// entry, in long double.
template <class T>
struct KroneckerCase {
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

  /// Checks `y`, the result in row-major order, against the bound of the docstring; of every line `sample`
  /// points, or all.
  void check(const std::vector<T>& y, std::optional<std::int64_t> sample = {}) const {
    long double depth = 1;
    for (const Matrix& matrix : matrices)
      depth += static_cast<long double>(turned() ? matrix.rows : matrix.columns);
    const long double u = (is_std_complex<T> ? 3 : 1) * sum_roundoff<T>();
    const long double gamma = depth * u / (1 - depth * u);
    check_dense(ModeShape{shape, axis, options.batch_axis}, length(true), length(false), x, y, options.scale,
                gamma, sample, [&](std::int64_t row, std::int64_t column, std::int64_t batch) {
                  const Wide value = entry(row, column, batch);
                  return DenseEntry{value, std::abs(value)};
                });
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

/// A product of one to four factors, with sides, adjoints, a scale, an axis and perhaps a batch axis at
/// random; of `count` factors each has at most most[count - 1] rows and columns. Its values are not drawn.
template <class T>
KroneckerCase<T> random_product(std::mt19937& random, const std::array<int, 4>& most) {
  const auto pick = [&](int least, int largest) {
    return least + static_cast<int>(random() % static_cast<unsigned>(largest - least + 1));
  };
  KroneckerCase<T> problem;
  const int count = pick(1, 4);
  const int largest = most[static_cast<std::size_t>(count - 1)];
  for (int i = 0; i < count; ++i)
    problem.matrices.push_back({pick(1, largest), pick(1, largest), pick(0, 1) == 1});
  problem.options.vectors = pick(0, 1) == 0 ? papillon::VectorSide::right : papillon::VectorSide::left;
  problem.options.adjoint = pick(0, 1) == 1;
  problem.options.scale = pick(0, 1) == 0 ? 1.0 : -0.3;
  const int rank = pick(1, 4);
  problem.axis = pick(-rank, rank - 1);
  problem.shape.assign(static_cast<std::size_t>(rank), 1);
  for (auto& extent : problem.shape) extent = pick(1, 4);
  problem.shape[problem.position(problem.axis)] = problem.length(false);
  if (rank > 1 && pick(0, 1) == 1) {
    problem.options.batch_axis =
        (static_cast<int>(problem.position(problem.axis)) + pick(1, rank - 1)) % rank;
  }
  return problem;
}

}  // namespace papillon_test
