// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Butterfly stages on values that are in registers: between registers, and between the lanes of one register.

#if defined(PAPILLON_SIMD_BUTTERFLIES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_BUTTERFLIES_INL
#undef PAPILLON_SIMD_BUTTERFLIES_INL
#else
#define PAPILLON_SIMD_BUTTERFLIES_INL
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/storage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What one pass over memory does after its butterflies.
template <class C>
struct Scale {
  C factor;
  bool on;  ///< false: the factor is one, and is not multiplied by

  HWY_INLINE explicit Scale(C s) : factor(s), on(s != C{1}) {}
  HWY_INLINE static Scale none() { return Scale(C{1}); }
};

/// Exchanges the lanes whose indices differ in bit `Bit`.
template <int Bit, class C>
HWY_INLINE Vector<C> swap_lanes(Vector<C> v) {
  constexpr std::size_t distance = sizeof(C) << Bit;
  if constexpr (distance == 4) {
    return hn::Shuffle2301(v);
  } else if constexpr (distance == 8 && sizeof(C) == 4) {
    return hn::Shuffle1032(v);
  } else if constexpr (distance == 8) {
    return hn::Shuffle01(v);
  } else if constexpr (distance * 2 == sizeof(C) * lanes<C>) {
    return hn::ConcatLowerUpper(Tag<C>(), v, v);
  } else {
    static_assert(distance == 16);
    return hn::SwapAdjacentBlocks(v);
  }
}

/// The butterfly between lanes i and i + 2^Bit. In lane i: other + own; in lane i + 2^Bit: other - own. The
/// multiplication by +-1 is exact, so the fused operation rounds like an addition.
template <int Bit, class C>
struct LaneStage {
  static HWY_INLINE auto
  selector() {  // all ones in the sign bit (floats), or everywhere (integers), of odd lanes
    using U = hwy::MakeUnsigned<C>;
    const Tag<U> du;
    return hn::And(hn::ShiftRight<Bit>(hn::Iota(du, 0)), hn::Set(du, U{1}));
  }
  HWY_INLINE LaneStage() {
    const Tag<C> d;
    const hn::RebindToUnsigned<Tag<C>> du;
    if constexpr (std::integral<C>) {
      sign_ = hn::BitCast(d, hn::Sub(hn::Zero(du), selector()));
    } else {
      sign_ = hn::Or(hn::Set(d, C{1}), hn::BitCast(d, hn::ShiftLeft<8 * sizeof(C) - 1>(selector())));
    }
  }
  HWY_INLINE Vector<C> operator()(Vector<C> v) const {
    const auto other = swap_lanes<Bit, C>(v);
    if constexpr (std::integral<C>) {
      return hn::Add(other, hn::Sub(hn::Xor(v, sign_), sign_));
    } else {
      return hn::MulAdd(v, sign_, other);
    }
  }

 private:
  Vector<C> sign_;
};

/// The lane stages of a pass, built once and kept in registers.
template <class C, int Bit = 0>
struct LaneStages {
  LaneStage<Bit, C> stage;
  LaneStages<C, Bit + 1> rest;

  HWY_INLINE LaneStages() {}  // an implicit one would be compiled for the baseline

  /// The stages of `bits` on the registers First ... First + Count - 1.
  template <int First, int Count, class Bits, int R>
  HWY_INLINE void apply(Vector<C> (&v)[R], Bits bits) const {
    if (bits.contains(Bit)) {
      PAPILLON_UNROLL
      for (int j = 0; j < Count; ++j) v[First + j] = stage(v[First + j]);
    }
    rest.template apply<First, Count>(v, bits);
  }
};
template <class C, int Bit>
  requires(Bit >= log2_lanes<C>)
struct LaneStages<C, Bit> {
  HWY_INLINE LaneStages() {}
  template <int First, int Count, class Bits, int R>
  HWY_INLINE void apply(Vector<C> (&)[R], Bits) const {}
};

/// Additions and fused multiply-adds have pipes of their own on the processors with AVX-512 that we know, so
/// half of the butterflies' operations go to each: a - 1 * b is exact.
template <class C>
inline constexpr bool balance_pipes = HWY_TARGET <= HWY_AVX3 && !std::integral<C>;

/// One, hidden from the optimiser, which would turn the fused operation back into a subtraction.
template <class C>
HWY_INLINE Vector<C> opaque_one() {
  auto one = hn::Set(Tag<C>(), C{1});
#if HWY_ARCH_X86
  asm("" : "+v"(one.raw));
#endif
  return one;
}

/// The butterfly of two registers.
template <bool Balanced, class C>
HWY_INLINE void butterfly(Vector<C>& a, Vector<C>& b, Vector<C> one) {
  const auto sum = hn::Add(a, b);
  if constexpr (Balanced && balance_pipes<C>) {
    b = hn::NegMulAdd(b, one, a);
  } else {
    b = hn::Sub(a, b);
  }
  a = sum;
}

/// Fills the registers First ... First + Count - 1, Group at a time, and makes the stages between them. Depth
/// first: what is done to the first half mixes with the loads and lane stages of the second, which use other
/// parts of the processor.
template <int First, int Count, int Group, bool Balanced, class C, int R, class Fill>
HWY_INLINE void fill_and_combine(Vector<C> (&v)[R], const Fill& fill, Vector<C> one) {
  if constexpr (Count <= Group) {
    fill.template fill<First, Count>(v);
    PAPILLON_UNROLL
    for (int distance = 1; distance < Count; distance *= 2) {
      PAPILLON_UNROLL
      for (int j = 0; j < Count; ++j) {
        if ((j & distance) == 0) butterfly<Balanced, C>(v[First + j], v[First + j + distance], one);
      }
    }
  } else {
    constexpr int half = Count / 2;
    fill_and_combine<First, half, Group, Balanced, C>(v, fill, one);
    fill_and_combine<First + half, half, Group, Balanced, C>(v, fill, one);
    PAPILLON_UNROLL
    for (int j = 0; j < half; ++j) butterfly<Balanced, C>(v[First + j], v[First + half + j], one);
  }
}

template <class C, int R>
HWY_INLINE void apply_scale(Vector<C> (&v)[R], Scale<C> scale) {
  if (!scale.on) return;
  const auto factor = hn::Set(Tag<C>(), scale.factor);
  PAPILLON_UNROLL
  for (int j = 0; j < R; ++j) v[j] = hn::Mul(v[j], factor);
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_BUTTERFLIES_INL
