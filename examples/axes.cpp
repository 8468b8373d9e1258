// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two axes of a batch of images, and back.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Kokkos::View<float****, Kokkos::LayoutRight, Kokkos::HostSpace> images("images", 2, 64, 96, 3);
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 96; ++j)
        for (int c = 0; c < 3; ++c) images(b, i, j, c) = static_cast<float>(i * j % 17 + c);

  // [axes]
  // Height and width of (batch, height, width, channel); the spectrum in order of sign changes needs powers
  // of two, the natural order takes 96 too.
  const papillon::HadamardOptions forward{.axes = {1, 2}};
  const papillon::HadamardOptions back{
      .norm = papillon::Normalization::inverse, .axes = {1, 2}, .transpose = true};
  papillon::hadamard(space, images, images, forward);
  papillon::hadamard(space, images, images, back);
  // [axes]
  space.fence();

  const float value = images(1, 5, 7, 2);
  std::printf("%g\n", static_cast<double>(value));
  return std::abs(value - static_cast<float>(5 * 7 % 17 + 2)) < 1e-3f ? 0 : 1;
}
