// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The three orders of outputs, shown on the 8-point matrix.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  bool right = true;
  // [orderings]
  using papillon::Ordering;
  for (const Ordering ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
    // The transform of the rows of the identity gives the matrix, here its transpose.
    const Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Kokkos::HostSpace> h("h", 8, 8);
    for (int i = 0; i < 8; ++i) h(i, i) = 1;
    papillon::hadamard(space, h, h, {.ordering = ordering});
    space.fence();

    const std::string_view name = papillon::name_of(ordering);
    std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    for (int row = 0; row < 8; ++row) {
      int changes = 0;
      for (int j = 0; j < 8; ++j) {
        std::printf("%c", h(j, row) > 0 ? '+' : '-');
        if (j > 0 && h(j, row) != h(j - 1, row)) ++changes;
      }
      std::printf("  %d sign changes\n", changes);
      if (ordering == Ordering::sequency) right = right && changes == row;
    }
  }
  // [orderings]
  return right ? 0 : 1;
}
