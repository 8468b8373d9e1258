// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <type_traits>

#include "papillon/core/schedule.hpp"

namespace papillon::generic {

/// Whether an execution space works on the host and its kernels have finished when parallel_for returns:
/// there the vector kernels run, and a problem too small to share runs in the calling thread.
template <class ExecutionSpace>
inline constexpr bool is_host_space =
    Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible &&
    std::is_same_v<typename ExecutionSpace::memory_space, Kokkos::HostSpace>;

/// What schedules are made for on an execution space.
template <class ExecutionSpace>
inline constexpr Architecture architecture_of =
    is_host_space<ExecutionSpace> ? Architecture::cpu : Architecture::device;

}  // namespace papillon::generic
