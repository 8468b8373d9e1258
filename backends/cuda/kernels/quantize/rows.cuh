// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/quantize/encode.cuh"
#include "kernels/quantize/strips.cuh"

namespace papillon::cuda {

/// The scale of the whole tensor, read by every block; one of them stores it.
__device__ __forceinline__ RowScales row_scales(const RowQuantization& problem) {
  detail::GlobalScale global;
  if (problem.global_scale != nullptr) {
    if (problem.global_source == GlobalScaleSource::computed) {
      global = detail::GlobalScale::from_amax(__uint_as_float(*problem.amax_bits), problem.scaling.rule);
    } else {
      global = detail::GlobalScale::of(
          problem.global_source == GlobalScaleSource::given ? problem.given_scale : *problem.global_scale);
    }
    if (problem.global_source != GlobalScaleSource::kept && blockIdx.x == 0 && threadIdx.x == 0)
      *problem.global_scale = global.decode;
  }
  return {problem.scaling, global, 1.0f / global.decode, global.encode * (1.0f / 6.0f),
          is_usual(global.decode) && is_usual(global.encode)};
}

/// Codes and scales of a strip.
template <RowFormat Format, int Strip>
struct CodedStrip {
  static constexpr int runs = Strip / detail::run_length;
  static constexpr int blocks = Format == RowFormat::nvfp4 ? runs : runs / 2;
  using ScaleBytes = std::conditional_t<(blocks > 4), std::uint64_t, std::uint32_t>;
  RunCodes<Format> codes[runs];
  ScaleBytes scales = 0;   ///< a byte a block, from the lowest
  float size = 0.0f;       ///< largest magnitude before the remaining factor, or NaN
  bool usual = true;       ///< magnitudes and scales that the short forms take
  bool saturated = false;  ///< left to another call, with `Saturates`

  __device__ __forceinline__ std::uint32_t word(int i) const {
    return codes[i / RunCodes<Format>::words].word[i % RunCodes<Format>::words];
  }
};

/// What of a call is the same for every strip.
struct RowCall {
  RowScales scales;
  float factor;  ///< that rotated values are still to be multiplied by
  StripSigns signs;
  const Reciprocal* table;  ///< NVFP4: of each scale
};

template <RowFormat Format, int Strip, bool Stochastic, bool Saturates>
__device__ __forceinline__ CodedStrip<Format, Strip> encode_strip(const RowQuantization& problem,
                                                                  const RowCall& call, const float* values,
                                                                  std::int64_t number) {
  using Coded = CodedStrip<Format, Strip>;
  using ScaleBytes = typename Coded::ScaleBytes;
  Coded strip;
  const RowScales& scales = call.scales;
  const bool multiplies = problem.scaling.rule == ScaleRule::transformer_engine;
  const bool e5m2 = problem.scaling.format == BlockFormat::mxfp8_e5m2;
  if constexpr (Format == RowFormat::nvfp4) strip.usual = scales.usual;
  const auto encode = [&](int run, Reciprocal by) {
    detail::RandomWords random{};
    if constexpr (Stochastic) random = problem.random.of_run(number * strip.runs + run);
    strip.codes[run] =
        encode_run<Format, Stochastic, Saturates>(values + run * detail::run_length, by, random, e5m2);
  };
#pragma unroll
  for (int pair = 0; pair < strip.runs; pair += 2) {
    const float* const v = values + pair * detail::run_length;
    const float sizes[2] = {run_amax(v), run_amax(v + detail::run_length)};
    const float size = ptx::max_or_nan(sizes[0], sizes[1]);
    strip.size = pair == 0 ? size : ptx::max_or_nan(strip.size, size);
    if constexpr (Format == RowFormat::nvfp4) {
      float wanted[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float amax = sizes[h] * call.factor;
        strip.usual = strip.usual & is_usual_or_zero(amax);
        wanted[h] = multiplies ? amax * scales.encode_sixth
                               : quotient(quotient(amax, 6.0f, 1.0f / 6.0f), scales.global.decode,
                                          scales.global_reciprocal);
      }
      const std::uint32_t bytes = ptx::to_e4m3(wanted[0], wanted[1]);
      strip.scales |= static_cast<ScaleBytes>(bytes) << (8 * pair);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t byte = bytes >> (8 * h) & 0x7fu;
        const Reciprocal by = call.table[byte];
        // Values up to 7 round to codes that exist; only the largest scale leaves more.
        strip.saturated = strip.saturated | (sizes[h] * by.high > 6.9f);
        encode(pair + h, by);
        if (multiplies) {
          strip.codes[pair + h].word[0] = without_negative_zeros(strip.codes[pair + h].word[0]);
          strip.codes[pair + h].word[1] = without_negative_zeros(strip.codes[pair + h].word[1]);
        }
        if (byte == 0) strip.codes[pair + h] = {};
      }
    } else {
      const float largest = detail::largest_element(detail::element_format(problem.scaling.format));
      const float amax = size * call.factor;
      strip.usual = strip.usual & is_usual_or_zero(amax);
      std::uint32_t byte = 0;
      Reciprocal by = {1.0f, 0.0f};
      if (amax != 0.0f) {  // which a size may be scaled to
        if (problem.scaling.rule == ScaleRule::round_up) {
          const std::uint32_t bits = __float_as_uint(quotient(amax, largest, 1.0f / largest));
          byte = (bits >> 23) + ((bits & 0x7fffffu) != 0 ? 1 : 0);
        } else {
          byte = (__float_as_uint(amax) >> 23) - static_cast<std::uint32_t>(detail::exponent_of(largest));
        }
        by.high = __uint_as_float((254u - byte) << 23) * call.factor;
      }
      encode(pair, by);
      encode(pair + 1, by);
      strip.scales |= static_cast<ScaleBytes>(byte) << (4 * pair);
    }
  }
  return strip;
}

/// 16-byte vectors of a strip's codes.
template <RowFormat Format, int Strip>
inline constexpr int code_vectors = CodedStrip<Format, Strip>::runs * RunCodes<Format>::words / 4;

/// Writes the codes of a strip, by any lanes.
template <RowFormat Format, int Strip>
__device__ __forceinline__ void store_codes(const RowQuantization& problem, std::int64_t number,
                                            const CodedStrip<Format, Strip>& strip) {
  constexpr int vectors = code_vectors<Format, Strip>;
  auto* const to = reinterpret_cast<uint4*>(problem.payload) + number * vectors;
#pragma unroll
  for (int q = 0; q < vectors; ++q)
    to[q] =
        make_uint4(strip.word(4 * q), strip.word(4 * q + 1), strip.word(4 * q + 2), strip.word(4 * q + 3));
}

/// Writes the codes of a warp's strips. Neighbouring lanes share the strips of both, so that each writes half
/// of 32 bytes that are written at once: the L2 cache writes in such sectors.
template <RowFormat Format, int Strip>
__device__ __forceinline__ void store_warp_codes(const RowQuantization& problem, std::int64_t number,
                                                 int lane, const CodedStrip<Format, Strip>& strip) {
  constexpr int vectors = code_vectors<Format, Strip>;
  if constexpr (vectors == 1) {
    if (number < problem.strips) store_codes(problem, number, strip);
  } else {
    const bool odd = (lane & 1) != 0;
    auto* const to = reinterpret_cast<uint4*>(problem.payload) + (number - (lane & 1)) * vectors + (lane & 1);
    const bool first = number - (lane & 1) < problem.strips;
    const bool second = number + 1 - (lane & 1) < problem.strips;
#pragma unroll
    for (int q = 0; q < vectors; q += 2) {
      std::uint32_t own[4];
      std::uint32_t other[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t low = strip.word(4 * q + i);
        const std::uint32_t high = strip.word(4 * q + 4 + i);
        own[i] = odd ? high : low;
        other[i] = __shfl_xor_sync(0xffffffffu, odd ? low : high, 1);
      }
      const uint4 mine = make_uint4(own[0], own[1], own[2], own[3]);
      const uint4 theirs = make_uint4(other[0], other[1], other[2], other[3]);
      if (first) to[q] = odd ? theirs : mine;
      if (second) to[vectors + q] = odd ? mine : theirs;
    }
  }
}

/// Writes the scales of a strip.
template <RowFormat Format, int Strip>
__device__ __forceinline__ void store_scales(const RowQuantization& problem, std::int64_t number,
                                             const CodedStrip<Format, Strip>& strip) {
  constexpr int blocks = CodedStrip<Format, Strip>::blocks;
  std::int64_t place = number * blocks;
  if (problem.swizzled_columns > 0) {
    QuantizedLayout layout;
    layout.scale_layout = ScaleLayout::swizzled;
    layout.scale_columns = problem.swizzled_columns;
    const auto strip_number = static_cast<std::uint32_t>(number);
    const std::uint32_t row = strip_number / problem.row_strips;
    place =
        layout.scale_index(row, static_cast<std::int64_t>(strip_number - row * problem.row_strips) * blocks);
  }
  std::uint8_t* const to = problem.scales + place;
  if constexpr (blocks == 8) {
    *reinterpret_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(strip.scales);
    const int second = problem.swizzled_columns > 0 ? 512 : 4;  // the next tile of four columns
    *reinterpret_cast<std::uint32_t*>(to + second) = static_cast<std::uint32_t>(strip.scales >> 32);
  } else if constexpr (blocks == 4) {
    *reinterpret_cast<std::uint32_t*>(to) = strip.scales;
  } else if constexpr (blocks == 2) {
    *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(strip.scales);
  } else {
    *to = static_cast<std::uint8_t>(strip.scales);
  }
}

/// A lane's strip by the rules as they stand in core/: special values and the ends of the exponent range.
template <RowFormat Format, int Strip>
__device__ __forceinline__ CodedStrip<Format, Strip> encode_any_strip(const RowQuantization& problem,
                                                                      const RowCall& call, const float* y,
                                                                      std::int64_t number) {
  using Coded = CodedStrip<Format, Strip>;
  constexpr int bits = Format == RowFormat::mxfp8 ? 8 : 4;
  constexpr int word_elements = 32 / bits;
  constexpr int length = Strip / Coded::blocks;
  Coded strip;
  std::uint32_t words[Strip / word_elements];
#pragma unroll 1
  for (int block = 0; block < Coded::blocks; ++block) {
    const float* const from = y + block * length;
    float amax = 0.0f;
#pragma unroll 1
    for (int i = 0; i < length; ++i) amax = call.scales.scaling.amax(amax, from[i]);
    const detail::BlockScale scale = call.scales.scaling.of(amax, call.scales.global);
    strip.scales |= static_cast<typename Coded::ScaleBytes>(scale.code) << (8 * block);
    detail::RandomWords random{};
#pragma unroll 1
    for (int i = 0; i < length; ++i) {
      const int index = block * length + i;
      if (problem.stochastic && i % detail::run_length == 0)
        random = problem.random.of_run(number * Coded::runs + index / detail::run_length);
      const std::uint32_t code = call.scales.scaling.encode(
          scale, from[i], {problem.stochastic, detail::random_byte(random, i % detail::run_length)});
      std::uint32_t& word = words[index / word_elements];
      word = (index % word_elements == 0 ? 0u : word) | code << (bits * (index % word_elements));
    }
  }
#pragma unroll
  for (int w = 0; w < Strip / word_elements; ++w)
    strip.codes[w / RunCodes<Format>::words].word[w % RunCodes<Format>::words] = words[w];
  return strip;
}

/// Does a tile again, some strip of which the common form does not take. Returns the lane's finite amax.
/// Rare, and apart, so that the common code stays short.
template <class S, RowFormat Format, int Bits, bool Stochastic>
__device__ __noinline__ float quantize_rare_tile(const RowQuantization& problem, StripTile<S, Bits> tile,
                                                 RowCall call, int stage, int lane, std::int64_t number,
                                                 bool usual) {
  constexpr int length = 1 << strip_bits(Bits);
  float values[length];
  read_rotated<S, Bits>(problem, tile, stage, call.signs, lane, values);
  float finite = 0.0f;
#pragma unroll
  for (int i = 0; i < length; ++i) finite = detail::finite_amax(finite, values[i] * call.factor);
  const bool active = number < problem.strips;
  if (active && usual) {
    store_codes(problem, number,
                encode_strip<Format, length, Stochastic, true>(problem, call, values, number));
  } else if (active) {
    float y[length];
#pragma unroll
    for (int i = 0; i < length; ++i) y[i] = values[i] * call.factor;
    const auto strip = encode_any_strip<Format, length>(problem, call, y, number);
    store_codes(problem, number, strip);
    store_scales(problem, number, strip);
  }
  return finite;
}

/// Rotates and quantises contiguous rows: x is read once and codes and scales are written once, rotated
/// values exist in registers alone. A thread has a strip at a time.
template <class S, RowFormat Format, int Bits, bool Stochastic>
__global__ void __launch_bounds__(quantize_threads, quantize_blocks(Bits))
    quantize_rows(const __grid_constant__ RowQuantization problem) {
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int length = 1 << strip_bits(Bits);
  constexpr int warps = quantize_threads / 32;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  using Tile = StripTile<S, Bits>;
  auto* const table = reinterpret_cast<Reciprocal*>(shared + warps * quantize_stages * Tile::bytes);
  const Tile tile(problem, shared + warp * quantize_stages * Tile::bytes, lane);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * quantize_threads;
  std::int64_t first =
      problem.first_strip + static_cast<std::int64_t>(blockIdx.x) * quantize_threads + warp * 32;
  tile.start(first, 0);
  ptx::async_copy_commit();

  const RowCall call = {row_scales(problem), remaining_factor<Bits>(problem),
                        strip_signs<length>(problem, lane), table};
  if constexpr (Format == RowFormat::nvfp4) {
    // What each of the 127 scales makes of the elements: scale 0 makes them 0.
    const int code = static_cast<int>(threadIdx.x);
    const detail::BlockScale scale =
        call.scales.scaling.stored(static_cast<std::uint8_t>(code), 0.0f, call.scales.global);
    Reciprocal by = {0.0f, 0.0f};
    if (code != 0 && call.scales.usual)
      by = scale.multiplies ? Reciprocal{scale.factor * call.factor, 0.0f}
                            : reciprocal_of(scale.factor, call.factor);
    table[code] = by;
    __syncthreads();
  }
  float most = 0.0f;
  for (int stage = 0; first < problem.strips; first += step, stage ^= 1) {
    __syncwarp();
    tile.start(first + step, stage ^ 1);
    ptx::async_copy_commit();
    ptx::async_copy_wait<1>();
    __syncwarp();
    float values[length];
    read_rotated<S, Bits>(problem, tile, stage, call.signs, lane, values);
    const std::int64_t number = first + lane;
    const bool active = number < problem.strips;
    const auto strip = encode_strip<Format, length, Stochastic, false>(problem, call, values, number);
    store_warp_codes(problem, number, lane, strip);
    if (active) store_scales(problem, number, strip);
    float amax = strip.size * call.factor;
    if (__any_sync(0xffffffffu, active && (!strip.usual || strip.saturated))) {
      __syncwarp();  // the neighbour wrote half of this lane's codes
      amax = quantize_rare_tile<S, Format, Bits, Stochastic>(problem, tile, call, stage, lane, number,
                                                             strip.usual);
    }
    if (active) most = fmaxf(most, amax);
  }
  ptx::async_copy_wait<0>();
  if (problem.finds_amax) raise_warp_amax(problem.amax_bits, most);
}

}  // namespace papillon::cuda
