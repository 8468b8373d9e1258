// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "papillon/core/half.hpp"

namespace papillon::cuda::ptx {

// A warpgroup's matrix units (wgmma), of compute capability 9.0 alone. Operands lie in shared memory as the
// copy engine leaves boxes of 64 elements (128 bytes) a row with its 128-byte swizzle.

/// What the units need to know of an operand beside its address: `Transposed` ones have k along the rows of a
/// box, and boxes of 64 columns 8 KiB apart.
template <bool Transposed>
constexpr std::uint64_t operand_shape() {
  constexpr std::uint64_t eight_rows = 1024 >> 4;
  constexpr std::uint64_t next_box = Transposed ? 8192 >> 4 : 1;
  constexpr std::uint64_t swizzle_128 = 1;
  return swizzle_128 << 62 | eight_rows << 32 | next_box << 16;
}
/// (In a cluster an address of shared memory says above its lowest bits whose it is.)
__device__ __forceinline__ std::uint64_t operand(std::uint64_t shape, std::uint32_t address) {
  return shape | (address & 0x3ffffU) >> 4;
}
/// Sixteen steps of k further, in units of the operand's address.
template <bool Transposed>
constexpr std::uint64_t operand_step() {
  return (Transposed ? 2048 : 32) >> 4;
}

/// Before a warpgroup's first product, and after other accesses to the sums.
__device__ __forceinline__ void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes the warpgroup's group of products.
__device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `Pending` of the newest groups are under way.
template <int Pending>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from moving uses of the sums to before this place.
template <int Count>
__device__ __forceinline__ void settle_sums(float (&sums)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

/// The registers of a thread of this warpgroup from here on.
template <int Registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

// The operands of the instruction as text, and the sums as its operands.
// clang-format off
#define PAPILLON_SUMS_64 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define PAPILLON_SUMS_128 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define PAPILLON_SUMS_256 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
  "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63," \
  "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
  "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95," \
  "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
  "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define PAPILLON_8(how, i)                                                                               \
  how(sums[i]), how(sums[(i) + 1]), how(sums[(i) + 2]), how(sums[(i) + 3]), how(sums[(i) + 4]),          \
      how(sums[(i) + 5]), how(sums[(i) + 6]), how(sums[(i) + 7])
#define PAPILLON_32(how, i)                                                                              \
  PAPILLON_8(how, i), PAPILLON_8(how, (i) + 8), PAPILLON_8(how, (i) + 16), PAPILLON_8(how, (i) + 24)
#define PAPILLON_OPERANDS_64(how) PAPILLON_32(how, 0)
#define PAPILLON_OPERANDS_128(how) PAPILLON_32(how, 0), PAPILLON_32(how, 32)
#define PAPILLON_OPERANDS_256(how)                                                                         \
  PAPILLON_32(how, 0), PAPILLON_32(how, 32), PAPILLON_32(how, 64), PAPILLON_32(how, 96)
#define PAPILLON_PRODUCT(n, type, how, add, a, b, trans_a, trans_b)                                       \
  asm volatile(                                                                                          \
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " add ", 0;\n\t"                                                \
      "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" PAPILLON_SUMS_##n "}, %" #a   \
      ", %" #b ", p, 1, 1, %" #trans_a ", %" #trans_b ";\n\t}"                                           \
      : PAPILLON_OPERANDS_##n(how)                                                                       \
      : "l"(a_operand), "l"(b_operand), "n"(TransposedA ? 1 : 0), "n"(TransposedB ? 1 : 0))
#define PAPILLON_PRODUCTS(n, type, a, b, trans_a, trans_b)                \
  if constexpr (Add) {                                                    \
    PAPILLON_PRODUCT(n, type, "+f", "1", a, b, trans_a, trans_b);         \
  } else {                                                                \
    PAPILLON_PRODUCT(n, type, "=f", "0", a, b, trans_a, trans_b);         \
  }
// clang-format on

/// sums = A · B, with `Add` plus the sums before, for A of 64 x 16 and B of 16 x Columns. Warp w of the
/// warpgroup has rows from 16 w on: of 8 columns from 8 j on, lane l has two values of row l / 4 from column
/// 2 · (l % 4) on in sums[4 j], sums[4 j + 1], then those eight rows below.
template <class S, int Columns, bool TransposedA, bool TransposedB, bool Add>
__device__ __forceinline__ void multiply_warpgroup(float (&sums)[Columns / 2], std::uint64_t a_operand,
                                                   std::uint64_t b_operand) {
  static_assert(Columns == 64 || Columns == 128 || Columns == 256);
  constexpr bool is_half = std::is_same_v<S, half>;
  if constexpr (Columns == 64 && is_half) {
    PAPILLON_PRODUCTS(64, "f16", 32, 33, 34, 35);
  } else if constexpr (Columns == 64 && !is_half) {
    PAPILLON_PRODUCTS(64, "bf16", 32, 33, 34, 35);
  } else if constexpr (Columns == 128 && is_half) {
    PAPILLON_PRODUCTS(128, "f16", 64, 65, 66, 67);
  } else if constexpr (Columns == 128 && !is_half) {
    PAPILLON_PRODUCTS(128, "bf16", 64, 65, 66, 67);
  } else if constexpr (Columns == 256 && is_half) {
    PAPILLON_PRODUCTS(256, "f16", 128, 129, 130, 131);
  } else if constexpr (Columns == 256 && !is_half) {
    PAPILLON_PRODUCTS(256, "bf16", 128, 129, 130, 131);
  }
}
#undef PAPILLON_PRODUCTS
#undef PAPILLON_PRODUCT
#undef PAPILLON_OPERANDS_256
#undef PAPILLON_OPERANDS_128
#undef PAPILLON_OPERANDS_64
#undef PAPILLON_32
#undef PAPILLON_8
#undef PAPILLON_SUMS_256
#undef PAPILLON_SUMS_128
#undef PAPILLON_SUMS_64

}  // namespace papillon::cuda::ptx
