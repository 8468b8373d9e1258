// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/gemm_problem.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "papillon/core/errors.hpp"
#include "papillon/core/mode_product.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/core/tensor_checks.hpp"
#include "papillon/gemm_options.hpp"

namespace papillon {
namespace {

template <class Pointer>
BasicTensorDescriptor<Pointer> matrix(std::string_view name, Pointer data, ScalarType type, std::int64_t rows,
                                      std::int64_t columns, std::int64_t leading_dimension, bool row_major) {
  const std::int64_t least = row_major ? columns : rows;
  if (leading_dimension < least || leading_dimension < 1) {
    throw_invalid_argument(name, "leading_dimension = ", leading_dimension, " is less than the ", least,
                           row_major ? " columns of a row" : " rows of a column");
  }
  BasicTensorDescriptor<Pointer> result{data, type, 2, {rows, columns}, {}};
  result.strides[0] = row_major ? leading_dimension : 1;
  result.strides[1] = row_major ? 1 : leading_dimension;
  return result;
}

}  // namespace

ConstTensorDescriptor row_major_matrix(const void* data, ScalarType type, std::int64_t rows,
                                       std::int64_t columns, std::int64_t leading_dimension) {
  return matrix("row_major_matrix", data, type, rows, columns, leading_dimension, true);
}
TensorDescriptor row_major_matrix(void* data, ScalarType type, std::int64_t rows, std::int64_t columns,
                                  std::int64_t leading_dimension) {
  return matrix("row_major_matrix", data, type, rows, columns, leading_dimension, true);
}
ConstTensorDescriptor column_major_matrix(const void* data, ScalarType type, std::int64_t rows,
                                          std::int64_t columns, std::int64_t leading_dimension) {
  return matrix("column_major_matrix", data, type, rows, columns, leading_dimension, false);
}
TensorDescriptor column_major_matrix(void* data, ScalarType type, std::int64_t rows, std::int64_t columns,
                                     std::int64_t leading_dimension) {
  return matrix("column_major_matrix", data, type, rows, columns, leading_dimension, false);
}

namespace detail {
namespace {

constexpr std::string_view gemm_name = "gemm";

std::string strides_text(const ConstTensorDescriptor& tensor) {
  return to_text(std::span(tensor.strides.data(), static_cast<std::size_t>(tensor.rank)));
}

bool is_product_scalar(ScalarType type) { return !is_integer(type); }

bool is_16bit(ScalarType type) { return size_of(type) == 2; }

/// Extents and strides of the matrix in a descriptor of rank 2 or 3, whose first axis is then the batch.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t batch = 1;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
};

Matrix matrix_of(const ConstTensorDescriptor& tensor) {
  const std::size_t first = tensor.rank == 3 ? 1 : 0;
  Matrix result{tensor.extents[first], tensor.extents[first + 1], 1, tensor.strides[first],
                tensor.strides[first + 1]};
  if (tensor.rank == 3) {
    result.batch = tensor.extents[0];
    result.batch_stride = tensor.extents[0] > 1 ? tensor.strides[0] : 0;
  }
  return result;
}

void check_matrix(const ConstTensorDescriptor& tensor, std::string_view name) {
  check_tensor(gemm_name, tensor, name);
  if (tensor.rank != 2 && tensor.rank != 3) {
    throw_invalid_argument(gemm_name, name, " has shape ", to_text(tensor.shape()),
                           "; a matrix, or a batch of matrices along the first axis, is taken");
  }
  if (!is_product_scalar(tensor.type)) {
    throw_invalid_argument(gemm_name, name, " holds ", name_of(tensor.type),
                           "; products of real and complex numbers are offered");
  }
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (tensor.extents[i] > 1 && tensor.strides[i] < 0) {
      throw_invalid_argument(gemm_name, name, " of shape ", to_text(tensor.shape()),
                             " has the negative stride ", tensor.strides[i], " along axis ", d);
    }
  }
  // A leading dimension that is too small lets rows overlap; one matrix for all of a batch is right.
  ConstTensorDescriptor one = tensor;
  if (one.rank == 3 && one.strides[0] == 0) one.extents[0] = one.extents[0] > 0 ? 1 : 0;
  if (overlaps_itself(one)) {
    throw_invalid_argument(gemm_name, name, " of shape ", to_text(tensor.shape()), " and strides ",
                           strides_text(tensor),
                           " has several indices for one element: its leading dimension is too small");
  }
}

template <class Enum>
void check_value(Enum value, Enum last, std::string_view name) {
  if (static_cast<int>(value) < 0 || value > last)
    throw_invalid_argument(gemm_name, name, " has the unknown value ", static_cast<int>(value));
}

void check_factor(std::complex<double> factor, ScalarType type, std::string_view name) {
  if (!is_complex(type) && factor.imag() != 0) {
    throw_invalid_argument(gemm_name, name, " = ", factor, " is complex but A holds ", name_of(type));
  }
}

Matrix operand(const ConstTensorDescriptor& tensor, MatrixOperation operation, GemmOperand& result) {
  Matrix matrix = matrix_of(tensor);
  if (operation == MatrixOperation::transpose || operation == MatrixOperation::conjugate_transpose) {
    std::swap(matrix.rows, matrix.columns);
    std::swap(matrix.row_stride, matrix.column_stride);
  }
  const bool conjugate =
      operation == MatrixOperation::conjugate || operation == MatrixOperation::conjugate_transpose;
  result = {tensor.data, matrix.row_stride, matrix.column_stride, matrix.batch_stride,
            conjugate && is_complex(tensor.type)};
  return matrix;
}

std::string_view operation_text(MatrixOperation operation) {
  switch (operation) {
    case MatrixOperation::none:
      return "";
    case MatrixOperation::transpose:
      return " (transposed)";
    case MatrixOperation::conjugate_transpose:
      return " (conjugate transposed)";
    case MatrixOperation::conjugate:
      return " (conjugated)";
  }
  return "";
}

void check_batch(const Matrix& matrix, const ConstTensorDescriptor& tensor, std::string_view name,
                 const Matrix& c_matrix, const ConstTensorDescriptor& c) {
  if (tensor.rank == 3 && matrix.batch != c_matrix.batch) {
    throw_invalid_argument(gemm_name, name, " of shape ", to_text(tensor.shape()), " has ", matrix.batch,
                           " matrices but C of shape ", to_text(c.shape()), " has ", c_matrix.batch);
  }
}

void check_algorithm(const GemmOptions& options) {
  check_value(options.algorithm, GemmAlgorithm::table, "algorithm");
  check_value(options.base, GemmBase::cublas, "base");
  if (options.max_levels < -1)
    throw_invalid_argument(gemm_name, "max_levels = ", options.max_levels, "; -1 and more are taken");
  if (options.algorithm != GemmAlgorithm::table) {
    if (!options.tables.empty())
      throw_invalid_argument(gemm_name, "tables has ", options.tables.size(),
                             " entries but algorithm is not table");
    return;
  }
  if (options.tables.empty()) throw_invalid_argument(gemm_name, "algorithm is table but tables is empty");
  for (std::size_t t = 0; t < options.tables.size(); ++t) {
    const BilinearAlgorithm& table = options.tables[t];
    const std::string reason = why_no_matrix_product(table);
    if (!reason.empty()) {
      throw_invalid_argument(gemm_name, "tables[", t, "], ", table.name, " <", table.m, ",", table.k, ",",
                             table.n, "; ", table.rank,
                             ">, is not an algorithm for matrix products: ", reason);
    }
  }
}

}  // namespace

GemmProblem make_gemm_problem(std::complex<double> alpha, const ConstTensorDescriptor& a,
                              const ConstTensorDescriptor& b, std::complex<double> beta,
                              const TensorDescriptor& c, const GemmOptions& options) {
  check_matrix(a, "A");
  check_matrix(b, "B");
  check_matrix(c, "C");
  check_not_repeating(gemm_name, c, "C");
  if (a.type != b.type)
    throw_invalid_argument(gemm_name, "A holds ", name_of(a.type), " but B holds ", name_of(b.type));
  if (c.type != a.type && !(is_16bit(a.type) && c.type == ScalarType::float32)) {
    throw_invalid_argument(gemm_name, "A holds ", name_of(a.type), " but C holds ", name_of(c.type),
                           is_16bit(a.type) ? "; that or float32 is taken" : "");
  }
  check_value(options.op_a, MatrixOperation::conjugate, "op_a");
  check_value(options.op_b, MatrixOperation::conjugate, "op_b");
  check_factor(alpha, a.type, "alpha");
  check_factor(beta, a.type, "beta");
  check_algorithm(options);

  GemmProblem problem;
  const Matrix a_matrix = operand(a, options.op_a, problem.a);
  const Matrix b_matrix = operand(b, options.op_b, problem.b);
  const Matrix c_matrix = matrix_of(c);
  if (a_matrix.columns != b_matrix.rows || a_matrix.rows != c_matrix.rows ||
      b_matrix.columns != c_matrix.columns) {
    throw_invalid_argument(gemm_name, "A of shape ", to_text(a.shape()), operation_text(options.op_a),
                           " times B of shape ", to_text(b.shape()), operation_text(options.op_b),
                           " does not give C of shape ", to_text(c.shape()));
  }
  check_batch(a_matrix, a, "A", c_matrix, c);
  check_batch(b_matrix, b, "B", c_matrix, c);
  check_apart(gemm_name, "A", a, "C", c);
  check_apart(gemm_name, "B", b, "C", c);

  problem.in = a.type;
  problem.out = c.type;
  problem.m = c_matrix.rows;
  problem.n = c_matrix.columns;
  problem.k = a_matrix.columns;
  problem.batch = c_matrix.batch;
  problem.c = c.data;
  problem.c_row_stride = c_matrix.row_stride;
  problem.c_column_stride = c_matrix.column_stride;
  problem.c_batch_stride = c_matrix.batch_stride;
  problem.alpha = alpha;
  problem.beta = beta;
  problem.algorithm = options.algorithm;
  problem.max_levels = options.max_levels;
  problem.tables = options.tables;
  problem.base = options.base;
  problem.max_workspace_bytes = options.max_workspace_bytes;
  problem.workspace = options.workspace;
  return problem;
}

GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem result = problem;
  std::swap(result.m, result.n);
  result.a = problem.b;
  result.b = problem.a;
  std::swap(result.a.row_stride, result.a.column_stride);
  std::swap(result.b.row_stride, result.b.column_stride);
  std::swap(result.c_row_stride, result.c_column_stride);
  return result;
}

}  // namespace detail
}  // namespace papillon
