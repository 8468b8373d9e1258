// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three uses of one operator: a learned butterfly layer with its gradient, a Fourier transform, a Monarch
// matrix.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <papillon/papillon.hpp>
#include <vector>

using Rows = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Rows x("x", 3, 64), y("y", 3, 64), back("back", 3, 64);
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 64; ++i) x(row, i) = std::sin(1.0 + 7 * row + 3 * i);

  // [butterfly]
  // Six factors of 32 rotations: 384 multiply-adds a row instead of 4096.
  const auto rotation = papillon::random_orthogonal<double>(64, /*seed=*/1);
  papillon::butterfly(space, rotation.view(), x, y);
  papillon::butterfly(space, rotation.view(), y, back, {.adjoint = true});  // undoes it
  // [butterfly]
  space.fence();
  double error = 0;
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 64; ++i) error = std::max(error, std::abs(back(row, i) - x(row, i)));

  // [own values]
  // A block-diagonal matrix of four blocks 16 × 16, times a factor that mixes the blocks.
  const Kokkos::View<double****, Kokkos::LayoutRight, Kokkos::HostSpace> blocks("blocks", 4, 16, 16, 1);
  const Kokkos::View<double****, Kokkos::LayoutRight, Kokkos::HostSpace> mix("mix", 1, 4, 4, 16);
  Kokkos::deep_copy(blocks, 1.0);
  Kokkos::deep_copy(mix, 0.25);
  const std::vector layer{papillon::describe_butterfly(mix), papillon::describe_butterfly(blocks)};
  papillon::butterfly(space, layer, x, y);  // y = mix · blocks · x, the memory read and written once
  // [own values]
  space.fence();
  for (int row = 0; row < 3; ++row) {
    double sum = 0;
    for (int i = 0; i < 64; ++i) sum += x(row, i);
    for (int i = 0; i < 64; ++i) error = std::max(error, std::abs(y(row, i) - sum / 4));
  }

  // [fft]
  const auto fft = papillon::fft_factors<std::complex<double>>(60);
  const Kokkos::View<Kokkos::complex<double>*, Kokkos::HostSpace> signal("signal", 60),
      spectrum("spectrum", 60);
  for (int j = 0; j < 60; ++j) signal(j) = std::cos(2 * 3.14159265358979324 * 7 * j / 60);
  papillon::butterfly(space, fft.view(), signal, spectrum, {.x_permutation = fft.permutation()});
  // [fft]
  space.fence();
  for (int k = 0; k < 60; ++k)
    error = std::max(error, Kokkos::abs(spectrum(k) - (k == 7 || k == 53 ? 30.0 : 0.0)));

  std::printf("largest error %.1e\n", error);
  return error < 1e-12 ? 0 : 1;
}
