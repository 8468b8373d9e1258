// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transforms a View with the installed library and compares it with sums over the matrix's definition.

#include <Kokkos_Core.hpp>
#include <bit>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Kokkos::View<int**, Kokkos::HostSpace> x("x", 3, 64), y("y", 3, 64);
  for (int row = 0; row < 3; ++row) {
    for (int j = 0; j < 64; ++j) x(row, j) = (row * 31 + j * j * 7) % 23 - 11;
  }
  papillon::hadamard(space, x, y);
  space.fence();

  for (int row = 0; row < 3; ++row) {
    for (unsigned i = 0; i < 64; ++i) {
      int expected = 0;
      for (unsigned j = 0; j < 64; ++j) expected += std::popcount(i & j) % 2 == 0 ? x(row, j) : -x(row, j);
      if (y(row, i) != expected) {
        std::printf("y(%d, %u) = %d, not %d\n", row, i, y(row, i), expected);
        return 1;
      }
    }
  }
  std::printf("Papillon %.*s, installed, transforms right\n", static_cast<int>(papillon::version.size()),
              papillon::version.data());
  return 0;
}
