// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block-scaled quantisation as documented, one element after the other: what the library is compared with.
// It shares no code with the library and is checked by test_quantizer_oracle.cpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/minifloat_oracle.hpp"
#include "support/philox_oracle.hpp"
#include "support/swizzle_oracle.hpp"

namespace papillon_test::oracle {

enum class Scaling {
  nvfp4_divide,
  nvfp4_transformer_engine,
  mx_ocp,
  mx_round_up,
  symmetric,  ///< one float32 a block
};
enum class GlobalScale { computed, given, kept };

struct Parameters {
  Element element = Element::e2m1;
  Scaling scaling = Scaling::nvfp4_divide;
  std::int64_t block = 16;  ///< elements of a row that share a scale
  std::int64_t lines = 1;   ///< extent of the axis before the quantised one
  bool square = false;      ///< `block` lines of that axis share it too
  bool swizzled = false;
  bool stochastic = false;
  std::uint64_t seed = 0, offset = 0;
  GlobalScale global_scale = GlobalScale::computed;
  float scale_given = 1;  ///< of `given` and `kept`
};

struct Counts {
  std::int64_t nan = 0, infinite = 0, saturated = 0, zero_scale_blocks = 0, bad_global_scale = 0;
  bool operator==(const Counts&) const = default;
};

/// What a quantisation writes.
struct Quantized {
  std::vector<std::uint8_t> payload, scales;
  float global_scale = 1, amax = 0;
  Counts counts;
};

constexpr bool is_nvfp4(Scaling scaling) {
  return scaling == Scaling::nvfp4_divide || scaling == Scaling::nvfp4_transformer_engine;
}
constexpr bool is_mx(Scaling scaling) {
  return scaling == Scaling::mx_ocp || scaling == Scaling::mx_round_up;
}
constexpr std::int64_t scale_bytes(Scaling scaling) { return scaling == Scaling::symmetric ? 4 : 1; }

/// Codes of a row, padding of the last block included.
constexpr std::int64_t codes_per_row(const Parameters& p, std::int64_t n) {
  return p.scaling == Scaling::symmetric ? n : ceil_div(n, p.block) * p.block;
}
constexpr std::int64_t payload_row_bytes(const Parameters& p, std::int64_t n) {
  return bits_of(p.element) == 4 ? ceil_div(codes_per_row(p, n), 2) : codes_per_row(p, n);
}

namespace detail {

// float32 arithmetic, each operation rounded on its own, whatever the compiler would like to merge.
inline float quotient(float a, float b) {
  const volatile float result = a / b;
  return result;
}
inline float product(float a, float b) {
  const volatile float result = a * b;
  return result;
}

inline constexpr float float_max = std::numeric_limits<float>::max();

/// The scale of a block: its stored code or value, and how elements are divided by it.
struct BlockScale {
  std::uint32_t stored = 0;  ///< E4M3 or E8M0 code, or the bits of a float32
  float value = 0;           ///< what a code is multiplied with to decode it
  bool zero = false;         ///< every code is 0
  bool multiply = false;     ///< multiply by `multiplier` instead of dividing by `value`
  float multiplier = 0;
};

/// Scale of the whole tensor as float32, and its reciprocal S_enc, which one rule starts from.
struct TensorScale {
  float stored = 1, encode = 1;
};

inline TensorScale tensor_scale(const Parameters& p, float amax, Counts& counts) {
  TensorScale scale;
  const bool reciprocal = p.scaling == Scaling::nvfp4_transformer_engine;
  if (p.global_scale == GlobalScale::computed) {
    if (reciprocal) {
      scale.encode = amax == 0 ? 1.0f : std::min(quotient(2688.0f, amax), float_max);
      if (scale.encode == 0) scale.encode = 1;
      scale.stored = quotient(1.0f, scale.encode);
    } else {
      scale.stored = quotient(amax, 2688.0f);
      if (scale.stored == 0) scale.stored = 1;
    }
    return scale;
  }
  scale.stored = p.scale_given;
  if (!(scale.stored > 0 && std::isfinite(scale.stored))) {
    counts.bad_global_scale = 1;
    scale.stored = 1;
  }
  scale.encode = std::min(quotient(1.0f, scale.stored), float_max);
  return scale;
}

inline BlockScale block_scale(const Parameters& p, float amax, const TensorScale& tensor) {
  BlockScale scale;
  switch (p.scaling) {
    case Scaling::nvfp4_divide:
      scale.stored = encode(Element::e4m3, quotient(quotient(amax, 6.0f), tensor.stored));
      scale.value = product(static_cast<float>(decode(Element::e4m3, scale.stored)), tensor.stored);
      scale.zero = scale.value == 0;
      break;
    case Scaling::nvfp4_transformer_engine: {
      const float sixth = static_cast<float>(1.0 / 6.0);
      scale.stored = encode(Element::e4m3, product(amax, product(tensor.encode, sixth)));
      scale.value = product(static_cast<float>(decode(Element::e4m3, scale.stored)), tensor.stored);
      scale.zero = scale.stored == 0;
      scale.multiply = true;
      scale.multiplier = scale.zero ? 0.0f : std::min(quotient(1.0f, scale.value), float_max);
      break;
    }
    case Scaling::mx_ocp:
      if (std::isinf(amax)) {
        scale.stored = 254;
      } else if (amax > 0) {
        const int largest_exponent = std::ilogb(largest(p.element));
        const int code = std::ilogb(static_cast<double>(amax)) - largest_exponent + 127;
        scale.stored = static_cast<std::uint32_t>(std::clamp(code, 0, 254));
      }
      scale.value = decode_e8m0(scale.stored);
      break;
    case Scaling::mx_round_up:
      scale.stored = encode_e8m0_up(quotient(amax, static_cast<float>(largest(p.element))));
      scale.value = decode_e8m0(scale.stored);
      break;
    case Scaling::symmetric:
      scale.value = quotient(amax, static_cast<float>(largest(p.element)));
      std::memcpy(&scale.stored, &scale.value, sizeof scale.value);
      scale.zero = scale.value == 0;
      break;
  }
  return scale;
}

/// The code of `value`, whose place in the tensor draws its random byte.
inline unsigned element_code(const Parameters& p, const BlockScale& scale, float value,
                             std::uint64_t position, Counts& counts) {
  if (scale.zero) return 0;
  const float scaled = scale.multiply ? product(value, scale.multiplier) : quotient(value, scale.value);
  if (std::isfinite(value) && static_cast<double>(std::fabs(scaled)) > largest(p.element)) ++counts.saturated;
  const unsigned code = p.stochastic
                            ? encode_stochastic(p.element, scaled, random_byte(p.seed, p.offset, position))
                            : encode(p.element, scaled);
  return p.scaling == Scaling::nvfp4_transformer_engine && code == 0x8u ? 0u : code;
}

}  // namespace detail

/// Quantises `y`, rows x n in row-major order and already rotated.
inline Quantized quantize(const std::vector<float>& y, std::int64_t rows, std::int64_t n,
                          const Parameters& p) {
  Quantized q;
  for (const float value : y) {
    if (std::isfinite(value)) q.amax = std::max(q.amax, std::fabs(value));
    if (std::isnan(value)) ++q.counts.nan;
    if (std::isinf(value)) ++q.counts.infinite;
  }
  const std::int64_t blocks = ceil_div(n, p.block), row_bytes = payload_row_bytes(p, n);
  const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
  q.payload.assign(size(rows * row_bytes), 0);
  q.scales.assign(size((p.swizzled ? swizzled_bytes(rows, blocks) : rows * blocks) * scale_bytes(p.scaling)),
                  0);
  if (y.empty()) {  // nothing is read, nothing is counted
    if (p.global_scale != GlobalScale::computed) q.global_scale = p.scale_given;
    return q;
  }
  detail::TensorScale tensor;
  if (is_nvfp4(p.scaling)) {
    tensor = detail::tensor_scale(p, q.amax, q.counts);
    q.global_scale = p.global_scale == GlobalScale::computed ? tensor.stored : p.scale_given;
  }
  for (std::int64_t first = 0, last = 0; first < rows; first = last) {  // the rows that share their scales
    const std::int64_t line = first % p.lines;
    last = first + (p.square ? std::min(p.block, p.lines - line) : 1);
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = b * p.block, end = std::min(begin + p.block, n);
      float amax = 0;
      for (std::int64_t r = first; r < last; ++r)
        for (std::int64_t i = begin; i < end; ++i) {
          const float value = std::fabs(y[size(r * n + i)]);
          if (p.scaling == Scaling::symmetric ? std::isfinite(value) : !std::isnan(value))
            amax = std::max(amax, value);
        }
      const auto scale = detail::block_scale(p, amax, tensor);
      if (amax != 0 && scale.zero) ++q.counts.zero_scale_blocks;
      for (std::int64_t r = first; r < last; ++r) {
        if (p.scaling == Scaling::symmetric)
          std::memcpy(&q.scales[size(4 * (r * blocks + b))], &scale.value, 4);
        else
          q.scales[size(p.swizzled ? swizzled_offset(r, b, blocks) : r * blocks + b)] =
              static_cast<std::uint8_t>(scale.stored);
        for (std::int64_t i = begin; i < end; ++i) {
          const auto position = static_cast<std::uint64_t>(r * (16 * ceil_div(n, 16)) + i);
          const unsigned code = detail::element_code(p, scale, y[size(r * n + i)], position, q.counts);
          if (bits_of(p.element) == 8)
            q.payload[size(r * row_bytes + i)] = static_cast<std::uint8_t>(code);
          else
            q.payload[size(r * row_bytes + i / 2)] |= static_cast<std::uint8_t>(code << (4 * (i % 2)));
        }
      }
    }
  }
  return q;
}

/// The values that the codes stand for, rows x n, before an inverse rotation.
inline std::vector<float> dequantize(const Quantized& q, std::int64_t rows, std::int64_t n,
                                     const Parameters& p) {
  const std::int64_t blocks = ceil_div(n, p.block), row_bytes = payload_row_bytes(p, n);
  std::vector<float> y;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t byte = bits_of(p.element) == 8 ? i : i / 2, b = i / p.block;
      unsigned code = q.payload[static_cast<std::size_t>(r * row_bytes + byte)];
      if (bits_of(p.element) == 4) code = i % 2 == 0 ? code & 15u : code >> 4;
      const std::int64_t at = p.swizzled ? swizzled_offset(r, b, blocks) : r * blocks + b;
      float scale = 0;
      if (p.scaling == Scaling::symmetric)
        std::memcpy(&scale, &q.scales[static_cast<std::size_t>(4 * at)], 4);
      else if (is_mx(p.scaling))
        scale = decode_e8m0(q.scales[static_cast<std::size_t>(at)]);
      else
        scale =
            detail::product(static_cast<float>(decode(Element::e4m3, q.scales[static_cast<std::size_t>(at)])),
                            q.global_scale);
      y.push_back(detail::product(static_cast<float>(decode(p.element, code)), scale));
    }
  return y;
}

}  // namespace papillon_test::oracle
