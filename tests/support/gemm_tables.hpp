// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The fast algorithms that tests of gemm go through.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "papillon/bilinear.hpp"
#include "papillon/gemm_options.hpp"

namespace papillon_test {

/// 3 x 5 by 5 x 2 blocks of a product by definition, one after the other: extents unlike any other's.
inline papillon::BilinearAlgorithm plain_table() {
  papillon::BilinearAlgorithm table{"plain", 3, 5, 2, 30, {}, {}, {}};
  for (int p = 0; p < 30; ++p) {
    const int i = p / 10, l = p / 2 % 5, j = p % 2;
    for (int a = 0; a < 15; ++a) table.u.push_back(a == 5 * i + l ? 1 : 0);
    for (int b = 0; b < 10; ++b) table.v.push_back(b == 2 * l + j ? 1 : 0);
    for (int c = 0; c < 6; ++c) table.w.push_back(c == 2 * i + j ? 1 : 0);
  }
  return table;
}

/// Strassen's with A doubled in the first product and the result halved is no table of integers; this one has
/// coefficients beyond ±1 all the same: product 1 is taken twice, with 2 and -1.
inline papillon::BilinearAlgorithm wide_table() {
  papillon::BilinearAlgorithm table = papillon::strassen_algorithm();
  table.name = "wide";
  table.rank = 8;
  table.u.insert(table.u.end(), table.u.begin(), table.u.begin() + 4);
  table.v.insert(table.v.end(), table.v.begin(), table.v.begin() + 4);
  for (int c = 0; c < 4; ++c) {
    const std::int8_t w = table.w[static_cast<std::size_t>(c)];
    table.w[static_cast<std::size_t>(c)] = static_cast<std::int8_t>(3 * w);
    table.w.push_back(static_cast<std::int8_t>(-w));
  }
  for (int c = 28; c < 32; ++c) table.u[static_cast<std::size_t>(c)] *= 2;
  return table;
}

/// Lists of levels, outermost first.
inline const std::vector<std::vector<papillon::BilinearAlgorithm>>& mixed_levels() {
  static const std::vector<std::vector<papillon::BilinearAlgorithm>> lists = [] {
    const auto& strassen = papillon::strassen_algorithm();
    const auto& winograd = papillon::winograd_algorithm();
    const auto& kerr = papillon::hopcroft_kerr_algorithm();
    const auto& squared = papillon::strassen_squared_algorithm();
    return std::vector<std::vector<papillon::BilinearAlgorithm>>{{kerr},
                                                                 {squared},
                                                                 {kerr, kerr},
                                                                 {strassen, kerr},
                                                                 {kerr, winograd},
                                                                 {squared, kerr},
                                                                 {winograd, squared},
                                                                 {plain_table()},
                                                                 {plain_table(), strassen},
                                                                 {wide_table()},
                                                                 {wide_table(), winograd},
                                                                 {winograd, strassen, kerr}};
  }();
  return lists;
}

/// Calls check(options) for every algorithm with up to three levels.
template <class Check>
void for_each_algorithm(const Check& check) {
  for (const papillon::GemmAlgorithm algorithm :
       {papillon::GemmAlgorithm::strassen, papillon::GemmAlgorithm::winograd}) {
    for (int levels = 1; levels <= 3; ++levels) {
      papillon::GemmOptions options;
      options.algorithm = algorithm;
      options.max_levels = levels;
      check(options);
    }
  }
  for (const auto& list : mixed_levels()) {
    papillon::GemmOptions options;
    options.algorithm = papillon::GemmAlgorithm::table;
    options.tables = list;
    check(options);
  }
}

}  // namespace papillon_test
