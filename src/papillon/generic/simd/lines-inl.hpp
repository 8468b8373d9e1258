// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small factors on values in registers, and lines that are turned into a vector's lanes and back.

#if defined(PAPILLON_SIMD_LINES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_LINES_INL
#undef PAPILLON_SIMD_LINES_INL
#else
#define PAPILLON_SIMD_LINES_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "papillon/generic/simd/product-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

/// A P × P factor, row-major, along the index of the registers that has stride `Stride`.
template <int P, int Stride, class R, int Count>
HWY_INLINE void apply_in_registers(Vector<R> (&v)[Count], const R* entries) {
  const Tag<R> d;
  PAPILLON_UNROLL
  for (int g = 0; g < Count / P; ++g) {
    const int first = g / Stride * Stride * P + g % Stride;
    Vector<R> in[P];
    PAPILLON_UNROLL
    for (int b = 0; b < P; ++b) in[b] = v[first + b * Stride];
    PAPILLON_UNROLL
    for (int a = 0; a < P; ++a) {
      auto sum = hn::Mul(hn::Set(d, entries[a * P]), in[0]);
      PAPILLON_UNROLL
      for (int b = 1; b < P; ++b) sum = add_product(hn::Set(d, entries[a * P + b]), in[b], sum);
      v[first + a * Stride] = sum;
    }
  }
}

/// `Count` factors P × P, the slowest index first, on registers numbered by those indices.
template <int P, int Count, int Done = 0, class R, int Registers>
HWY_INLINE void apply_all_in_registers(Vector<R> (&v)[Registers], const R* const* entries) {
  static_assert(Registers == power(P, Count));
  if constexpr (Done < Count) {
    apply_in_registers<P, power(P, Count - 1 - Done), R>(v, entries[Done]);
    apply_all_in_registers<P, Count, Done + 1, R>(v, entries);
  }
}

/// `Count` neighbouring factors P × P, the slowest first, on blocks of P^Count rows of `run` values, `outer`
/// of them. With `Ahead` what lies `ahead` values further on is fetched, one cache line for each vector.
template <int P, int Count, bool Ahead, class R>
HWY_NOINLINE void factors_in_registers(const R* const* entries, const R* from, R* to, std::int64_t outer,
                                       std::int64_t run, [[maybe_unused]] std::int64_t ahead) {
  constexpr int registers = power(P, Count);
  constexpr std::int64_t l = lanes<R>;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t next = 0; next < run; next += l) {
      const std::int64_t r = std::min(next, run - l);
      Vector<R> v[registers];
      PAPILLON_UNROLL
      for (int j = 0; j < registers; ++j) {
        v[j] = load(from + j * run + r);
        if constexpr (Ahead) __builtin_prefetch(from + j * run + r + ahead);
      }
      apply_all_in_registers<P, Count, 0, R>(v, entries);
      PAPILLON_UNROLL
      for (int j = 0; j < registers; ++j) store(v[j], to + j * run + r);
    }
    from += registers * run;
    to += registers * run;
  }
}

/// Within each 128-bit block, lane i of register j changes places with lane j of register i.
template <class R>
HWY_INLINE void transpose_in_blocks(Vector<R> (&v)[lanes<R>]) {
  const Tag<R> d;
  if constexpr (sizeof(R) == 8) {
    PAPILLON_UNROLL
    for (int i = 0; i < lanes<R>; i += 2) {
      const auto low = hn::InterleaveLower(d, v[i], v[i + 1]);
      v[i + 1] = hn::InterleaveUpper(d, v[i], v[i + 1]);
      v[i] = low;
    }
  } else {
    const hn::Repartition<double, Tag<R>> pairs;
    PAPILLON_UNROLL
    for (int i = 0; i < lanes<R>; i += 4) {
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v[i], v[i + 1]));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[i], v[i + 1]));
      const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v[i + 2], v[i + 3]));
      const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v[i + 2], v[i + 3]));
      v[i] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
      v[i + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
      v[i + 2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
      v[i + 3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
/// The even, or the odd, 128-bit blocks of a, then those of b: one instruction, which Highway does not offer.
template <int Odd, class R>
HWY_INLINE Vector<R> alternate_blocks(Vector<R> a, Vector<R> b) {
  const Tag<float> df;
  const Vector<float> blocks{
      _mm512_shuffle_f32x4(hn::BitCast(df, a).raw, hn::BitCast(df, b).raw, Odd != 0 ? 0xdd : 0x88)};
  return hn::BitCast(Tag<R>(), blocks);
}
#endif

/// Block i of register j changes places with block j of register i, for registers a block's lanes apart.
template <class R>
HWY_INLINE void transpose_blocks(Vector<R> (&v)[lanes<R>]) {
  constexpr int block = 16 / sizeof(R);
  constexpr int blocks = lanes<R> / block;
  static_assert(blocks <= 2 || HWY_TARGET <= HWY_AVX3);
#if HWY_TARGET <= HWY_AVX3
  PAPILLON_UNROLL
  for (int i = 0; i < block; ++i) {
    const auto even01 = alternate_blocks<0, R>(v[i], v[i + block]);
    const auto odd01 = alternate_blocks<1, R>(v[i], v[i + block]);
    const auto even23 = alternate_blocks<0, R>(v[i + 2 * block], v[i + 3 * block]);
    const auto odd23 = alternate_blocks<1, R>(v[i + 2 * block], v[i + 3 * block]);
    v[i] = alternate_blocks<0, R>(even01, even23);
    v[i + block] = alternate_blocks<0, R>(odd01, odd23);
    v[i + 2 * block] = alternate_blocks<1, R>(even01, even23);
    v[i + 3 * block] = alternate_blocks<1, R>(odd01, odd23);
  }
#else
  if constexpr (blocks == 2) {
    PAPILLON_UNROLL
    for (int i = 0; i < block; ++i) {
      const auto lower = hn::ConcatLowerLower(Tag<R>(), v[i + block], v[i]);
      v[i + block] = hn::ConcatUpperUpper(Tag<R>(), v[i + block], v[i]);
      v[i] = lower;
    }
  }
#endif
}

/// Lane i of register j changes places with lane j of register i.
template <class R>
HWY_INLINE void transpose(Vector<R> (&v)[lanes<R>]) {
  transpose_in_blocks<R>(v);
  transpose_blocks<R>(v);
}

/// to[p, i] = from[i, p] for the first `count` of a vector's lanes i, zeros in the others.
template <class R>
HWY_NOINLINE void lines_to_lanes(const R* from, std::int64_t points, std::int64_t count, R* to) {
  constexpr std::int64_t l = lanes<R>;
  for (std::int64_t next = 0; next < points; next += l) {
    const std::int64_t p = points < l ? 0 : std::min(next, points - l);
    const auto some = static_cast<std::size_t>(std::min(points - p, l));
    Vector<R> v[l];
    if (count == l && some == l) {
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i) v[i] = load(from + i * points + p);
    } else {
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i) v[i] = i < count ? load(from + i * points + p, some) : hn::Zero(Tag<R>());
    }
    transpose<R>(v);
    PAPILLON_UNROLL
    for (int i = 0; i < l; ++i) {
      if (i < static_cast<int>(some)) store(v[i], to + (p + i) * l);
    }
  }
}

/// to[i, p] = from[p, i] for the first `count` of a vector's lanes i.
template <class R>
HWY_NOINLINE void lanes_to_lines(const R* from, std::int64_t points, std::int64_t count, R* to) {
  constexpr std::int64_t l = lanes<R>;
  for (std::int64_t next = 0; next < points; next += l) {
    const std::int64_t p = points < l ? 0 : std::min(next, points - l);
    const auto some = static_cast<std::size_t>(std::min(points - p, l));
    Vector<R> v[l];
    PAPILLON_UNROLL
    for (int i = 0; i < l; ++i)
      v[i] = i < static_cast<int>(some) ? load(from + (p + i) * l) : hn::Zero(Tag<R>());
    transpose<R>(v);
    if (count == l && some == l) {
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i) store(v[i], to + i * points + p);
    } else {
      PAPILLON_UNROLL
      for (int i = 0; i < l; ++i) {
        if (i < count) store(v[i], to + i * points + p, some);
      }
    }
  }
}

/// How far ahead of the results memory is fetched to be written. (Measured on Zen 5.)
template <class R>
inline constexpr std::int64_t store_ahead = 2048 / static_cast<std::int64_t>(sizeof(R));

/// factors_in_registers on lines of as many points as a vector has lanes, for `lines` of them, a multiple of
/// that number. `Between`: twice as many factors, the slower half of them between the lines that are taken
/// together.
template <int P, int Count, bool Between, class R>
HWY_NOINLINE void lines_in_registers(const R* const* entries, const R* from, R* to, std::int64_t lines) {
  constexpr std::int64_t l = lanes<R>;
  static_assert(power(P, Count) == l);
  for (std::int64_t line = 0; line < lines; line += l) {
    Vector<R> v[l];
    PAPILLON_UNROLL
    for (int i = 0; i < l; ++i) {
      v[i] = load(from + (line + i) * l);
      __builtin_prefetch(to + (line + i) * l + store_ahead<R>, 1);
    }
    if constexpr (Between) apply_all_in_registers<P, Count, 0, R>(v, entries);
    transpose<R>(v);
    apply_all_in_registers<P, Count, 0, R>(v, Between ? entries + Count : entries);
    transpose<R>(v);
    PAPILLON_UNROLL
    for (int i = 0; i < l; ++i) store(v[i], to + (line + i) * l);
  }
}

/// Calls body with the constants P and Count; false where there is no such kernel.
template <class Body>
HWY_INLINE bool visit_small_factors(std::int64_t extent, int count, const Body& body) {
  const auto with = [&]<int P, int Count>() {
    if constexpr (power(P, Count) <= block_registers) body.template operator()<P, Count>();
    return power(P, Count) <= block_registers;
  };
  switch (extent * 8 + count) {
    case 2 * 8 + 1:
      return with.template operator()<2, 1>();
    case 2 * 8 + 2:
      return with.template operator()<2, 2>();
    case 2 * 8 + 3:
      return with.template operator()<2, 3>();
    case 2 * 8 + 4:
      return with.template operator()<2, 4>();
    case 3 * 8 + 1:
      return with.template operator()<3, 1>();
    case 3 * 8 + 2:
      return with.template operator()<3, 2>();
    case 4 * 8 + 1:
      return with.template operator()<4, 1>();
    case 4 * 8 + 2:
      return with.template operator()<4, 2>();
    case 5 * 8 + 1:
      return with.template operator()<5, 1>();
    case 6 * 8 + 1:
      return with.template operator()<6, 1>();
    case 7 * 8 + 1:
      return with.template operator()<7, 1>();
    case 8 * 8 + 1:
      return with.template operator()<8, 1>();
    default:
      return false;
  }
}
/// Most neighbouring factors of an extent that fit registers; 0: none.
constexpr int most_in_registers(std::int64_t extent) {
  if (extent < 2 || extent > 8) return 0;
  int count = 0;
  while (power(static_cast<int>(extent), count + 1) <= block_registers) ++count;
  return count;
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_LINES_INL
