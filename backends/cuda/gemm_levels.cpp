// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_levels.hpp"

#include <algorithm>
#include <cstddef>

#include "papillon/core/errors.hpp"

namespace papillon::cuda {

int LevelTables::products() const {
  int result = 1;
  for (int level = 0; level < levels; ++level) result *= rank[level];
  return result;
}

bool LevelTables::pairs() const {
  for (int level = 0; level < levels; ++level)
    if (rank[level] != 7 || slow[level] != 2 || fast[level] != 2) return false;
  return true;
}

LevelTables sum_of_products(int products) {
  LevelTables result;
  result.levels = 1;
  result.rank[0] = products;
  result.slow[0] = result.fast[0] = 1;
  std::fill_n(result.entries, products, std::int8_t{1});
  return result;
}

bool packs_turned(const LevelTables& tables) {
  return tables.levels <= LevelTables::most_pair_levels && tables.pairs();
}

LevelTables level_tables(const detail::GemmPlan& plan, LevelTable which, bool rows_fastest) {
  LevelTables result;
  if (plan.levels.size() > LevelTables::most_levels) {
    throw_invalid_argument("gemm", plan.levels.size(), " levels; the CUDA backend takes up to ",
                           LevelTables::most_levels);
  }
  int used = 0;
  for (const BilinearAlgorithm* algorithm : plan.levels) {
    const int rows = which == LevelTable::v ? algorithm->k : algorithm->m;
    const int columns = which == LevelTable::u ? algorithm->k : algorithm->n;
    const auto& table = which == LevelTable::u   ? algorithm->u
                        : which == LevelTable::v ? algorithm->v
                                                 : algorithm->w;
    if (table.size() > static_cast<std::size_t>(LevelTables::most_entries - used)) {
      throw_invalid_argument("gemm", "the tables of ", algorithm->name,
                             " are too large: the CUDA backend takes ", LevelTables::most_entries,
                             " entries of all levels");
    }
    const int level = result.levels++;
    result.rank[level] = algorithm->rank;
    result.slow[level] = rows_fastest ? columns : rows;
    result.fast[level] = rows_fastest ? rows : columns;
    result.first[level] = used;
    for (int p = 0; p < algorithm->rank; ++p) {
      for (int s = 0; s < result.slow[level]; ++s) {
        for (int f = 0; f < result.fast[level]; ++f) {
          const int block = rows_fastest ? f * columns + s : s * columns + f;
          result.entries[used++] = table[static_cast<std::size_t>(p * rows * columns + block)];
        }
      }
    }
  }
  return result;
}

}  // namespace papillon::cuda
