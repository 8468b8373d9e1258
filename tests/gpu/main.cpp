// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <iostream>

#include "cuda/api.hpp"

int main(int argc, char** argv) {
  const std::string why = papillon::cuda::why_unavailable();
  if (!why.empty()) {
    std::cerr << why << "\n";
    return 77;  // CTest's SKIP_RETURN_CODE
  }
  const Kokkos::ScopeGuard kokkos;
  doctest::Context context(argc, argv);
  return context.run();
}
