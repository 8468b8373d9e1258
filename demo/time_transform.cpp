// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times the image's transform against a copy of the same bytes, both on all threads of the machine:
//
//   papillon-demo-time-transform
//
// A stack of 256 images of 256 x 256 floats (64 MiB, so that it lies in memory rather than in a cache) gets
// the two-dimensional, sequency-ordered, orthonormal transform of each image. The last line of the output is
// "TRANSFORM_MS COPY_MS BYTES THREADS", for the demo script.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <papillon/papillon.hpp>

namespace {

using Space = Kokkos::DefaultHostExecutionSpace;
using Stack = Kokkos::View<float***, Kokkos::LayoutRight, Space>;

/// Shortest of several runs, in milliseconds; the first one, which touches fresh memory, does not count.
template <class Work>
double best_milliseconds(const Work& work) {
  double best = 1e300;
  for (int run = 0; run < 8; ++run) {
    const Kokkos::Timer timer;
    work();
    if (run > 0) best = std::min(best, timer.seconds() * 1e3);
  }
  return best;
}

}  // namespace

int main() {
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  const Space space;
  const Stack images("images", 256, 256, 256);
  const Stack spectra("spectra", 256, 256, 256);
  Kokkos::parallel_for(
      Kokkos::MDRangePolicy<Space, Kokkos::Rank<3>>(space, {0, 0, 0}, {256, 256, 256}),
      KOKKOS_LAMBDA(int k, int i, int j) {
        images(k, i, j) = static_cast<float>((i * 7 + j * 13 + k) % 251);
      });

  const double copy = best_milliseconds([&] {
    Kokkos::deep_copy(space, spectra, images);
    space.fence();
  });
  const auto transform = [&](papillon::Ordering ordering) {
    papillon::HadamardOptions rows{.norm = papillon::Normalization::ortho, .axis = 2, .ordering = ordering};
    papillon::HadamardOptions columns = rows;
    columns.axis = 1;
    return best_milliseconds([&] {
      papillon::hadamard(space, images, spectra, rows);
      papillon::hadamard(space, spectra, spectra, columns);
      space.fence();
    });
  };
  std::printf("%.3f %.3f %.3f %zu %d\n", copy, transform(papillon::Ordering::natural),
              transform(papillon::Ordering::sequency), images.size() * sizeof(float), space.concurrency());
  return 0;
}
