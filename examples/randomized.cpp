// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The randomised Hadamard transform H D, D a diagonal of random signs, and its inverse D H.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace space;
  const Kokkos::View<float**> x("x", 5, 4096), y("y", 5, 4096), z("z", 5, 4096);
  const auto host = Kokkos::create_mirror_view(x);
  host(2, 100) = 64.0f;  // an outlier, as weights and activations have them
  Kokkos::deep_copy(x, host);

  // [randomized]
  // y = H (s ∘ x) / sqrt(n): the outlier spreads evenly over its row. No sign vector is stored.
  papillon::HadamardOptions options{.norm = papillon::Normalization::ortho, .signs = {.seed = 2026}};
  papillon::hadamard(space, x, y, options);

  // z = s ∘ (H y) / sqrt(n) undoes it: the same seed, the signs on the output's side.
  options.signs.side = papillon::SignSide::output;
  papillon::hadamard(space, y, z, options);
  space.fence();
  // [randomized]

  const auto spread = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  const auto restored = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), z);
  for (int j = 0; j < 4096; ++j) {
    const float expected = j == 100 ? 64.0f : 0.0f;
    if (std::abs(spread(2, j)) != 1.0f || restored(2, j) != expected || restored(1, j) != 0.0f) {
      std::printf("column %d: |%g| spread, %g restored\n", j, spread(2, j), restored(2, j));
      return 1;
    }
  }
  // The sign of point 100 is a function that anyone can evaluate.
  return spread(2, 0) == static_cast<float>(papillon::random_sign(2026, 100)) ? 0 : 1;
}
