// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function on a 3-D grid, interpolated to a finer one: the matrix is a Kronecker product of three small
// ones.

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdio>
#include <papillon/papillon.hpp>
#include <vector>

using Matrix = Kokkos::View<double**, Kokkos::HostSpace>;

/// Linear interpolation from `coarse` to `fine` points on [0, 1].
Matrix interpolation(int fine, int coarse) {
  const Matrix matrix("interpolation", fine, coarse);
  for (int i = 0; i < fine; ++i) {
    const double place = static_cast<double>(i) * (coarse - 1) / (fine - 1);
    const int left = std::min(static_cast<int>(place), coarse - 2);
    matrix(i, left) = 1 - (place - left);
    matrix(i, left + 1) = place - left;
  }
  return matrix;
}

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace space;
  const Matrix z = interpolation(7, 3);
  const Matrix y = interpolation(9, 5);
  const Matrix x = interpolation(8, 4);
  // Two functions, each a row of 3 · 5 · 4 values, x varying fastest.
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> coarse("coarse", 2, 3 * 5 * 4);
  for (int i = 0; i < 3 * 5 * 4; ++i) {
    coarse(0, i) = i / 20 / 2.0 - i / 4 % 5 / 4.0 + i % 4 / 3.0;
    coarse(1, i) = 1;
  }
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> fine("fine", 2, 7 * 9 * 8);

  // [kronecker]
  const std::vector factors{papillon::describe_factor(z), papillon::describe_factor(y),
                            papillon::describe_factor(x)};
  papillon::kronecker(space, factors, coarse, fine);  // fine[f] = (Z ⊗ Y ⊗ X) coarse[f]
  papillon::kronecker(space, factors, fine, coarse, {.adjoint = true});
  // [kronecker]

  // L = |after|² / 2 of after = (Z ⊗ Y ⊗ X) coarse has the gradient `after` there, and with respect to Y
  // this.
  const Matrix d_y("gradient", 9, 5);
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> after("after", 2, 7 * 9 * 8);
  papillon::kronecker(space, factors, coarse, after);
  // [gradient]
  papillon::kronecker_factor_gradient(space, factors, 1, coarse, after, d_y);  // 1: with respect to Y
  // [gradient]
  space.fence();

  // Linear functions are interpolated exactly; the adjoint of a constant sums to the number of fine points.
  double error = 0;
  for (int i = 0; i < 7 * 9 * 8; ++i)
    error = std::max(error, std::abs(fine(0, i) - (i / 72 / 6.0 - i / 8 % 9 / 8.0 + i % 8 / 7.0)));
  double total = 0;
  for (int i = 0; i < 3 * 5 * 4; ++i) total += coarse(1, i);
  // L is of degree 2 in Y, so that its gradient times Y is 2 L (Euler).
  double squares = 0, slope = 0;
  for (int f = 0; f < 2; ++f)
    for (int i = 0; i < 7 * 9 * 8; ++i) squares += after(f, i) * after(f, i);
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 5; ++j) slope += d_y(i, j) * y(i, j);
  std::printf("largest error %.1e, sum %.1f, slope %.3f\n", error, total, slope / squares);
  const bool right =
      error < 1e-14 && std::abs(total - 7 * 9 * 8) < 1e-10 && std::abs(slope / squares - 1) < 1e-12;
  return right ? 0 : 1;
}
