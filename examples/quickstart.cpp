// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first steps: transform a View, transform it back.

// [quickstart]
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace space;
  Kokkos::View<double**> x("x", 1000, 3584), y("y", 1000, 3584);
  Kokkos::deep_copy(x, 1.0);

  papillon::hadamard(space, x, y,
                     {.norm = papillon::Normalization::ortho});            // every row, y = H x / sqrt(3584)
  papillon::hadamard(space, y, y, {.scale = 0.5, .axis = 0, .group = 8});  // in place, along the columns
  space.fence();
  // [quickstart]

  // Row sums by hand: the columns held equal values, so each group of 8 keeps its first element, times 8 / 2.
  const auto rows = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  const auto h = papillon::hadamard_matrix(3584);
  for (const int row : {0, 1, 999}) {
    for (int column = 0; column < 3584; column += 97) {
      long sum = 0;
      for (int j = 0; j < 3584; ++j) sum += h(column, j);
      const double expected = row % 8 == 0 ? 4.0 * static_cast<double>(sum) / std::sqrt(3584.0) : 0.0;
      if (std::abs(rows(row, column) - expected) > 1e-9) {
        std::printf("y(%d, %d) = %g, not %g\n", row, column, rows(row, column), expected);
        return 1;
      }
    }
  }
  return 0;
}
