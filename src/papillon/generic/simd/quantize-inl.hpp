// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Codes and scales of blocks of contiguous floats.

#if defined(PAPILLON_SIMD_QUANTIZE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_QUANTIZE_INL
#undef PAPILLON_SIMD_QUANTIZE_INL
#else
#define PAPILLON_SIMD_QUANTIZE_INL
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/quantize.hpp"
#include "papillon/generic/simd/storage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using detail::BlockScaling;
using detail::ElementFormat;
using detail::GlobalScale;

using IntTag = Tag<std::int32_t>;
using IntVector = Vector<std::int32_t>;
using FloatVector = Vector<float>;
/// A byte for each float.
using ByteTag = hn::Rebind<std::uint8_t, Tag<float>>;
/// A byte for two floats.
using PairTag = hn::Rebind<std::uint8_t, Tag<std::uint64_t>>;

inline constexpr std::int32_t size_mask = 0x7fffffff;
inline constexpr std::int32_t infinity_bits = 0x7f800000;

template <ElementFormat F>
inline constexpr bool is_integer_format = F == ElementFormat::int8 || F == ElementFormat::int4;
template <ElementFormat F>
inline constexpr int bits_of_element = F == ElementFormat::e2m1 || F == ElementFormat::int4 ? 4 : 8;

HWY_INLINE IntVector set_int(std::int32_t value) { return hn::Set(IntTag(), value); }
HWY_INLINE FloatVector set_float(float value) { return hn::Set(Tag<float>(), value); }

/// Bits of |v|: they order as magnitudes do, infinity and NaN last.
HWY_INLINE IntVector size_bits(FloatVector v) {
  return hn::And(hn::BitCast(IntTag(), v), set_int(size_mask));
}

/// Rounds 0 <= steps < 2^15 to an integer, ties to even: that is what adding 2^23 does.
struct Nearest {
  HWY_INLINE IntVector operator()(FloatVector steps) const {
    constexpr float magic = 8388608.0f;
    const FloatVector sum = hn::Add(steps, set_float(magic));
    return hn::Sub(hn::BitCast(IntTag(), sum), set_int(static_cast<std::int32_t>(detail::float_bits(magic))));
  }
};

/// Rounds up if the first 8 bits of the fraction and a random byte add up to 256.
struct Stochastic {
  IntVector random;
  HWY_INLINE IntVector operator()(FloatVector steps) const {
    const IntVector parts = hn::ConvertTo(IntTag(), hn::Mul(steps, set_float(256.0f)));
    return hn::ShiftRight<8>(hn::Add(parts, random));
  }
};

/// detail::encode_element, a code in each lane.
template <ElementFormat F, class Round>
HWY_INLINE IntVector encode(FloatVector value, const Round& round) {
  const IntVector bits = hn::BitCast(IntTag(), value);
  const IntVector whole_size = size_bits(value);
  const auto nan = hn::Gt(whole_size, set_int(infinity_bits));
  constexpr auto largest = static_cast<std::int32_t>(detail::float_bits(detail::largest_element(F)));
  const IntVector clamped = hn::Min(whole_size, set_int(largest));
  const FloatVector size = hn::BitCast(Tag<float>(), clamped);
  if constexpr (is_integer_format<F>) {
    const IntVector steps = round(size);
    const IntVector negative = hn::BroadcastSignBit(bits);
    const IntVector code = hn::Sub(hn::Xor(steps, negative), negative);
    return hn::IfThenZeroElse(nan, hn::And(code, set_int(F == ElementFormat::int8 ? 0xff : 0xf)));
  } else {
    constexpr detail::SmallFloat format = detail::small_float(F);
    constexpr int least = format.least_exponent + 127;
    const IntVector exponent = hn::Max(hn::ShiftRight<23>(clamped), set_int(least));
    const IntVector scale = hn::ShiftLeft<23>(hn::Sub(set_int(254 + format.mantissa_bits), exponent));
    const IntVector steps = round(hn::Mul(size, hn::BitCast(Tag<float>(), scale)));
    const IntVector below = hn::ShiftLeft<format.mantissa_bits>(hn::Sub(exponent, set_int(least)));
    const IntVector code =
        hn::Min(hn::Add(steps, below), set_int(static_cast<std::int32_t>(format.most_code)));
    const IntVector sign =
        hn::And(hn::ShiftRight<31 - format.sign_shift>(bits), set_int(1 << format.sign_shift));
    return hn::IfThenElse(nan, set_int(static_cast<std::int32_t>(format.nan_code)), hn::Or(code, sign));
  }
}

/// detail::decode_element of the code in each lane.
template <ElementFormat F>
HWY_INLINE FloatVector decode(IntVector code) {
  if constexpr (is_integer_format<F>) {
    constexpr int unused = 32 - bits_of_element<F>;
    return hn::ConvertTo(Tag<float>(), hn::ShiftRight<unused>(hn::ShiftLeft<unused>(code)));
  } else {
    constexpr detail::SmallFloat format = detail::small_float(F);
    constexpr int shift = 23 - format.mantissa_bits;
    constexpr int bias = 127 + format.least_exponent - 1;  // between the exponents' fields
    const IntVector size = hn::And(code, set_int((1 << format.sign_shift) - 1));
    const IntVector sign = hn::ShiftLeft<31>(hn::ShiftRight<format.sign_shift>(code));
    const IntVector normal = hn::Add(hn::ShiftLeft<shift>(size), set_int(bias << 23));
    // Of subnormals: as if 1 were in front, and that taken off again.
    const FloatVector one = hn::BitCast(Tag<float>(), set_int((bias + 1) << 23));
    const FloatVector with_one = hn::BitCast(Tag<float>(), hn::Add(normal, set_int(1 << 23)));
    const auto is_subnormal = hn::Lt(size, set_int(1 << format.mantissa_bits));
    const FloatVector value = hn::IfThenElse(hn::RebindMask(Tag<float>(), is_subnormal),
                                             hn::Sub(with_one, one), hn::BitCast(Tag<float>(), normal));
    IntVector result = hn::BitCast(IntTag(), value);
    if constexpr (F != ElementFormat::e2m1) {
      const auto special = hn::Gt(size, set_int(static_cast<std::int32_t>(format.most_code)));
      IntVector special_bits = set_int(0x7fc00000);
      if constexpr (F == ElementFormat::e5m2) {
        special_bits = hn::IfThenElse(hn::Eq(size, set_int(0x7c)), set_int(infinity_bits), special_bits);
      }
      result = hn::IfThenElse(special, special_bits, result);
    }
    return hn::BitCast(Tag<float>(), hn::Or(result, sign));
  }
}

/// Stores the lowest bits of each lane, two codes a byte where they have 4.
template <ElementFormat F>
HWY_INLINE std::uint8_t* store_codes(IntVector code, std::uint8_t* to) {
  if constexpr (bits_of_element<F> == 4) {
    const Tag<std::uint64_t> d64;
    const auto pairs = hn::BitCast(d64, code);
    hn::StoreU(hn::TruncateTo(PairTag(), hn::Or(pairs, hn::ShiftRight<28>(pairs))), PairTag(), to);
    return to + lanes<float> / 2;
  } else {
    hn::StoreU(hn::TruncateTo(ByteTag(), hn::BitCast(Tag<std::uint32_t>(), code)), ByteTag(), to);
    return to + lanes<float>;
  }
}

HWY_INLINE IntVector load_bytes(const std::uint8_t* from) {
  return hn::PromoteTo(IntTag(), hn::LoadU(ByteTag(), from));
}

template <ElementFormat F>
HWY_INLINE IntVector load_codes(const std::uint8_t*& from) {
  if constexpr (bits_of_element<F> == 4) {
    const Tag<std::uint64_t> d64;
    const auto pairs = hn::PromoteTo(d64, hn::LoadU(PairTag(), from));
    from += lanes<float> / 2;
    return hn::BitCast(IntTag(),
                       hn::And(hn::Or(pairs, hn::ShiftLeft<28>(pairs)), hn::Set(d64, 0xf0000000fu)));
  } else {
    const IntVector codes = load_bytes(from);
    from += lanes<float>;
    return codes;
  }
}

/// The factor of one vector after the other, of blocks of whole vectors.
class Factors {
 public:
  HWY_INLINE Factors(const float* factors, std::int64_t block)
      : next_(factors), vectors_(block / lanes<float>), value_(set_float(1.0f)) {}
  HWY_INLINE FloatVector take() {
    if (left_ == 0) {
      value_ = set_float(*next_++);
      left_ = vectors_;
    }
    --left_;
    return value_;
  }

 private:
  const float* next_;
  std::int64_t vectors_;
  std::int64_t left_ = 0;
  FloatVector value_;
};

/// max(so_far, bits) over the magnitudes up to `most`.
HWY_INLINE IntVector raise(IntVector so_far, FloatVector value, IntVector most) {
  const IntVector size = size_bits(value);
  return hn::Max(so_far, hn::IfThenZeroElse(hn::Gt(size, most), size));
}

inline float vector_finite_amax(const float* values, std::int64_t count) {
  IntVector first = set_int(0), second = set_int(0);
  const IntVector most = set_int(infinity_bits - 1);
  for (std::int64_t i = 0; i < count; i += 2 * lanes<float>) {
    first = raise(first, load(values + i), most);
    second = raise(second, load(values + i + lanes<float>), most);
  }
  return __builtin_bit_cast(float, hn::ReduceMax(IntTag(), hn::Max(first, second)));
}

inline void vector_raise_block_amax(const BlockScaling& scaling, const float* values, std::int64_t count,
                                    std::int64_t block, float* amax) {
  const IntVector most = set_int(scaling.takes_infinity() ? infinity_bits : infinity_bits - 1);
  for (std::int64_t first = 0; first < count; first += block, ++amax) {
    const std::int64_t end = first + block < count ? first + block : count;
    IntVector bits = set_int(0);
    for (std::int64_t i = first; i < end; i += lanes<float>) bits = raise(bits, load(values + i), most);
    const auto found = __builtin_bit_cast(float, hn::ReduceMax(IntTag(), bits));
    *amax = found > *amax ? found : *amax;
  }
}

/// The scales of a vector of blocks.
struct VectorScale {
  IntVector code;
  FloatVector stored;
  FloatVector factor;
  hn::Mask<Tag<float>> zero;
};

/// detail::BlockScaling::of, a block in each lane.
template <ScaleRule Rule>
class ScaleMaker {
 public:
  ScaleMaker(const BlockScaling& scaling, const GlobalScale& global)
      : largest_(detail::largest_element(detail::element_format(scaling.format))),
        exponent_(detail::exponent_of(largest_)),
        decode_(global.decode),
        by_(global.encode * (1.0f / 6.0f)) {}

  HWY_INLINE VectorScale operator()(FloatVector amax) const {
    constexpr auto e4m3 = ElementFormat::e4m3;
    const Tag<float> d;
    const FloatVector zero = hn::Zero(d);
    if constexpr (Rule == ScaleRule::divide) {
      const FloatVector sixth = hn::Div(amax, set_float(6.0f));
      const IntVector code = encode<e4m3>(hn::Div(sixth, set_float(decode_)), Nearest{});
      const FloatVector factor = hn::Mul(decode<e4m3>(code), set_float(decode_));
      return {code, zero, factor, hn::Eq(factor, zero)};
    } else if constexpr (Rule == ScaleRule::transformer_engine) {
      const IntVector code = encode<e4m3>(hn::Mul(amax, set_float(by_)), Nearest{});
      const FloatVector factor = hn::Mul(decode<e4m3>(code), set_float(decode_));
      const FloatVector most = set_float(detail::largest_float);
      const FloatVector reciprocal = hn::Div(set_float(1.0f), factor);  // infinite for 0
      return {code, zero, hn::IfThenElse(hn::Lt(reciprocal, most), reciprocal, most),
              hn::RebindMask(d, hn::Eq(code, set_int(0)))};
    } else if constexpr (Rule == ScaleRule::symmetric) {
      const FloatVector scale = hn::Div(amax, set_float(largest_));
      return {set_int(0), scale, scale, hn::Eq(scale, zero)};
    } else {
      const IntVector code = Rule == ScaleRule::ocp ? floor_code(amax) : up_code(amax);
      // 1 / 2^(code - 127): the product with it is the quotient, each being rounded once.
      const IntVector field = hn::Sub(set_int(254), code);
      const IntVector subnormal = set_int(0x00400000);  // 2^-127
      const IntVector power = hn::IfThenElse(hn::Eq(field, set_int(0)), subnormal, hn::ShiftLeft<23>(field));
      return {code, zero, hn::BitCast(d, power), hn::MaskFalse(d)};
    }
  }

 private:
  HWY_INLINE static IntVector or_last(IntVector code, IntVector bits) {
    return hn::IfThenElse(hn::Ge(bits, set_int(infinity_bits)), set_int(254), hn::Min(code, set_int(254)));
  }
  HWY_INLINE IntVector floor_code(FloatVector amax) const {
    const IntVector bits = hn::BitCast(IntTag(), amax);
    const IntVector code = hn::Sub(hn::ShiftRight<23>(bits), set_int(exponent_));
    return or_last(hn::Max(code, set_int(0)), bits);
  }
  HWY_INLINE IntVector up_code(FloatVector amax) const {
    const IntVector bits = hn::BitCast(IntTag(), hn::Div(amax, set_float(largest_)));
    const IntVector code = hn::ShiftRight<23>(hn::Add(bits, set_int(0x007fffff)));
    const auto least = hn::Le(bits, set_int(0x00400000));
    return or_last(hn::IfThenZeroElse(least, code), bits);
  }

  float largest_;
  int exponent_;
  float decode_;
  float by_;
};

template <ScaleRule Rule>
std::uint64_t make_vector_scales(const BlockScaling& scaling, const GlobalScale& global, std::int64_t blocks,
                                 const PieceScales& scales) {
  const Tag<float> d;
  const ScaleMaker<Rule> make(scaling, global);
  std::uint64_t zeros = 0;
  for (std::int64_t b = 0; b < blocks; b += lanes<float>) {
    const FloatVector amax = load(scales.stored + b);
    const VectorScale scale = make(amax);
    hn::StoreU(hn::IfThenElse(scale.zero, set_float(-1.0f), scale.factor), d, scales.factors + b);
    hn::StoreU(hn::TruncateTo(ByteTag(), hn::BitCast(Tag<std::uint32_t>(), scale.code)), ByteTag(),
               scales.codes + b);
    store(scale.stored, scales.stored + b);
    zeros += hn::CountTrue(d, hn::And(scale.zero, hn::Gt(amax, hn::Zero(d))));
  }
  return zeros;
}

inline std::uint64_t vector_make_scales(const BlockScaling& scaling, const GlobalScale& global,
                                        std::int64_t blocks, const PieceScales& scales) {
  switch (scaling.rule) {
    case ScaleRule::transformer_engine:
      return make_vector_scales<ScaleRule::transformer_engine>(scaling, global, blocks, scales);
    case ScaleRule::ocp:
      return make_vector_scales<ScaleRule::ocp>(scaling, global, blocks, scales);
    case ScaleRule::round_up:
      return make_vector_scales<ScaleRule::round_up>(scaling, global, blocks, scales);
    case ScaleRule::symmetric:
      return make_vector_scales<ScaleRule::symmetric>(scaling, global, blocks, scales);
    default:
      return make_vector_scales<ScaleRule::divide>(scaling, global, blocks, scales);
  }
}

/// How a factor is applied.
enum class Apply : std::uint8_t {
  quotient,
  product,
  product_without_minus_zero,  ///< Transformer Engine
};

HWY_INLINE Apply apply_of(const BlockScaling& scaling) {
  if (scaling.rule == ScaleRule::transformer_engine) return Apply::product_without_minus_zero;
  return detail::is_mx(scaling.format) ? Apply::product : Apply::quotient;
}

/// What is encoded: detail::BlockScale::apply.
template <Apply A>
HWY_INLINE FloatVector scaled(FloatVector y, FloatVector factor) {
  return A == Apply::quotient ? hn::Div(y, factor) : hn::Mul(y, factor);
}

template <ElementFormat F, Apply A, bool Random>
HWY_NOINLINE void codes_of(const float* values, std::int64_t count, std::int64_t block, const float* factors,
                           const std::uint8_t* random, std::uint8_t* codes) {
  const Tag<float> d;
  Factors walk(factors, block);
  for (std::int64_t i = 0; i < count; i += lanes<float>) {
    const FloatVector factor = walk.take();
    const FloatVector quotient = scaled<A>(load(values + i), factor);
    IntVector code;
    if constexpr (Random) {
      code = encode<F>(quotient, Stochastic{load_bytes(random + i)});
    } else {
      code = encode<F>(quotient, Nearest{});
    }
    if constexpr (A == Apply::product_without_minus_zero)
      code = hn::IfThenZeroElse(hn::Eq(code, set_int(0x8)), code);
    if constexpr (A != Apply::product) {  // powers of two are not 0
      const auto zero = hn::RebindMask(IntTag(), hn::Lt(factor, hn::Zero(d)));
      code = hn::IfThenZeroElse(zero, code);
    }
    codes = store_codes<F>(code, codes);
  }
}

/// visit.operator()<F, A>() for the element format and how its factors are applied.
template <class Visit>
void visit_codes(const BlockScaling& scaling, const Visit& visit) {
  const Apply apply = apply_of(scaling);
  switch (detail::element_format(scaling.format)) {
    case ElementFormat::e4m3:
      return apply == Apply::product ? visit.template operator()<ElementFormat::e4m3, Apply::product>()
                                     : visit.template operator()<ElementFormat::e4m3, Apply::quotient>();
    case ElementFormat::e5m2:
      return apply == Apply::product ? visit.template operator()<ElementFormat::e5m2, Apply::product>()
                                     : visit.template operator()<ElementFormat::e5m2, Apply::quotient>();
    case ElementFormat::int8:
      return visit.template operator()<ElementFormat::int8, Apply::quotient>();
    case ElementFormat::int4:
      return visit.template operator()<ElementFormat::int4, Apply::quotient>();
    default:
      break;
  }
  switch (apply) {
    case Apply::product:
      return visit.template operator()<ElementFormat::e2m1, Apply::product>();
    case Apply::product_without_minus_zero:
      return visit.template operator()<ElementFormat::e2m1, Apply::product_without_minus_zero>();
    default:
      return visit.template operator()<ElementFormat::e2m1, Apply::quotient>();
  }
}

inline void vector_make_codes(const BlockScaling& scaling, const float* values, std::int64_t count,
                              std::int64_t block, const float* factors, const std::uint8_t* random,
                              std::uint8_t* codes) {
  visit_codes(scaling, [&]<ElementFormat F, Apply A>() {
    return random != nullptr ? codes_of<F, A, true>(values, count, block, factors, random, codes)
                             : codes_of<F, A, false>(values, count, block, factors, random, codes);
  });
}

template <Apply A>
PieceCounts counts_of(const float* values, std::int64_t count, std::int64_t block, const float* factors,
                      float largest) {
  const Tag<float> d;
  PieceCounts counts;
  Factors walk(factors, block);
  for (std::int64_t i = 0; i < count; i += lanes<float>) {
    const FloatVector factor = walk.take();
    const FloatVector y = load(values + i);
    const IntVector size = size_bits(y);
    counts.nan += hn::CountTrue(IntTag(), hn::Gt(size, set_int(infinity_bits)));
    counts.infinite += hn::CountTrue(IntTag(), hn::Eq(size, set_int(infinity_bits)));
    const auto finite = hn::RebindMask(d, hn::Lt(size, set_int(infinity_bits)));
    const auto beyond = hn::Gt(hn::Abs(scaled<A>(y, factor)), set_float(largest));
    const auto nonzero = hn::Not(hn::Lt(factor, hn::Zero(d)));
    counts.saturated += hn::CountTrue(d, hn::And(hn::And(finite, beyond), nonzero));
  }
  return counts;
}

inline PieceCounts vector_count_special(const BlockScaling& scaling, const float* values, std::int64_t count,
                                        std::int64_t block, const float* factors) {
  const float largest = detail::largest_element(detail::element_format(scaling.format));
  return apply_of(scaling) == Apply::quotient
             ? counts_of<Apply::quotient>(values, count, block, factors, largest)
             : counts_of<Apply::product>(values, count, block, factors, largest);
}

using WordVector = Vector<std::uint32_t>;

/// The halves of the products of 32-bit words.
struct Product {
  WordVector low, high;
};
HWY_INLINE Product multiply(WordVector a, std::uint32_t b) {
  const Tag<std::uint32_t> d;
  const WordVector factor = hn::Set(d, b);
  const auto even = hn::BitCast(d, hn::ShiftRight<32>(hn::MulEven(a, factor)));
  const auto odd = hn::BitCast(d, hn::MulOdd(a, factor));
  return {hn::Mul(a, factor), hn::OddEven(odd, even)};
}

/// detail::philox, a run in each lane.
inline void vector_random_bytes(const detail::RoundingBits& random, std::int64_t first_run, std::int64_t runs,
                                std::uint8_t* bytes) {
  const Tag<std::uint32_t> d;
  for (std::int64_t r = 0; r < runs; r += lanes<float>) {
    const auto run = static_cast<std::uint64_t>(first_run + r);
    const WordVector first = hn::Set(d, static_cast<std::uint32_t>(run));
    const WordVector high = hn::Set(d, static_cast<std::uint32_t>(run >> 32));
    WordVector c0 = hn::Add(first, hn::Iota(d, 0));
    WordVector c1 = hn::IfThenElse(hn::Lt(c0, first), hn::Add(high, hn::Set(d, 1u)), high);
    WordVector c2 = hn::Set(d, static_cast<std::uint32_t>(random.offset));
    WordVector c3 = hn::Set(d, static_cast<std::uint32_t>(random.offset >> 32));
    auto k0 = static_cast<std::uint32_t>(random.seed);
    auto k1 = static_cast<std::uint32_t>(random.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const Product p0 = multiply(c0, 0xd2511f53u);
      const Product p1 = multiply(c2, 0xcd9e8d57u);
      c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
      c1 = p1.low;
      c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
      c3 = p0.low;
      k0 += 0x9e3779b9u;
      k1 += 0xbb67ae85u;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, reinterpret_cast<std::uint32_t*>(bytes + 16 * r));
  }
}

template <ElementFormat F>
HWY_NOINLINE void values_of(const std::uint8_t* codes, std::int64_t count, std::int64_t block,
                            const float* factors, float* values) {
  Factors walk(factors, block);
  for (std::int64_t i = 0; i < count; i += lanes<float>)
    store(hn::Mul(decode<F>(load_codes<F>(codes)), walk.take()), values + i);
}

inline void vector_decode_codes(ElementFormat format, const std::uint8_t* codes, std::int64_t count,
                                std::int64_t block, const float* factors, float* values) {
  switch (format) {
    case ElementFormat::e4m3:
      return values_of<ElementFormat::e4m3>(codes, count, block, factors, values);
    case ElementFormat::e5m2:
      return values_of<ElementFormat::e5m2>(codes, count, block, factors, values);
    case ElementFormat::int8:
      return values_of<ElementFormat::int8>(codes, count, block, factors, values);
    case ElementFormat::int4:
      return values_of<ElementFormat::int4>(codes, count, block, factors, values);
    default:
      return values_of<ElementFormat::e2m1>(codes, count, block, factors, values);
  }
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_QUANTIZE_INL
