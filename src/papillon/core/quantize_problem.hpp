// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "papillon/core/block_scale.hpp"
#include "papillon/core/philox.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon::detail {

/// The rows of a quantised tensor as they lie in an array of rank 1 to 4: where each starts, and how far
/// apart its elements are.
struct RowIndex {
  static constexpr int max_outer = 3;
  int outer_rank = 0;
  std::int64_t extents[max_outer] = {};
  std::int64_t strides[max_outer] = {};  ///< elements
  std::int64_t element_stride = 1;

  PAPILLON_FUNCTION constexpr std::int64_t offset(std::int64_t row) const {
    std::int64_t offset = 0;
    for (int d = outer_rank - 1; d >= 0; --d) {
      const std::int64_t i = d == 0 ? row : row % extents[d];
      row /= extents[d];
      offset += i * strides[d];
    }
    return offset;
  }
  friend bool operator==(const RowIndex&, const RowIndex&) = default;
};

/// The codes and scales of a call, as kernels address them.
struct QuantizedRows {
  BlockScaling scaling;
  QuantizedLayout layout;
  std::int64_t square_rows = 0;  ///< 0: a scale for a row; else rows of one outer index, B of which share it

  /// Rows that share scales: 1, or B for square blocks.
  PAPILLON_FUNCTION constexpr std::int64_t group_rows() const { return square_rows > 0 ? layout.block : 1; }
  /// Groups of such rows; those of one outer index are cut off at its end.
  PAPILLON_FUNCTION constexpr std::int64_t groups() const {
    if (square_rows == 0) return layout.rows;
    return layout.rows / square_rows * groups_of_index();
  }
  PAPILLON_FUNCTION constexpr std::int64_t first_row(std::int64_t group) const {
    if (square_rows == 0) return group;
    return group / groups_of_index() * square_rows + group % groups_of_index() * layout.block;
  }
  PAPILLON_FUNCTION constexpr std::int64_t row_count(std::int64_t group) const {
    if (square_rows == 0) return 1;
    const std::int64_t left = square_rows - group % groups_of_index() * layout.block;
    return left < layout.block ? left : layout.block;
  }

 private:
  PAPILLON_FUNCTION constexpr std::int64_t groups_of_index() const {
    return (square_rows + layout.block - 1) / layout.block;
  }
};

/// A checked call of `quantize`.
struct QuantizeProblem {
  ScalarType scalar = ScalarType::float32;
  const void* x = nullptr;
  RowIndex x_rows;
  QuantizedRows q;
  std::uint8_t* payload = nullptr;
  std::uint8_t* scales = nullptr;
  float* global_scale = nullptr;  ///< null but for NVFP4
  GlobalScaleSource global_source = GlobalScaleSource::computed;
  float given_scale = 1.0f;
  std::int64_t group = 0;  ///< points of a rotation, 0 for none
  Signs signs;
  bool stochastic = false;
  RoundingBits random;
  float* amax = nullptr;
  QuantizeStatistics* statistics = nullptr;
  Workspace workspace;
  bool empty = false;

  bool computes_global() const {
    return global_scale != nullptr && global_source == GlobalScaleSource::computed;
  }
};

/// A checked call of `dequantize`.
struct DequantizeProblem {
  ScalarType scalar = ScalarType::float32;
  void* y = nullptr;
  RowIndex y_rows;
  QuantizedRows q;
  const std::uint8_t* payload = nullptr;
  const std::uint8_t* scales = nullptr;
  const float* global_scale = nullptr;  ///< null but for NVFP4
  std::int64_t group = 0;
  Signs signs;
  Workspace workspace;
  bool empty = false;
};

/// Checks every argument. Throws std::invalid_argument naming the argument and its value; touches no element.
/// `signs_readable` says whether the host may read the sign vector.
QuantizeProblem make_quantize_problem(const ConstTensorDescriptor& x, const BlockScaledView& q,
                                      const QuantizeOptions& options, bool signs_readable,
                                      const std::string& q_name = "q");
DequantizeProblem make_dequantize_problem(const ConstBlockScaledView& q, const TensorDescriptor& y,
                                          const QuantizeOptions& options, bool signs_readable);

/// Two quantised copies of one array, along two axes.
struct QuantizePair {
  QuantizeProblem first;
  QuantizeProblem second;  ///< without amax and statistics
};
QuantizePair make_quantize_pair(const ConstTensorDescriptor& x, const BlockScaledView& q,
                                const BlockScaledView& q_other, int other_axis,
                                const QuantizeOptions& options, bool signs_readable);

/// The rotation of the rows of a dense float32 (float64 for float64 x) matrix, in place, as a call of
/// `hadamard`: of `quantize`, or with `inverse` that undoes it.
HadamardOptions rotation_options(std::int64_t group, const Signs& signs, bool inverse);

}  // namespace papillon::detail
