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

/// Starts the products of 64 rows by all columns of the tile over one stage, as a group; with `Add` they are
/// added to the sums.
template <class S, class Tile, bool TransposedA, bool TransposedB, bool Add>
__device__ __forceinline__ void start_stage(float (&sums)[Tile::columns / 2],
                                            const Gemm16Reader<Tile>& reader) {
  const std::uint32_t stage = reader.shared.stage(reader.ring.slot);
  const std::uint64_t a =
      ptx::operand(ptx::operand_shape<TransposedA>(), stage + reader.warpgroup * (64 * 128));
  const std::uint64_t b = ptx::operand(ptx::operand_shape<TransposedB>(), stage + Tile::a_bytes);
  constexpr std::uint64_t a_step = ptx::operand_step<TransposedA>();
  constexpr std::uint64_t b_step = ptx::operand_step<TransposedB>();
  ptx::barrier_wait(reader.shared.full(reader.ring.slot), reader.ring.parity);
  ptx::products_fence();
  ptx::multiply_warpgroup<S, Tile::columns, TransposedA, TransposedB, Add>(sums, a, b);
#pragma unroll
  for (int step = 1; step < Tile::depth / 16; ++step)
    ptx::multiply_warpgroup<S, Tile::columns, TransposedA, TransposedB, true>(sums, a + step * a_step,
                                                                              b + step * b_step);
  ptx::products_commit();
}

/// The products over `blocks` stages; the units always have the next stage's products before a stage is given
/// back. `meanwhile()` is called while the last ones run.
template <class S, class Tile, bool TransposedA, bool TransposedB, class Function>
__device__ __forceinline__ void multiply_stages(float (&sums)[Tile::columns / 2], Gemm16Reader<Tile>& reader,
                                                int blocks, const Function& meanwhile) {
  start_stage<S, Tile, TransposedA, TransposedB, false>(sums, reader);
  int before = reader.ring.slot;
  reader.ring.advance();
  for (int block = 1; block < blocks; ++block) {
    start_stage<S, Tile, TransposedA, TransposedB, true>(sums, reader);
    ptx::products_wait<1>();
    reader.release(before);
    before = reader.ring.slot;
    reader.ring.advance();
  }
  meanwhile();
  ptx::products_wait<0>();
  ptx::settle_sums(sums);
  reader.release(before);
}

/// The same for any order of the operands' elements.
template <class S, class Tile, class Function>
__device__ __forceinline__ void multiply_stages(const Gemm16Problem& problem,
                                                float (&sums)[Tile::columns / 2], Gemm16Reader<Tile>& reader,
                                                int blocks, const Function& meanwhile) {
  if (problem.a_k_fastest) {
    if (problem.b_k_fastest) {
      multiply_stages<S, Tile, false, false>(sums, reader, blocks, meanwhile);
    } else {
      multiply_stages<S, Tile, false, true>(sums, reader, blocks, meanwhile);
    }
  } else {
    if (problem.b_k_fastest) {
      multiply_stages<S, Tile, true, false>(sums, reader, blocks, meanwhile);
    } else {
      multiply_stages<S, Tile, true, true>(sums, reader, blocks, meanwhile);
    }
  }
}

}  // namespace papillon::cuda
