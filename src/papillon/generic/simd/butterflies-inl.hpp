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
  static HWY_INLINE auto selector() {  // all ones in the sign bit (floats), or everywhere (integers), of odd lanes
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

/// The lane stages of a pass: bits first <= b < last of the lane index, built once and kept in registers.
template <class C, int Bit = 0>
struct LaneStages {
  LaneStage<Bit, C> stage;
  LaneStages<C, Bit + 1> rest;

  HWY_INLINE LaneStages() {}  // an implicit one would be compiled for the baseline

  template <int R>
  HWY_INLINE void operator()(Vector<C> (&v)[R], int first, int last) const {
    if (Bit >= first && Bit < last) {
      PAPILLON_UNROLL
      for (int j = 0; j < R; ++j) v[j] = stage(v[j]);
    }
    rest(v, first, last);
  }
};
template <class C, int Bit>
  requires(Bit >= log2_lanes<C>)
struct LaneStages<C, Bit> {
  HWY_INLINE LaneStages() {}

  template <int R>
  HWY_INLINE void operator()(Vector<C> (&)[R], int, int) const {}
};

/// Additions and fused multiply-adds have pipes of their own on the processors with AVX-512 that we know, so half
/// of the butterflies' operations go to each: a - 1 * b is exact.
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

/// The stage between registers whose indices differ in bit B.
template <int B, int R, class C>
HWY_INLINE void register_stage(Vector<C> (&v)[R]) {
  [[maybe_unused]] Vector<C> one;
  if constexpr (balance_pipes<C>) one = opaque_one<C>();
  PAPILLON_UNROLL
  for (int j = 0; j < R; ++j) {
    if ((j >> B & 1) != 0) continue;
    const auto a = v[j];
    const auto b = v[j + (1 << B)];
    v[j] = hn::Add(a, b);
    if constexpr (balance_pipes<C>) {
      v[j + (1 << B)] = hn::NegMulAdd(b, one, a);
    } else {
      v[j + (1 << B)] = hn::Sub(a, b);
    }
  }
}

/// The stages 2^0 ... up to 2^(last - 1) between the R registers.
template <class C, int B = 0, int R>
HWY_INLINE void register_stages(Vector<C> (&v)[R], int last) {
  if constexpr ((1 << B) < R) {
    if (B >= last) return;
    register_stage<B, R, C>(v);
    register_stages<C, B + 1>(v, last);
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
