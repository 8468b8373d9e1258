// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A 3-D Poisson problem in layers, solved directly by fast diagonalisation.
//
//   papillon-demo-poisson FOLDER
//
// On the unit cube, with u = 0 on its walls,
//
//   -d/dx (k1(x) du/dx) - d/dy (k2(y) du/dy) - d/dz (k3(z) du/dz) = f.
//
// Second-order differences on nz x ny x nx inner points make it A u = f, A = Az ⊗ 1 ⊗ 1 + 1 ⊗ Ay ⊗ 1 + 1 ⊗ 1
// ⊗ Ax. With the eigenvectors Q and eigenvalues of the three small matrices, A = Q diag Qᵀ for Q = Qz ⊗ Qy ⊗
// Qx (Lynch, Rice and Thomas, Direct solution of partial difference equations by tensor product methods,
// 1964): two Kronecker products and one division solve it. The program ends with status 1 unless the residual
// is within the bound of rounding and the error falls as that of second-order differences must. It writes
// poisson_*.npy.

#include <Eigen/Eigenvalues>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numbers>
#include <papillon/papillon.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "write_npy.hpp"

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Vector = Kokkos::View<double*, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;

constexpr double pi = std::numbers::pi;

/// How well the layers conduct along an axis, and how that changes.
double conductivity(int axis, double s) { return 1 + 0.5 * (axis + 1) * s * s; }
double slope(int axis, double s) { return (axis + 1) * s; }

/// -d/ds (k du/ds) on the inner points s = (i + 1) h, h = 1 / (n + 1): a symmetric tridiagonal matrix, and
/// its eigenvectors, which are the columns of `vectors`.
struct Line {
  int n;
  std::vector<double> diagonal, beside;
  Matrix vectors;
  Vector eigenvalues;

  Line(int axis, int points)
      : n(points),
        diagonal(static_cast<std::size_t>(points)),
        beside(static_cast<std::size_t>(points - 1)),
        vectors("vectors", points, points),
        eigenvalues("eigenvalues", points) {
    const double h = 1.0 / (n + 1);
    const auto between = [&](int i) { return conductivity(axis, (i + 0.5) * h) / (h * h); };  // i - 1 and i
    for (int i = 0; i < n; ++i) diagonal[static_cast<std::size_t>(i)] = between(i) + between(i + 1);
    for (int i = 1; i < n; ++i) beside[static_cast<std::size_t>(i - 1)] = -between(i);
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
    solver.computeFromTridiagonal(Eigen::Map<const Eigen::VectorXd>(diagonal.data(), n),
                                  Eigen::Map<const Eigen::VectorXd>(beside.data(), n - 1));
    if (solver.info() != Eigen::Success) throw std::runtime_error("the eigenvectors did not converge");
    for (int i = 0; i < n; ++i) {
      eigenvalues(i) = solver.eigenvalues()(i);
      for (int j = 0; j < n; ++j) vectors(i, j) = solver.eigenvectors()(i, j);
    }
  }

  /// Row i of the matrix times a line of points `stride` apart.
  double times(const double* values, int i, std::int64_t stride) const {
    double sum = diagonal[static_cast<std::size_t>(i)] * values[0];
    if (i > 0) sum += beside[static_cast<std::size_t>(i - 1)] * values[-stride];
    if (i + 1 < n) sum += beside[static_cast<std::size_t>(i)] * values[stride];
    return sum;
  }
  double norm() const { return eigenvalues(n - 1); }
};

struct Result {
  double error;     ///< of u, largest
  double residual;  ///< |f - A u| / (|A| |u| + |f|)
  double bound;     ///< of rounding, for that
  bool small_enough() const { return residual <= bound; }
};

/// Calls body(index, i, j, k, z, y, x) for every point.
template <class Body>
void for_each_point(const Line& z, const Line& y, const Line& x, const Body& body) {
  std::int64_t index = 0;
  for (int i = 0; i < z.n; ++i)
    for (int j = 0; j < y.n; ++j)
      for (int k = 0; k < x.n; ++k, ++index)
        body(index, i, j, k, (i + 1.0) / (z.n + 1), (j + 1.0) / (y.n + 1), (k + 1.0) / (x.n + 1));
}

Result solve(int nz, int ny, int nx, const std::string& folder) {
  const Kokkos::Timer timer;
  const Line z(2, nz), y(1, ny), x(0, nx);
  const double decomposition = timer.seconds();
  const std::int64_t points = std::int64_t{nz} * ny * nx;
  const Vector f("f", points), u("u", points);
  // The right-hand side of u = sin(pi z) sin(2 pi y) sin(3 pi x).
  const auto exact = [](double a, double b, double c) {
    return std::sin(pi * a) * std::sin(2 * pi * b) * std::sin(3 * pi * c);
  };
  for_each_point(z, y, x, [&](std::int64_t index, int, int, int, double a, double b, double c) {
    const double sa = std::sin(pi * a), sb = std::sin(2 * pi * b), sc = std::sin(3 * pi * c);
    f(index) =
        (conductivity(2, a) * pi * pi * sa - slope(2, a) * pi * std::cos(pi * a)) * sb * sc +
        (conductivity(1, b) * 4 * pi * pi * sb - slope(1, b) * 2 * pi * std::cos(2 * pi * b)) * sa * sc +
        (conductivity(0, c) * 9 * pi * pi * sc - slope(0, c) * 3 * pi * std::cos(3 * pi * c)) * sa * sb;
  });

  const Space space;
  const Kokkos::Timer solve_timer;
  // [solve]
  const std::vector factors{papillon::describe_factor(z.vectors), papillon::describe_factor(y.vectors),
                            papillon::describe_factor(x.vectors)};
  papillon::kronecker(space, factors, f, u, {.adjoint = true});  // u = (Qz ⊗ Qy ⊗ Qx)ᵀ f
  Kokkos::parallel_for(Kokkos::RangePolicy<Space>(space, 0, points), [=](std::int64_t i) {
    u(i) /= z.eigenvalues(i / (ny * nx)) + y.eigenvalues(i / nx % ny) + x.eigenvalues(i % nx);
  });
  papillon::kronecker(space, factors, u, u);  // u = (Qz ⊗ Qy ⊗ Qx) u
  // [solve]
  space.fence();
  const double seconds = solve_timer.seconds();

  Result result{};
  double residual = 0, right = 0, left = 0;
  for_each_point(z, y, x, [&](std::int64_t index, int i, int j, int k, double a, double b, double c) {
    const double* here = u.data() + index;
    const double r =
        f(index) - z.times(here, i, std::int64_t{ny} * nx) - y.times(here, j, nx) - x.times(here, k, 1);
    residual += r * r;
    right += f(index) * f(index);
    left += u(index) * u(index);
    result.error = std::max(result.error, std::abs(u(index) - exact(a, b, c)));
  });
  const double norm = z.norm() + y.norm() + x.norm();
  result.residual = std::sqrt(residual) / (norm * std::sqrt(left) + std::sqrt(right));
  // Each product errs by at most gamma | |Q| |v| |, gamma = d u / (1 - d u), d = nz + ny + nx + 4, and | |Q|
  // | is at most sqrt(nz ny nx) since the rows of Q have norm 1. The decompositions err by about nz u |A| and
  // so on, the division and the residual itself by a few u: the d of a third product covers them.
  const double roundoff = 0x1p-53, d = nz + ny + nx + 4;
  result.bound = 3 * d * roundoff / (1 - d * roundoff) * std::sqrt(static_cast<double>(points));
  std::printf("%d x %d x %d points: eigenvectors %.1f ms, solution %.1f ms (%.2f GFLOP/s)\n", nz, ny, nx,
              decomposition * 1e3, seconds * 1e3,
              4e-9 * static_cast<double>(points) * (nz + ny + nx) / seconds);
  std::printf("  relative residual %.1e (rounding bound %.1e), largest error of u %.2e\n", result.residual,
              result.bound, result.error);

  if (!folder.empty()) {
    write_npy(folder + "/poisson_f.npy", f);
    write_npy(folder + "/poisson_u.npy", u);
    const std::array<std::pair<const char*, const Line*>, 3> lines = {{{"z", &z}, {"y", &y}, {"x", &x}}};
    for (const auto& [name, line] : lines) {
      write_npy(folder + "/poisson_vectors_" + name + ".npy", line->vectors);
      write_npy(folder + "/poisson_eigenvalues_" + name + ".npy", line->eigenvalues);
    }
  }
  return result;
}

int run(const std::string& folder) {
  const Result coarse = solve(39, 59, 47, "");
  const Result fine = solve(79, 119, 95, folder);
  const double ratio = coarse.error / fine.error;
  std::printf("half the spacing: the error falls by %.2f (4 for second-order differences)\n", ratio);
  if (!coarse.small_enough() || !fine.small_enough()) {
    std::printf("the residual exceeds the bound\n");
    return 1;
  }
  return std::abs(ratio - 4) < 0.1 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "papillon-demo-poisson: %s\n", error.what());
    return 1;
  }
}
