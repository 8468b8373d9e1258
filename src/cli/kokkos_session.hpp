// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdlib>

namespace papillon::cli {

/// Kokkos, initialised for a command and finalised at its end. `threads` 0 leaves the number to Kokkos.
class KokkosSession {
 public:
  explicit KokkosSession(int threads = 0) : guard_(settings(threads)) {}

 private:
  static Kokkos::InitializationSettings settings(int threads) {
    ::setenv("OMP_PROC_BIND", "false", 0);  // unset, it makes Kokkos advise the user on standard error
    Kokkos::InitializationSettings result;
    if (threads > 0) result.set_num_threads(threads);
    return result;
  }

  Kokkos::ScopeGuard guard_;
};

}  // namespace papillon::cli
