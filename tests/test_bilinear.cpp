// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tables of bilinear algorithms: that they multiply matrices of indeterminates, in integers, by own code.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "papillon/bilinear.hpp"

namespace {

using papillon::BilinearAlgorithm;

/// A polynomial in products of one entry of A and one of B: pairs of their numbers with coefficients.
using Terms = std::map<std::pair<int, int>, long long>;

/// Entry (i, j) of C as the tables give it, terms with coefficient 0 left out.
Terms entry_by_tables(const BilinearAlgorithm& table, int i, int j) {
  Terms terms;
  for (int p = 0; p < table.rank; ++p) {
    const int w = table.w.at(static_cast<std::size_t>(p * table.m * table.n + i * table.n + j));
    for (int a = 0; a < table.m * table.k; ++a) {
      for (int b = 0; b < table.k * table.n; ++b) {
        const int u = table.u.at(static_cast<std::size_t>(p * table.m * table.k + a));
        const int v = table.v.at(static_cast<std::size_t>(p * table.k * table.n + b));
        terms[{a, b}] += static_cast<long long>(u) * v * w;
      }
    }
  }
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  return terms;
}

Terms entry_by_definition(const BilinearAlgorithm& table, int i, int j) {
  Terms terms;
  for (int l = 0; l < table.k; ++l) terms[{i * table.k + l, l * table.n + j}] = 1;
  return terms;
}

bool multiplies(const BilinearAlgorithm& table) {
  for (int i = 0; i < table.m; ++i)
    for (int j = 0; j < table.n; ++j)
      if (entry_by_tables(table, i, j) != entry_by_definition(table, i, j)) return false;
  return true;
}

void check_table(const BilinearAlgorithm& table, int m, int k, int n, int rank) {
  CAPTURE(table.name);
  CHECK(table.m == m);
  CHECK(table.k == k);
  CHECK(table.n == n);
  CHECK(table.rank == rank);
  CHECK(table.u.size() == static_cast<std::size_t>(rank * m * k));
  CHECK(table.v.size() == static_cast<std::size_t>(rank * k * n));
  CHECK(table.w.size() == static_cast<std::size_t>(rank * m * n));
  CHECK(multiplies(table));
  CHECK(papillon::is_matrix_product(table));
}

/// m k n products of single entries.
BilinearAlgorithm definition(int m, int k, int n) {
  BilinearAlgorithm table{"definition", m, k, n, m * k * n, {}, {}, {}};
  for (int i = 0; i < m; ++i) {
    for (int l = 0; l < k; ++l) {
      for (int j = 0; j < n; ++j) {
        for (int a = 0; a < m * k; ++a) table.u.push_back(a == i * k + l ? 1 : 0);
        for (int b = 0; b < k * n; ++b) table.v.push_back(b == l * n + j ? 1 : 0);
        for (int c = 0; c < m * n; ++c) table.w.push_back(c == i * n + j ? 1 : 0);
      }
    }
  }
  return table;
}

}  // namespace

TEST_CASE("bilinear: the library's tables multiply matrices") {
  check_table(papillon::strassen_algorithm(), 2, 2, 2, 7);
  check_table(papillon::winograd_algorithm(), 2, 2, 2, 7);
  check_table(papillon::hopcroft_kerr_algorithm(), 3, 2, 3, 15);
  check_table(papillon::strassen_squared_algorithm(), 4, 4, 4, 49);
}

TEST_CASE("bilinear: composed tables multiply matrices, whatever their shapes") {
  const auto& strassen = papillon::strassen_algorithm();
  const auto& winograd = papillon::winograd_algorithm();
  const auto& kerr = papillon::hopcroft_kerr_algorithm();
  check_table(papillon::compose(winograd, strassen), 4, 4, 4, 49);
  check_table(papillon::compose(kerr, winograd), 6, 4, 6, 105);
  check_table(papillon::compose(strassen, kerr), 6, 4, 6, 105);
  check_table(papillon::compose(definition(1, 2, 3), kerr), 3, 4, 9, 90);
  check_table(papillon::compose(kerr, definition(2, 1, 1)), 6, 2, 3, 30);
  check_table(definition(1, 1, 1), 1, 1, 1, 1);
}

TEST_CASE("bilinear: a table with any one entry changed is found out") {
  for (const BilinearAlgorithm* good : {&papillon::strassen_algorithm(), &papillon::winograd_algorithm(),
                                        &papillon::hopcroft_kerr_algorithm()}) {
    CAPTURE(good->name);
    for (auto part : {&BilinearAlgorithm::u, &BilinearAlgorithm::v, &BilinearAlgorithm::w}) {
      for (std::size_t i = 0; i < (good->*part).size(); ++i) {
        for (const int change : {1, -1}) {
          BilinearAlgorithm table = *good;
          (table.*part)[i] = static_cast<std::int8_t>((table.*part)[i] + change);
          CAPTURE(i);
          CHECK(papillon::is_matrix_product(table) == multiplies(table));
          CHECK_FALSE(papillon::is_matrix_product(table));
        }
      }
    }
  }
}

TEST_CASE("bilinear: tables of the wrong size are found out") {
  const auto broken = [](const auto& change) {
    BilinearAlgorithm table = papillon::strassen_algorithm();
    change(table);
    return !papillon::is_matrix_product(table);
  };
  CHECK(broken([](auto& table) { table.rank = 6; }));
  CHECK(broken([](auto& table) { table.rank = 8; }));
  CHECK(broken([](auto& table) { table.rank = 0; }));
  CHECK(broken([](auto& table) { table.m = 0; }));
  CHECK(broken([](auto& table) { table.k = -2; }));
  CHECK(broken([](auto& table) { table.n = 4; }));
  CHECK(broken([](auto& table) { table.m = -2, table.k = -2; }));
  CHECK(broken([](auto& table) { table.u.pop_back(); }));
  CHECK(broken([](auto& table) { table.v.push_back(0); }));
  CHECK(broken([](auto& table) { table.w.clear(); }));
  CHECK(broken([](auto& table) { std::swap(table.u, table.v); }));
  CHECK_FALSE(papillon::is_matrix_product({}));
}

TEST_CASE("bilinear: coefficients that leave their type are refused") {
  BilinearAlgorithm outer = definition(1, 1, 1), inner = outer;
  outer.u[0] = 16;
  inner.u[0] = 8;
  CHECK_THROWS_WITH_AS(papillon::compose(outer, inner), doctest::Contains("128"), std::invalid_argument);
  inner.u[0] = -8;
  CHECK_THROWS_WITH_AS(papillon::compose(outer, inner), doctest::Contains("-128"), std::invalid_argument);
  inner.u[0] = 7;
  CHECK(papillon::compose(outer, inner).u[0] == 112);
}
