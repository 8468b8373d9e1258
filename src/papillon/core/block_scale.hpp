// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/small_float.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon::detail {

PAPILLON_FUNCTION constexpr ElementFormat element_format(BlockFormat format) {
  switch (format) {
    case BlockFormat::mxfp8_e4m3:
    case BlockFormat::fp8_e4m3:
      return ElementFormat::e4m3;
    case BlockFormat::mxfp8_e5m2:
    case BlockFormat::fp8_e5m2:
      return ElementFormat::e5m2;
    case BlockFormat::int8:
      return ElementFormat::int8;
    case BlockFormat::int4:
      return ElementFormat::int4;
    default:
      return ElementFormat::e2m1;
  }
}

/// Formats whose scales are powers of two.
PAPILLON_FUNCTION constexpr bool is_mx(BlockFormat format) {
  return format == BlockFormat::mxfp4 || format == BlockFormat::mxfp8_e4m3 ||
         format == BlockFormat::mxfp8_e5m2;
}
/// Formats whose scales are floats, of blocks of any length.
PAPILLON_FUNCTION constexpr bool has_float_scales(BlockFormat format) {
  return format != BlockFormat::nvfp4 && !is_mx(format);
}

inline constexpr float largest_float = 3.40282347e38f;

PAPILLON_FUNCTION constexpr bool is_usable_scale(float scale) { return scale > 0.0f && is_finite(scale); }

/// The scale of a whole tensor in NVFP4.
struct GlobalScale {
  float decode = 1.0f;  ///< what codes and block scales are multiplied by
  float encode = 1.0f;  ///< about its reciprocal; used by the rule of Transformer Engine alone

  /// The scale that a caller gave or kept. What is not positive and finite acts as 1.
  PAPILLON_FUNCTION static constexpr GlobalScale of(float decode) {
    if (!is_usable_scale(decode)) return {};
    const float reciprocal = 1.0f / decode;
    return {decode, reciprocal < largest_float ? reciprocal : largest_float};
  }

  /// The one that follows from the tensor's largest finite magnitude, so that it becomes 6 · 448.
  PAPILLON_FUNCTION static constexpr GlobalScale from_amax(float amax, ScaleRule rule) {
    constexpr float most = 6.0f * 448.0f;
    if (rule != ScaleRule::transformer_engine) {
      const float decode = amax / most;
      return {decode > 0.0f ? decode : 1.0f, 1.0f};
    }
    float encode = amax > 0.0f ? most / amax : 1.0f;
    if (!(encode < largest_float)) encode = largest_float;
    if (!(encode > 0.0f)) encode = 1.0f;
    return {1.0f / encode, encode};
  }
};

/// What the elements of a block are divided by, or multiplied with, before they are encoded.
struct BlockScale {
  float stored = 0.0f;    ///< float scales: what is stored
  std::uint8_t code = 0;  ///< one-byte scales: what is stored
  float factor = 1.0f;    ///< divisor, or multiplier under the rule of Transformer Engine
  bool multiplies = false;
  bool zero = false;  ///< all codes are 0

  /// The quotient that is encoded.
  PAPILLON_FUNCTION constexpr float apply(float y) const { return multiplies ? y * factor : y / factor; }
};

/// The rules by which blocks get their scales.
struct BlockScaling {
  BlockFormat format = BlockFormat::nvfp4;
  ScaleRule rule = ScaleRule::divide;  ///< not automatic

  /// Whether infinities count in the amax of a block: where the scale's format has a largest number.
  PAPILLON_FUNCTION constexpr bool takes_infinity() const { return !has_float_scales(format); }

  /// max(amax, |y|) over what counts.
  PAPILLON_FUNCTION constexpr float amax(float so_far, float y) const {
    const float size = magnitude(y);
    const bool counts = takes_infinity() || is_finite(y);
    return counts && size > so_far ? size : so_far;  // NaN compares false
  }

  /// The scale of a block with this amax.
  PAPILLON_FUNCTION constexpr BlockScale of(float amax, const GlobalScale& global) const {
    const float largest = largest_element(element_format(format));
    if (has_float_scales(format)) return stored(0, amax / largest, global);
    return stored(code_of(amax, largest, global), 0.0f, global);
  }

  /// The scale that was stored as `code`, or as `scale` where scales are floats.
  PAPILLON_FUNCTION constexpr BlockScale stored(std::uint8_t code, float scale,
                                                const GlobalScale& global) const {
    const float factor = decoded(code, scale, global.decode);
    if (rule != ScaleRule::transformer_engine) {
      return {scale, code, factor, false, factor == 0.0f};
    }
    const float reciprocal = factor > 0.0f ? 1.0f / factor : largest_float;
    return {scale, code, reciprocal < largest_float ? reciprocal : largest_float, true, code == 0};
  }

  /// What the scale says its block's codes are to be multiplied by.
  PAPILLON_FUNCTION constexpr float decoded(std::uint8_t code, float stored, float global) const {
    if (has_float_scales(format)) return stored;
    return is_mx(format) ? decode_e8m0(code) : decode_element(ElementFormat::e4m3, code) * global;
  }

  /// The code of the scale applied to an element.
  PAPILLON_FUNCTION constexpr std::uint8_t encode(const BlockScale& scale, float y,
                                                  const ElementRounding& rounding) const {
    if (scale.zero) return 0;
    const std::uint8_t code = encode_element(element_format(format), scale.apply(y), rounding);
    return scale.multiplies && code == 0x8 ? std::uint8_t{0} : code;  // Transformer Engine has no -0
  }

 private:
  PAPILLON_FUNCTION constexpr std::uint8_t code_of(float amax, float largest,
                                                   const GlobalScale& global) const {
    constexpr SmallFloat e4m3 = small_float(ElementFormat::e4m3);
    constexpr float most = 448.0f;
    if (rule == ScaleRule::round_up) return encode_e8m0_up(amax / largest);
    if (is_mx(format)) return floor_code(amax, exponent_of(largest));
    if (rule == ScaleRule::transformer_engine) {
      constexpr float sixth = 1.0f / 6.0f;
      const float by = global.encode * sixth;
      return encode_float(e4m3, amax * by, most);
    }
    const float sixth = amax / 6.0f;
    return encode_float(e4m3, sixth / global.decode, most);
  }

  /// 2^(floor(log2 amax) - emax) as the OCP microscaling specification has it, section 6.3.
  PAPILLON_FUNCTION static constexpr std::uint8_t floor_code(float amax, int emax) {
    if (amax == 0.0f) return 0;
    if (!is_finite(amax)) return 254;
    const int code = exponent_of(amax) - emax + 127;
    return static_cast<std::uint8_t>(code < 0 ? 0 : code > 254 ? 254 : code);
  }
};

}  // namespace papillon::detail
