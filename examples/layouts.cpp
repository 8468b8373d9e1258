// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes, layouts, subviews, complex numbers.

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <papillon/papillon.hpp>

namespace {

// [layouts]
/// Transforms the channels of every other image in place, and returns one spectrum coefficient of each.
template <class Space>
void transform_channels(const Space& space) {
  using Complex = Kokkos::complex<float>;
  const Kokkos::View<Complex****, Kokkos::LayoutLeft, Space> images("images", 6, 16, 10, 10);
  Kokkos::deep_copy(space, images, Complex(1.0f, -2.0f));

  // Images 0, 2 and 4 as a strided view; nothing is copied.
  const auto all = Kokkos::ALL;
  const Kokkos::View<Complex****, Kokkos::LayoutStride, Space> even(
      images.data(), Kokkos::LayoutStride(3, 2 * images.stride(0), 16, images.stride(1), 10, images.stride(2),
                                          10, images.stride(3)));
  papillon::hadamard(space, even, even, {.axis = 1});

  // One row of one image, read as a constant, written to a View of another layout.
  const Kokkos::View<const Complex*, Kokkos::LayoutStride, Space> row = Kokkos::subview(images, 0, all, 3, 4);
  const Kokkos::View<Complex*, Kokkos::LayoutRight, Space> back("back", 16);
  papillon::hadamard(space, row, back, {.norm = papillon::Normalization::inverse});
  // [layouts]

  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), images);
  const auto host_back = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), back);
  const Complex one(1.0f, -2.0f), sixteen(16.0f, -32.0f), zero(0.0f, 0.0f);
  bool right = true;
  for (int image = 0; image < 6; ++image) {
    for (int channel = 0; channel < 16; ++channel) {
      const Complex expected = image % 2 == 1 ? one : channel == 0 ? sixteen : zero;
      right = right && host(image, channel, 7, 9) == expected;
    }
  }
  for (int channel = 0; channel < 16; ++channel) right = right && host_back(channel) == one;
  if (!right) throw std::logic_error("a wrong result");
}

}  // namespace

int main() {
  const Kokkos::ScopeGuard kokkos;
  try {
    transform_channels(Kokkos::DefaultExecutionSpace());
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
