// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/gemm/ring.cuh"
#include "kernels/ptx/sm_90a_matrix.cuh"

namespace papillon::cuda {

/// Where a warpgroup reads, and whom it tells that a stage may be loaded again.
template <class Tile>
struct Gemm16Reader {
  Gemm16Shared<Tile> shared;
  int warpgroup;
  bool tells;                    ///< this lane tells one of the blocks that load this block's stages
  std::uint32_t empty_barriers;  ///< of that block
  RingPosition<Tile::stages> ring;

  __device__ __forceinline__ void release(int slot) const {
    if (tells) ptx::barrier_arrive_cluster(empty_barriers + 8 * slot);
  }
};

/// The warpgroups of a tile would end together, and the units stand still while both store. The first one
/// goes `lead` blocks ahead instead, and each has the units while the other stores.
template <class Tile>
__device__ __forceinline__ void wait_for_lead(int warpgroup, int lead) {
  if (Tile::warpgroups == 2 && lead > 0 && warpgroup == 1) ptx::named_sync(1, 256);
}
template <class Tile>
__device__ __forceinline__ void tell_lead(int warpgroup, int lead, int block, int blocks) {
  if (Tile::warpgroups == 2 && lead > 0 && warpgroup == 0 && block == min(lead, blocks) - 1)
    ptx::named_arrive(1, 256);
}

/// The products of 64 rows by all columns of the tile over `blocks` stages; the units always have the next
/// stage's products before a stage is given back.
template <class S, class Tile, bool TransposedA, bool TransposedB>
__device__ __forceinline__ void multiply_stages(float (&sums)[Tile::columns / 2], Gemm16Reader<Tile>& reader,
                                                int blocks, int lead) {
  constexpr std::uint64_t a_shape = ptx::operand_shape<TransposedA>();
  constexpr std::uint64_t b_shape = ptx::operand_shape<TransposedB>();
#pragma unroll
  for (float& sum : sums) sum = 0.0F;  // else the compiler lets no two groups of products overlap
  wait_for_lead<Tile>(reader.warpgroup, lead);
  int before = 0;
  for (int block = 0; block < blocks; ++block) {
    const int slot = reader.ring.slot;
    const std::uint32_t stage = reader.shared.stage(slot);
    const std::uint64_t a = ptx::operand(a_shape, stage + reader.warpgroup * (64 * 128));
    const std::uint64_t b = ptx::operand(b_shape, stage + Tile::a_bytes);
    ptx::barrier_wait(reader.shared.full(slot), reader.ring.parity);
    ptx::products_fence();
#pragma unroll
    for (int step = 0; step < Tile::depth / 16; ++step) {
      ptx::multiply_warpgroup<S, Tile::columns, TransposedA, TransposedB>(
          sums, a + step * ptx::operand_step<TransposedA>(), b + step * ptx::operand_step<TransposedB>(),
          block + step);
    }
    ptx::products_commit();
    tell_lead<Tile>(reader.warpgroup, lead, block, blocks);
    ptx::products_wait<1>();
    if (block > 0) reader.release(before);
    before = slot;
    reader.ring.advance();
  }
  ptx::products_wait<0>();
  ptx::settle_sums(sums);
  reader.release(before);
}

}  // namespace papillon::cuda
