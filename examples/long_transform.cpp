// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16-bit storage and a caller's workspace.

#include <Kokkos_Core.hpp>
#include <cstdio>
#include <papillon/papillon.hpp>

int main() {
  const Kokkos::ScopeGuard kokkos;
  // [workspace]
  using papillon::bfloat16;
  const Kokkos::DefaultExecutionSpace space;
  const Kokkos::View<bfloat16*> x("x", 1 << 20), y("y", 1 << 20);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy(space, 0, 1 << 20),
      KOKKOS_LAMBDA(int i) { x(i) = bfloat16(i % 2 == 0 ? 1.0f : 0.5f); });

  // A row that is too long for one pass keeps float sums in between; they can lie in memory of the caller's.
  papillon::HadamardOptions options{.norm = papillon::Normalization::inverse};
  const Kokkos::View<char*> memory("workspace", papillon::hadamard_workspace_bytes(space, x, y, options));
  options.workspace = {memory.data(), memory.size()};
  papillon::hadamard(space, x, y, options);
  space.fence();
  // [workspace]

  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  for (int i = 0; i < 1 << 20; ++i) {
    const float expected = i == 0 ? 0.75f : i == 1 ? 0.25f : 0.0f;
    if (static_cast<float>(result(i)) != expected) {
      std::printf("y(%d) = %g, not %g\n", i, static_cast<double>(static_cast<float>(result(i))), expected);
      return 1;
    }
  }
  return 0;
}
