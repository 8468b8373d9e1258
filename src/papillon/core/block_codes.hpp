// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/quantize_problem.hpp"

namespace papillon::detail {

/// Neighbouring elements of a row that are encoded together: they share random words, and end on a byte.
inline constexpr int run_length = 16;

/// What the kernels of a call share: found on the device, so that no host waits for it.
struct QuantizeState {
  std::uint32_t amax_bits = 0;  ///< of the largest finite magnitude so far; such bits order as the numbers do
  GlobalScale global;
};

/// Elements of a matrix of rows, from row `first_row` and column `first_column` on, as float32.
template <class S>
struct RowSource {
  const S* data = nullptr;
  RowIndex rows;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;

  PAPILLON_FUNCTION float operator()(std::int64_t row, std::int64_t column) const {
    return static_cast<float>(
        data[rows.offset(row - first_row) + (column - first_column) * rows.element_stride]);
  }
};

/// The codes and scales that a kernel writes.
struct BlockCodes {
  QuantizedRows q;
  std::uint8_t* payload = nullptr;
  std::uint8_t* scales = nullptr;
  bool stochastic = false;
  RoundingBits random;

  PAPILLON_FUNCTION void store_scale(std::int64_t row, std::int64_t block, const BlockScale& scale) const {
    const std::int64_t index = q.layout.scale_index(row, block);
    if (has_float_scales(q.scaling.format)) {
      reinterpret_cast<float*>(scales)[index] = scale.stored;
    } else {
      scales[index] = scale.code;
    }
  }
  PAPILLON_FUNCTION BlockScale load_scale(std::int64_t row, std::int64_t block,
                                          const GlobalScale& global) const {
    const std::int64_t index = q.layout.scale_index(row, block);
    if (has_float_scales(q.scaling.format))
      return q.scaling.stored(0, reinterpret_cast<const float*>(scales)[index], global);
    return q.scaling.stored(scales[index], 0.0f, global);
  }

  /// Runs of a row, those of its padding too.
  PAPILLON_FUNCTION std::int64_t runs() const {
    const std::int64_t codes = q.layout.element_bits == 4 ? 2 * q.layout.row_bytes : q.layout.row_bytes;
    return (codes + run_length - 1) / run_length;
  }

  /// Encodes run number `run` of a row, whose scales are stored, and counts what is asked for.
  template <class Read>
  PAPILLON_FUNCTION void encode_run(std::int64_t row, std::int64_t run, const GlobalScale& global,
                                    const Read& read, QuantizeStatistics& counts) const {
    const QuantizedLayout& layout = q.layout;
    const float largest = largest_element(element_format(q.scaling.format));
    const std::int64_t first = run * run_length;
    RandomWords words{};
    if (stochastic) words = random.of_run(row * ((layout.columns + run_length - 1) / run_length) + run);
    BlockScale scale;
    std::int64_t block = -1;
    std::uint8_t* target = payload + row * layout.row_bytes;
    std::uint32_t low = 0;
    for (int i = 0; i < run_length; ++i) {
      const std::int64_t column = first + i;
      std::uint32_t code = 0;
      if (column < layout.columns) {
        if (column / layout.block != block) {
          block = column / layout.block;
          scale = load_scale(row, block, global);
        }
        const float y = read(row, column);
        code = q.scaling.encode(scale, y, {stochastic, stochastic ? random_byte(words, i) : 0u});
        if (is_nan(y)) {
          ++counts.nan;
        } else if (!is_finite(y)) {
          ++counts.infinite;
        } else if (!scale.zero && magnitude(scale.apply(y)) > largest) {
          ++counts.saturated;
        }
      }
      if (layout.element_bits == 8) {
        if (column < layout.row_bytes) target[column] = static_cast<std::uint8_t>(code);
      } else if (i % 2 == 0) {
        low = code;
      } else if (column / 2 < layout.row_bytes) {
        target[column / 2] = static_cast<std::uint8_t>(low | code << 4);
      }
    }
  }
};

/// Decodes: what element (row, column) stands for before the rotation is undone.
struct BlockValues {
  QuantizedRows q;
  const std::uint8_t* payload = nullptr;
  const std::uint8_t* scales = nullptr;

  PAPILLON_FUNCTION float operator()(std::int64_t row, std::int64_t column, float global) const {
    const QuantizedLayout& layout = q.layout;
    const std::int64_t index = layout.scale_index(row, column / layout.block);
    const float scale = has_float_scales(q.scaling.format) ? reinterpret_cast<const float*>(scales)[index]
                                                           : q.scaling.decoded(scales[index], 0.0f, global);
    const std::uint8_t* codes = payload + row * layout.row_bytes;
    const std::uint8_t code = layout.element_bits == 8
                                  ? codes[column]
                                  : static_cast<std::uint8_t>(codes[column / 2] >> (4 * (column % 2)) & 0xf);
    return decode_element(element_format(q.scaling.format), code) * scale;
  }
};

}  // namespace papillon::detail
