// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_levels.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/gemm/level_blocks.cuh"
#include "kernels/gemm/level_pairs.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {
namespace {

constexpr int factor_bytes = most_factors_at_a_time * static_cast<int>(sizeof(int));

/// Whether words of `V` elements of S are aligned wherever a block has its next V elements.
template <class S>
bool whole_words(const BlockedMatrix& matrix, int v) {
  return matrix.fast_stride == 1 && matrix.slow_stride % v == 0 && matrix.block_fast % v == 0 &&
         reinterpret_cast<std::uintptr_t>(matrix.data) % (sizeof(S) * static_cast<std::size_t>(v)) == 0;
}

template <class C, int Levels>
PairTables<C, Levels> pair_tables(const LevelTables& tables) {
  PairTables<C, Levels> result;
  for (int level = 0; level < Levels; ++level)
    for (int p = 0; p < 7; ++p)
      for (int b = 0; b < 4; ++b)
        result.entries[level][p][b] = static_cast<C>(tables.entries[tables.first[level] + p * 4 + b]);
  return result;
}

/// run(std::integral_constant<int, levels>) for 1 to LevelTables::most_pair_levels.
template <class Run>
cudaError_t visit_levels(int levels, const Run& run) {
  if (levels == 1) return run(std::integral_constant<int, 1>{});
  if (levels == 2) return run(std::integral_constant<int, 2>{});
  return run(std::integral_constant<int, 3>{});
}

std::int64_t positions(const BlockedMatrix& matrix, int v) {
  return matrix.block_slow * ((matrix.block_fast + v - 1) / v);
}

std::int64_t divide_up(std::int64_t value, std::int64_t parts) { return (value + parts - 1) / parts; }

template <class S, int V>
cudaError_t launch_pack_blocks(cudaStream_t stream, const BlockedMatrix& source, const PackedMatrices& packed,
                               const LevelTables& tables) {
  const std::int64_t tiles = divide_up(positions(source, V), level_threads);
  return launch<&pack_blocks<S, V>>(stream, tiles * packed.count, level_threads, factor_bytes, source, packed,
                                    tables, tiles);
}

template <class C, class Out, int V>
cudaError_t launch_combine_blocks(cudaStream_t stream, const PackedMatrices& products,
                                  const BlockedMatrix& target, const LevelTables& tables, C alpha, C beta) {
  const std::int64_t tiles = divide_up(positions(target, V), level_threads);
  std::int64_t blocks = tiles;
  for (int level = 0; level < tables.levels; ++level) blocks *= tables.slow[level] * tables.fast[level];
  return launch<&combine_blocks<C, Out, V>>(stream, blocks, level_threads, factor_bytes, products, target,
                                            tables, tiles, alpha, beta);
}

}  // namespace

template <class S>
cudaError_t launch_pack_sums(cudaStream_t stream, const Device&, const BlockedMatrix& source,
                             const PackedMatrices& packed, const LevelTables& tables) {
  using C = compute_type<S>;
  if (packs_turned(tables)) {
    return visit_levels(tables.levels, [&]<int Levels>(std::integral_constant<int, Levels>) {
      constexpr bool outer = Levels == 3;
      const auto run = [&]<int V, bool Turned>(std::integral_constant<int, V>, std::bool_constant<Turned>) {
        const std::int64_t tiles = Turned ? turned_tiles(V, source.block_slow, source.block_fast)
                                          : divide_up(positions(source, V), pair_threads);
        return launch<&pack_pairs<S, V, Levels - outer, outer, Turned>>(stream, outer ? 7 * tiles : tiles,
                                                                        pair_threads, 0, source, packed,
                                                                        pair_tables<C, Levels>(tables));
      };
      const auto visit = [&](auto turned) {
        constexpr int word = 16 / sizeof(C);
        return whole_words<S>(source, word) ? run(std::integral_constant<int, word>{}, turned)
                                            : run(std::integral_constant<int, 1>{}, turned);
      };
      return packed.turned ? visit(std::true_type{}) : visit(std::false_type{});
    });
  }
  constexpr int word = 16 / sizeof(S);
  return whole_words<S>(source, word) ? launch_pack_blocks<S, word>(stream, source, packed, tables)
                                      : launch_pack_blocks<S, 1>(stream, source, packed, tables);
}

template <class C, class Out>
cudaError_t launch_combine(cudaStream_t stream, const Device&, const PackedMatrices& products,
                           const BlockedMatrix& target, const LevelTables& tables, double alpha,
                           double beta) {
  const C alpha_value = static_cast<C>(alpha);
  const C beta_value = static_cast<C>(beta);
  if (packs_turned(tables)) {
    const auto tiles = [&](int v) { return divide_up(positions(target, v), pair_threads); };
    const auto run = [&]<int V, int Levels>(std::integral_constant<int, V>,
                                            std::integral_constant<int, Levels>) {
      const PairTables<C, Levels> factors = pair_tables<C, Levels>(tables);
      if constexpr (Levels == 3) {
        constexpr int bytes = combine_depth * 7 * pair_threads * V * static_cast<int>(sizeof(C));
        return launch<&combine_three<C, Out, V>>(stream, tiles(V), pair_threads, bytes, products, target,
                                                 factors, alpha_value, beta_value);
      } else {
        return launch<&combine_pairs<C, Out, V, Levels>>(stream, tiles(V), pair_threads, 0, products, target,
                                                         factors, alpha_value, beta_value);
      }
    };
    return visit_levels(tables.levels, [&]<int Levels>(std::integral_constant<int, Levels> levels) {
      // Half a word where a thread has 64 blocks.
      constexpr int word = (Levels == 3 ? 8 : 16) / static_cast<int>(sizeof(C));
      return whole_words<Out>(target, word) ? run(std::integral_constant<int, word>{}, levels)
                                            : run(std::integral_constant<int, 1>{}, levels);
    });
  }
  constexpr int word = 16 / sizeof(C);
  return whole_words<Out>(target, word)
             ? launch_combine_blocks<C, Out, word>(stream, products, target, tables, alpha_value, beta_value)
             : launch_combine_blocks<C, Out, 1>(stream, products, target, tables, alpha_value, beta_value);
}

template cudaError_t launch_pack_sums<float>(cudaStream_t, const Device&, const BlockedMatrix&,
                                             const PackedMatrices&, const LevelTables&);
template cudaError_t launch_pack_sums<double>(cudaStream_t, const Device&, const BlockedMatrix&,
                                              const PackedMatrices&, const LevelTables&);
template cudaError_t launch_pack_sums<half>(cudaStream_t, const Device&, const BlockedMatrix&,
                                            const PackedMatrices&, const LevelTables&);
template cudaError_t launch_pack_sums<bfloat16>(cudaStream_t, const Device&, const BlockedMatrix&,
                                                const PackedMatrices&, const LevelTables&);
template cudaError_t launch_combine<float, float>(cudaStream_t, const Device&, const PackedMatrices&,
                                                  const BlockedMatrix&, const LevelTables&, double, double);
template cudaError_t launch_combine<double, double>(cudaStream_t, const Device&, const PackedMatrices&,
                                                    const BlockedMatrix&, const LevelTables&, double, double);
template cudaError_t launch_combine<float, half>(cudaStream_t, const Device&, const PackedMatrices&,
                                                 const BlockedMatrix&, const LevelTables&, double, double);
template cudaError_t launch_combine<float, bfloat16>(cudaStream_t, const Device&, const PackedMatrices&,
                                                     const BlockedMatrix&, const LevelTables&, double,
                                                     double);

}  // namespace papillon::cuda
