// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "papillon/core/kronecker_gradient_problem.hpp"
#include "papillon/generic/multiply_add.hpp"
#include "papillon/generic/team_tile.hpp"

namespace papillon::generic {

/// The final sum of a chunk: for each of its gradients, sum over terms t of u[t, a] conj(v[t, b]), a term
/// being a column, an index slower and one faster than the factor's. Terms are taken in blocks.
struct GradientBlocks {
  Fold fold;  ///< the chunk's columns, x being u, y being v
  const void* u = nullptr;
  const void* v = nullptr;
  std::int64_t u_stride = 1;  ///< of the axis
  std::int64_t v_stride = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t batches = 1;
  std::int64_t columns_a_batch = 1;
  std::int64_t terms = 1;        ///< of a gradient
  std::int64_t block_count = 1;  ///< of a gradient

  GradientBlocks(const detail::KroneckerGradientPlan& plan, const detail::KroneckerGradientChunk& chunk,
                 const detail::KroneckerGradientEnd& u_end, const detail::KroneckerGradientEnd& v_end,
                 const detail::AppliedFactor& factor)
      : fold(chunk.fold),
        u(u_end.data),
        v(v_end.data),
        u_stride(u_end.stride),
        v_stride(v_end.stride),
        rows(factor.rows),
        columns(factor.columns),
        outer(plan.outer),
        inner(plan.inner),
        batches(chunk.batches),
        columns_a_batch(chunk.fold.outer_count() / chunk.batches),
        terms(columns_a_batch * plan.outer * plan.inner),
        block_count((terms + detail::KroneckerGradientPlan::block_terms - 1) /
                    detail::KroneckerGradientPlan::block_terms) {
    std::int64_t u_strides[Fold::max_outer], v_strides[Fold::max_outer];
    set_column_strides(chunk, u_end, u_strides);
    set_column_strides(chunk, v_end, v_strides);
    for (int d = 0; d < fold.outer_rank; ++d) {
      fold.outer[d].x_stride = u_strides[d];
      fold.outer[d].y_stride = v_strides[d];
    }
  }
};

/// A team forms the sums of one block for a tile of the gradient: 32 terms at a time are copied to scratch
/// and summed in order, and those sums are added up in order. Blocks, and so all sums, are the same for every
/// architecture and number of threads.
template <class ExecutionSpace, class S>
class TeamGradientBlocks {
  using C = sum_type<S>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Member = typename Policy::member_type;
  static constexpr std::int64_t leaf = 32;  // terms
  static constexpr std::int64_t tile = 16;  // rows and columns of the gradient
  static constexpr int alignment = 128;

  struct Scratch {
    std::int64_t u_places[leaf], v_places[leaf];
    C u[tile * leaf];  ///< terms fastest
    C v[leaf * tile];  ///< columns fastest: they are a vector's lanes
    C sums[tile * tile];
    C totals[tile * tile];
  };

 public:
  TeamGradientBlocks(const GradientBlocks& blocks, void* results)
      : blocks_(blocks),
        results_(static_cast<C*>(results)),
        row_tiles_((blocks.rows + tile - 1) / tile),
        column_tiles_((blocks.columns + tile - 1) / tile) {}

  void launch(const ExecutionSpace& space) const {
    const std::int64_t teams = blocks_.batches * blocks_.block_count * row_tiles_ * column_tiles_;
    // A device takes only so many teams a launch.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t first = 0; first < teams; first += most) {
      TeamGradientBlocks part = *this;
      part.first_team_ = first;
      Policy policy(space, static_cast<int>(std::min(teams - first, most)), Kokkos::AUTO);
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(sizeof(Scratch)) + alignment));
      Kokkos::parallel_for("papillon::kronecker_factor_gradient", policy, part);
    }
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    auto& scratch =
        *static_cast<Scratch*>(team.team_scratch(0).get_shmem_aligned(sizeof(Scratch), alignment));
    std::int64_t index = first_team_ + team.league_rank();
    const std::int64_t first_column = index % column_tiles_ * tile;
    index /= column_tiles_;
    const std::int64_t first_row = index % row_tiles_ * tile;
    index /= row_tiles_;  // of the block, all gradients' blocks one after the other
    const std::int64_t rows = smaller(tile, blocks_.rows - first_row);
    const std::int64_t columns = smaller(tile, blocks_.columns - first_column);
    const std::int64_t first_term = index % blocks_.block_count * detail::KroneckerGradientPlan::block_terms;
    const std::int64_t end = smaller(first_term + detail::KroneckerGradientPlan::block_terms, blocks_.terms);
    const std::int64_t batch = index / blocks_.block_count;

    for (std::int64_t term = first_term; term < end; term += leaf) {
      const std::int64_t count = smaller(leaf, end - term);
      each(team, count, [&](std::int64_t k) { locate(scratch, k, batch, term + k); });
      team.team_barrier();
      each(team, rows * count, [&](std::int64_t i) {
        const std::int64_t k = i % count, a = i / count;
        const std::int64_t row = (first_row + a) * blocks_.inner * blocks_.u_stride;
        scratch.u[a * leaf + k] = static_cast<C>(static_cast<const S*>(blocks_.u)[scratch.u_places[k] + row]);
      });
      each(team, columns * count, [&](std::int64_t i) {
        const std::int64_t k = i % count, b = i / count;
        const std::int64_t column = (first_column + b) * blocks_.inner * blocks_.v_stride;
        const auto value = static_cast<C>(static_cast<const S*>(blocks_.v)[scratch.v_places[k] + column]);
        if constexpr (is_complex_sum<C>) {
          scratch.v[k * tile + b] = Kokkos::conj(value);
        } else {
          scratch.v[k * tile + b] = value;
        }
      });
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows), [&](std::int64_t a) {
        C* const sums = scratch.sums + a * tile;
        C* const totals = scratch.totals + a * tile;
        const auto lanes = Kokkos::ThreadVectorRange(team, columns);
        for (std::int64_t k = 0; k < count; ++k) {
          const C u = scratch.u[a * leaf + k];
          const C* const v = scratch.v + k * tile;
          Kokkos::parallel_for(lanes, [&](std::int64_t b) {
            sums[b] = k == 0 ? product(u, v[b]) : add_product(u, v[b], sums[b]);
          });
        }
        Kokkos::parallel_for(
            lanes, [&](std::int64_t b) { totals[b] = term == first_term ? sums[b] : totals[b] + sums[b]; });
      });
      team.team_barrier();
    }
    each(team, rows * columns, [&](std::int64_t i) {
      const std::int64_t a = i / columns, b = i % columns;
      results_[(index * blocks_.rows + first_row + a) * blocks_.columns + first_column + b] =
          scratch.totals[a * tile + b];
    });
  }

 private:
  KOKKOS_FUNCTION static std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

  template <class Body>
  KOKKOS_FUNCTION static void each(const Member& team, std::int64_t count, const Body& body) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), body);
  }

  /// Where the values of a gradient's term begin.
  KOKKOS_FUNCTION void locate(Scratch& scratch, std::int64_t k, std::int64_t batch, std::int64_t term) const {
    const std::int64_t inner = term % blocks_.inner;
    const std::int64_t rest = term / blocks_.inner;
    const std::int64_t outer = rest % blocks_.outer;
    const Offset offset = blocks_.fold.outer_offset(batch * blocks_.columns_a_batch + rest / blocks_.outer);
    scratch.u_places[k] = offset.x + (outer * blocks_.rows * blocks_.inner + inner) * blocks_.u_stride;
    scratch.v_places[k] = offset.y + (outer * blocks_.columns * blocks_.inner + inner) * blocks_.v_stride;
  }

  GradientBlocks blocks_;
  C* results_;
  std::int64_t row_tiles_;
  std::int64_t column_tiles_;
  std::int64_t first_team_ = 0;
};

/// What becomes of the sums of a chunk's blocks.
struct KroneckerGradientSums {
  detail::AppliedGradient gradient;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t batches = 1;  ///< gradients of the chunk
  double scale = 1.0;
  std::int64_t first_batch = 0;
  const void* blocks = nullptr;
  std::int64_t block_count = 0;
  void* sums = nullptr;  ///< of the chunks before
  bool first = true;     ///< chunk of its gradients
  bool last = true;
};

/// Adds up the sums of the blocks in order, adds that to the sum of the chunks before, and after the last
/// chunk writes the gradient.
template <class S, class ExecutionSpace>
void add_blocks(const ExecutionSpace& space, const KroneckerGradientSums& parts) {
  using C = sum_type<S>;
  using Real = typename RealOf<C>::type;
  const std::int64_t pairs = parts.rows * parts.columns;
  Kokkos::parallel_for(
      "papillon::kronecker_factor_gradient sums",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(space, 0, parts.batches * pairs),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::int64_t batch = i / pairs, pair = i % pairs;
        const C* const blocks = static_cast<const C*>(parts.blocks);
        C sum{};
        for (std::int64_t block = 0; block < parts.block_count; ++block) {
          const C term = blocks[(batch * parts.block_count + block) * pairs + pair];
          sum = block == 0 ? term : sum + term;
        }
        C* const sums = static_cast<C*>(parts.sums);
        if (!parts.first) sum = sums[i] + sum;
        if (!parts.last) {
          sums[i] = sum;
          return;
        }
        C result = sum * static_cast<Real>(parts.scale);
        if constexpr (is_complex_sum<C>) {
          if (parts.gradient.conjugate) result = Kokkos::conj(result);
        }
        static_cast<S*>(parts.gradient.data)[(parts.first_batch + batch) * parts.gradient.batch_stride +
                                             pair / parts.columns * parts.gradient.row_stride +
                                             pair % parts.columns * parts.gradient.column_stride] =
            static_cast<S>(result);
      });
}

}  // namespace papillon::generic
