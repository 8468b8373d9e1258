// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "papillon/core/scalar.hpp"

namespace papillon::cuda {

// The arithmetic of the bits contract: one rounding for each sum and product, never contracted (the library
// is compiled with -fmad=false), subnormals kept; integers wrap.

template <class C>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<C>, std::make_unsigned<C>, std::type_identity<C>>::type;

template <class C>
__device__ __forceinline__ C sum(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) + static_cast<Wrapping<C>>(b));
}
template <class C>
__device__ __forceinline__ C difference(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) - static_cast<Wrapping<C>>(b));
}
template <class C>
__device__ __forceinline__ C product(C a, C b) {
  return static_cast<C>(static_cast<Wrapping<C>>(a) * static_cast<Wrapping<C>>(b));
}
template <class C>
__device__ __forceinline__ C negated(C a) {
  if constexpr (std::is_integral_v<C>) {
    return difference(C{0}, a);
  } else {
    return -a;
  }
}

/// a + sign * b with sign = +1 or -1: the product is exact, so the fused form has the bits of a sum.
__device__ __forceinline__ float signed_sum(float a, float b, float sign) { return __fmaf_rn(b, sign, a); }
__device__ __forceinline__ double signed_sum(double a, double b, double sign) { return __fma_rn(b, sign, a); }
template <class C>
  requires std::is_integral_v<C>
__device__ __forceinline__ C signed_sum(C a, C b, C sign) {
  return sum(a, product(b, sign));
}

template <class S>
__device__ __forceinline__ compute_type<S> load_converted(S value) {
  return value;
}
template <>
__device__ __forceinline__ float load_converted(half value) {
  return __half2float(__ushort_as_half(value.bits));
}

/// The one rounding to storage.
template <class S>
__device__ __forceinline__ S rounded(compute_type<S> value) {
  return value;
}
template <>
__device__ __forceinline__ half rounded<half>(float value) {
  return half::from_bits(__half_as_ushort(__float2half_rn(value)));
}
template <>
__device__ __forceinline__ bfloat16 rounded<bfloat16>(float value) {
  return bfloat16::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(value)));
}

/// Two 16-bit values of one word, the lower index in the lower half.
template <class S>
__device__ __forceinline__ void unpack_pair(std::uint32_t word, float& low, float& high) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    low = __uint_as_float(word << 16);
    high = __uint_as_float(word & 0xffff0000u);
  } else {
    const float2 pair =
        __half22float2(__halves2half2(__ushort_as_half(static_cast<unsigned short>(word)),
                                      __ushort_as_half(static_cast<unsigned short>(word >> 16))));
    low = pair.x;
    high = pair.y;
  }
}
template <class S>
__device__ __forceinline__ std::uint32_t pack_pair(float low, float high) {
  if constexpr (std::is_same_v<S, bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

/// The values of a 16-byte word.
template <class S>
__device__ __forceinline__ void unpack(const uint4& word, compute_type<S>* values) {
  if constexpr (sizeof(S) == 2) {
    unpack_pair<S>(word.x, values[0], values[1]);
    unpack_pair<S>(word.y, values[2], values[3]);
    unpack_pair<S>(word.z, values[4], values[5]);
    unpack_pair<S>(word.w, values[6], values[7]);
  } else if constexpr (sizeof(S) == 4) {
    values[0] = __builtin_bit_cast(S, word.x);
    values[1] = __builtin_bit_cast(S, word.y);
    values[2] = __builtin_bit_cast(S, word.z);
    values[3] = __builtin_bit_cast(S, word.w);
  } else {
    values[0] = __builtin_bit_cast(S, make_uint2(word.x, word.y));
    values[1] = __builtin_bit_cast(S, make_uint2(word.z, word.w));
  }
}
template <class S>
__device__ __forceinline__ uint4 pack(const compute_type<S>* values) {
  if constexpr (sizeof(S) == 2) {
    return make_uint4(pack_pair<S>(values[0], values[1]), pack_pair<S>(values[2], values[3]),
                      pack_pair<S>(values[4], values[5]), pack_pair<S>(values[6], values[7]));
  } else if constexpr (sizeof(S) == 4) {
    return make_uint4(
        __builtin_bit_cast(std::uint32_t, values[0]), __builtin_bit_cast(std::uint32_t, values[1]),
        __builtin_bit_cast(std::uint32_t, values[2]), __builtin_bit_cast(std::uint32_t, values[3]));
  } else {
    const uint2 low = __builtin_bit_cast(uint2, values[0]);
    const uint2 high = __builtin_bit_cast(uint2, values[1]);
    return make_uint4(low.x, low.y, high.x, high.y);
  }
}

/// The values of a cell, 8 bytes of the compute type.
template <class C>
__device__ __forceinline__ void unpack_cell(const uint2& cell, C* values) {
  if constexpr (sizeof(C) == 4) {
    values[0] = __builtin_bit_cast(C, cell.x);
    values[1] = __builtin_bit_cast(C, cell.y);
  } else {
    values[0] = __builtin_bit_cast(C, cell);
  }
}
template <class C>
__device__ __forceinline__ uint2 pack_cell(const C* values) {
  if constexpr (sizeof(C) == 4) {
    return make_uint2(__builtin_bit_cast(std::uint32_t, values[0]),
                      __builtin_bit_cast(std::uint32_t, values[1]));
  } else {
    return __builtin_bit_cast(uint2, values[0]);
  }
}

/// Stages `First` to `Last` - 1 over the index bits of a register array of 2^k >= 2^Last values.
template <int First, int Last, int Count, class C>
__device__ __forceinline__ void register_stages(C (&values)[Count]) {
#pragma unroll
  for (int bit = First; bit < Last; ++bit) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      if ((i >> bit & 1) == 0) {
        const int j = i + (1 << bit);
        const C a = values[i];
        const C b = values[j];
        values[i] = sum(a, b);
        values[j] = difference(a, b);
      }
    }
  }
}

/// Stages `First` to `Last` - 1 of a register array whose bit `First` is bit `Position` of a row; with
/// `Inner` those below bit `first_bit` of the row are left out, which tell columns apart.
template <bool Inner, int Position, int First, int Last, int Count, class C>
__device__ __forceinline__ void row_stages(C (&values)[Count], int first_bit) {
  if constexpr (!Inner) {
    register_stages<First, Last>(values);
  } else if constexpr (First < Last) {
    if (Position >= first_bit) register_stages<First, First + 1>(values);
    row_stages<Inner, Position + 1, First + 1, Last>(values, first_bit);
  }
}

/// The stage between lanes that differ in bit `bit`, for every value of a whole warp: the lower lane keeps
/// the sums, the upper one the differences.
template <int Count, class C>
__device__ __forceinline__ void lane_stage(C (&values)[Count], int lane, int bit) {
  const C sign = (lane >> bit & 1) != 0 ? C{-1} : C{1};
#pragma unroll
  for (int i = 0; i < Count; ++i)
    values[i] = signed_sum(__shfl_xor_sync(0xffffffffu, values[i], 1 << bit), values[i], sign);
}

}  // namespace papillon::cuda
