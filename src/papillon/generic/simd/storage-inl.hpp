// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads that widen to the compute type and stores that round to the storage type.

#if defined(PAPILLON_SIMD_STORAGE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_STORAGE_INL
#undef PAPILLON_SIMD_STORAGE_INL
#else
#define PAPILLON_SIMD_STORAGE_INL
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A full vector of C; its length is a constant on every target that is enabled.
template <class C>
using Tag = hn::ScalableTag<C>;
template <class C>
using Vector = hn::Vec<Tag<C>>;

template <class C>
inline constexpr int lanes = static_cast<int>(hn::MaxLanes(Tag<C>()));
constexpr int log2_of(int power_of_two) { return power_of_two <= 1 ? 0 : 1 + log2_of(power_of_two / 2); }
template <class C>
inline constexpr int log2_lanes = log2_of(lanes<C>);

/// Vector registers that the target has, and so the largest register block: half of them.
inline constexpr int block_registers = HWY_TARGET <= HWY_AVX3 || (HWY_TARGET & HWY_ALL_NEON) != 0 ? 16 : 8;

using Tag16 = hn::Rebind<std::uint16_t, Tag<float>>;
using Vector16 = hn::Vec<Tag16>;

HWY_INLINE const std::uint16_t* bits_of(const half* p) { return reinterpret_cast<const std::uint16_t*>(p); }
HWY_INLINE const std::uint16_t* bits_of(const bfloat16* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}
HWY_INLINE std::uint16_t* bits_of(half* p) { return reinterpret_cast<std::uint16_t*>(p); }
HWY_INLINE std::uint16_t* bits_of(bfloat16* p) { return reinterpret_cast<std::uint16_t*>(p); }

/// Where Highway's binary16 conversions are the processor's own; its emulation does not keep infinities.
inline constexpr bool native_half = HWY_TARGET <= HWY_AVX2 || (HWY_TARGET & HWY_ALL_NEON) != 0;

/// Lane by lane with the conversions of core/half.hpp.
HWY_INLINE Vector<float> widen_lanes(Vector16 bits) {
  alignas(64) std::uint16_t from[lanes<float>];
  alignas(64) float to[lanes<float>];
  hn::Store(bits, Tag16(), from);
  for (int i = 0; i < lanes<float>; ++i) to[i] = papillon::detail::half_bits_to_float(from[i]);
  return hn::Load(Tag<float>(), to);
}
HWY_INLINE Vector16 narrow_lanes(Vector<float> v) {
  alignas(64) float from[lanes<float>];
  alignas(64) std::uint16_t to[lanes<float>];
  hn::Store(v, Tag<float>(), from);
  for (int i = 0; i < lanes<float>; ++i) to[i] = papillon::detail::float_to_half_bits(from[i]);
  return hn::Load(Tag16(), to);
}

HWY_INLINE Vector<float> widen(Vector16 bits, half) {
  if constexpr (!native_half) return widen_lanes(bits);
  return hn::PromoteTo(Tag<float>(), hn::BitCast(hn::Rebind<hwy::float16_t, Tag<float>>(), bits));
}
HWY_INLINE Vector<float> widen(Vector16 bits, bfloat16) {
#if HWY_TARGET <= HWY_AVX3
  // One permutation to the odd places, zeros in the even ones, instead of a widening and a shift.
  alignas(64) static constexpr std::uint16_t places[32] = {
      0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0, 12, 0, 13, 0, 14, 0, 15};
  return Vector<float>{_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(
      0xAAAAAAAAu, _mm512_load_si512(places), _mm512_castsi256_si512(bits.raw)))};
#endif
  const Tag<std::uint32_t> d32;
  return hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

HWY_INLINE Vector16 narrow(Vector<float> v, half) {
  if constexpr (!native_half) return narrow_lanes(v);
  return hn::BitCast(Tag16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, Tag<float>>(), v));
}
HWY_INLINE Vector16 narrow_bits(Vector<float> v) {
  const Tag<std::uint32_t> d32;
  const auto bits = hn::BitCast(d32, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(d32, 0x7fffu)), odd);
  const auto quiet = hn::Or(bits, hn::Set(d32, 0x400000u));
  const auto is_nan = hn::RebindMask(d32, hn::IsNaN(v));
  return hn::TruncateTo(Tag16(), hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded)));
}
HWY_INLINE Vector16 narrow(Vector<float> v, bfloat16) {
#if HWY_TARGET == HWY_AVX3_ZEN4 || HWY_TARGET == HWY_AVX3_SPR
  // AVX512_BF16 rounds to nearest even and quiets NaN, but takes subnormals for zero: those are rare.
  constexpr int subnormal = 0x20;
  if (HWY_LIKELY(_mm512_fpclass_ps_mask(v.raw, subnormal) == 0)) {
    return hn::BitCast(Tag16(), hn::DemoteTo(hn::Rebind<hwy::bfloat16_t, Tag<float>>(), v));
  }
#endif
  return narrow_bits(v);
}

// Vector<C> must not be named in the declarations of these templates: it does not exist for 16-bit types,
// which overload resolution tries too.
template <class C>
HWY_INLINE auto load(const C* p) {
  return hn::LoadU(Tag<C>(), p);
}
HWY_INLINE Vector<float> load(const half* p) { return widen(hn::LoadU(Tag16(), bits_of(p)), half{}); }
HWY_INLINE Vector<float> load(const bfloat16* p) { return widen(hn::LoadU(Tag16(), bits_of(p)), bfloat16{}); }

/// The first `count` elements, zeros after them.
template <class C>
HWY_INLINE auto load(const C* p, std::size_t count) {
  return hn::LoadN(Tag<C>(), p, count);
}
HWY_INLINE Vector<float> load(const half* p, std::size_t count) {
  return widen(hn::LoadN(Tag16(), bits_of(p), count), half{});
}
HWY_INLINE Vector<float> load(const bfloat16* p, std::size_t count) {
  return widen(hn::LoadN(Tag16(), bits_of(p), count), bfloat16{});
}

template <class V, class C>
HWY_INLINE void store(V v, C* p) {
  hn::StoreU(v, Tag<C>(), p);
}
HWY_INLINE void store(Vector<float> v, half* p) { hn::StoreU(narrow(v, half{}), Tag16(), bits_of(p)); }
HWY_INLINE void store(Vector<float> v, bfloat16* p) {
  hn::StoreU(narrow(v, bfloat16{}), Tag16(), bits_of(p));
}

template <class V, class C>
HWY_INLINE void store(V v, C* p, std::size_t count) {
  hn::StoreN(v, Tag<C>(), p, count);
}
HWY_INLINE void store(Vector<float> v, half* p, std::size_t count) {
  hn::StoreN(narrow(v, half{}), Tag16(), bits_of(p), count);
}
HWY_INLINE void store(Vector<float> v, bfloat16* p, std::size_t count) {
  hn::StoreN(narrow(v, bfloat16{}), Tag16(), bits_of(p), count);
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_STORAGE_INL
