// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "papillon/hadamard_options.hpp"
#include "papillon/workspace.hpp"

namespace papillon {

/// How the elements and their scales are stored.
enum class BlockFormat {
  nvfp4,       ///< E2M1 elements, an E4M3 scale for 16, one float scale for the tensor
  mxfp4,       ///< E2M1 elements, an E8M0 scale for 32
  mxfp8_e4m3,  ///< E4M3 elements, an E8M0 scale for 32
  mxfp8_e5m2,  ///< E5M2 elements, an E8M0 scale for 32
  fp8_e4m3,    ///< E4M3 elements, a float scale for `block` elements
  fp8_e5m2,    ///< E5M2 elements, a float scale for `block` elements
  int8,        ///< integers -127 … 127, a float scale for `block` elements
  int4,        ///< integers -7 … 7, two a byte, a float scale for `block` elements
};

/// How the scale of a block follows from the largest magnitude in it, its amax.
enum class ScaleRule {
  automatic,           ///< divide (NVFP4), ocp (MX), symmetric (others)
  divide,              ///< NVFP4: s = E4M3((amax / 6) / global), codes E2M1(y / (s · global))
  transformer_engine,  ///< NVFP4 as NVIDIA's Transformer Engine forms it: products with reciprocals
  ocp,                 ///< MX: 2^(floor(log2 amax) - emax), as the OCP specification says
  round_up,            ///< MX: amax over the largest element, rounded up to a power of two (NVIDIA)
  symmetric,           ///< amax over the largest element
};

/// Where the scale of row r and block c lies.
enum class ScaleLayout {
  row_major,  ///< at r · blocks + c
  swizzled,   ///< tiles of 128 x 4 as block-scaled matrix products read them, padding zero; one-byte scales
};

/// Which elements share a scale: B of a row, or B of each of B neighbouring rows (the weights of training),
/// whose scale then stands once for each of the rows.
enum class BlockShape { vector, square };

/// `stochastic` rounds up with a probability of the fraction's first 8 bits, over 256.
enum class Rounding { nearest_even, stochastic };

/// Where the scale of the whole tensor (NVFP4) comes from.
enum class GlobalScaleSource {
  computed,  ///< from the amax of the rotated tensor: a pass over the data more
  given,     ///< `QuantizeOptions::global_scale`
  kept,      ///< what `BlockScaledView::global_scale` holds, from an earlier call; what is not positive and
             ///< finite there acts as 1, stays, and is counted in the statistics
};

/// `QuantizeOptions::rotation`: one transform over the whole axis.
inline constexpr std::int64_t whole_axis = -1;

/// What a call of `quantize` counted. Padding does not count.
struct QuantizeStatistics {
  std::uint64_t nan = 0;                ///< elements
  std::uint64_t infinite = 0;           ///< elements
  std::uint64_t saturated = 0;          ///< finite elements beyond the largest code before rounding
  std::uint64_t zero_scale_blocks = 0;  ///< blocks whose amax is not 0 but whose scale is
  std::uint64_t bad_global_scale = 0;   ///< 1 when a kept scale was not positive and finite: 1 was used
};

/// What to quantise, and how. `dequantize` reads those that describe the codes, and undoes the rotation.
struct QuantizeOptions {
  BlockFormat format = BlockFormat::nvfp4;
  int axis = -1;           ///< along which blocks lie; negative counts from the last
  std::int64_t block = 0;  ///< elements a scale; 0: the format's own, or the whole axis for fp8, int8, int4
  BlockShape block_shape = BlockShape::vector;
  ScaleRule scale_rule = ScaleRule::automatic;
  ScaleLayout scale_layout = ScaleLayout::row_major;
  /// 0: none; g: I ⊗ H_g / √g along the axis, g dividing its length; `whole_axis`: H_n / √n.
  std::int64_t rotation = 0;
  Signs signs = {};  ///< in front of the rotation, one for each point of a group; side `input` alone
  GlobalScaleSource global_scale_source = GlobalScaleSource::computed;
  float global_scale = 0;  ///< with `given`: positive and finite
  Rounding rounding = Rounding::nearest_even;
  std::uint64_t random_seed = 0;             ///< key of the counter-based generator
  std::uint64_t random_offset = 0;           ///< upper half of its counter: another one for each call
  float* amax = nullptr;                     ///< written where not null: the tensor's largest finite |y|
  QuantizeStatistics* statistics = nullptr;  ///< written where not null; where the operator runs, as amax
  Workspace workspace = {};
};

/// Codes and scales, in memory that the caller owns. `Byte` is std::uint8_t or const std::uint8_t.
template <class Byte, class Float>
struct BasicBlockScaledView {
  std::span<Byte> payload;        ///< `QuantizedLayout::payload_bytes`, aligned to 16 bytes
  std::span<Byte> scales;         ///< `QuantizedLayout::scale_bytes`, aligned to 16 bytes
  Float* global_scale = nullptr;  ///< one float for NVFP4; unused otherwise
};
using BlockScaledView = BasicBlockScaledView<std::uint8_t, float>;
using ConstBlockScaledView = BasicBlockScaledView<const std::uint8_t, const float>;

/// How a quantised tensor lies in memory: `rows` rows of codes along the quantised axis, the other axes in
/// their order before it, all dense.
struct QuantizedLayout {
  std::int64_t rows = 0;        ///< product of the other extents
  std::int64_t columns = 0;     ///< length of the quantised axis
  std::int64_t block = 0;       ///< elements that share a scale
  std::int64_t blocks = 0;      ///< of a row; the last may be short
  int element_bits = 0;         ///< 4 or 8
  int scale_element_bytes = 0;  ///< 1, or 4 for a float
  std::int64_t row_bytes = 0;   ///< from row to row of codes; whole blocks for NVFP4 and MX, then zero codes
  std::int64_t scale_rows = 0;  ///< with padding
  std::int64_t scale_columns = 0;  ///< with padding
  ScaleLayout scale_layout = ScaleLayout::row_major;
  std::size_t payload_bytes = 0;
  std::size_t scale_bytes = 0;

  /// Which scale, counted from the first, belongs to row r and block c (or padding behind them).
  PAPILLON_FUNCTION constexpr std::int64_t scale_index(std::int64_t r, std::int64_t c) const {
    if (scale_layout == ScaleLayout::row_major) return r * scale_columns + c;
    return ((r / 128) * (scale_columns / 4) + c / 4) * 512 + (r % 32) * 16 + ((r % 128) / 32) * 4 + c % 4;
  }
};

/// The layout of a tensor of these extents (rank 1 to 4) with `options.format`, `axis`, `block`,
/// `block_shape` and `scale_layout`. Throws std::invalid_argument naming the argument and its value.
QuantizedLayout quantized_layout(std::span<const std::int64_t> extents, const QuantizeOptions& options);

constexpr std::string_view name_of(BlockFormat format) {
  switch (format) {
    case BlockFormat::nvfp4:
      return "nvfp4";
    case BlockFormat::mxfp4:
      return "mxfp4";
    case BlockFormat::mxfp8_e4m3:
      return "mxfp8_e4m3";
    case BlockFormat::mxfp8_e5m2:
      return "mxfp8_e5m2";
    case BlockFormat::fp8_e4m3:
      return "fp8_e4m3";
    case BlockFormat::fp8_e5m2:
      return "fp8_e5m2";
    case BlockFormat::int8:
      return "int8";
    case BlockFormat::int4:
      return "int4";
  }
  return "unknown";
}

constexpr std::string_view name_of(ScaleRule rule) {
  switch (rule) {
    case ScaleRule::automatic:
      return "automatic";
    case ScaleRule::divide:
      return "divide";
    case ScaleRule::transformer_engine:
      return "transformer_engine";
    case ScaleRule::ocp:
      return "ocp";
    case ScaleRule::round_up:
      return "round_up";
    case ScaleRule::symmetric:
      return "symmetric";
  }
  return "unknown";
}

constexpr std::string_view name_of(ScaleLayout layout) {
  return layout == ScaleLayout::row_major ? "row_major" : "swizzled";
}
constexpr std::string_view name_of(BlockShape shape) {
  return shape == BlockShape::vector ? "vector" : "square";
}
constexpr std::string_view name_of(Rounding rounding) {
  return rounding == Rounding::nearest_even ? "nearest_even" : "stochastic";
}
constexpr std::string_view name_of(GlobalScaleSource source) {
  switch (source) {
    case GlobalScaleSource::computed:
      return "computed";
    case GlobalScaleSource::given:
      return "given";
    case GlobalScaleSource::kept:
      return "kept";
  }
  return "unknown";
}

}  // namespace papillon
