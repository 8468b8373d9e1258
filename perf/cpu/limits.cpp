// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "limits.hpp"

#include <Kokkos_Core.hpp>

namespace papillon::perf {
namespace {

#if defined(__x86_64__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
void scale(float* data, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) data[i] *= factor;
}

}  // namespace

void scale_in_place(float* data, std::int64_t bytes, float factor, int threads) {
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  if (threads == 1) return scale(data, count, factor);
  const std::int64_t part = (count / threads + 15) / 16 * 16;
  Kokkos::parallel_for(Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, threads),
                       [=](std::int64_t t) {
                         const std::int64_t first = t * part;
                         const std::int64_t last = first + part < count ? first + part : count;
                         if (first < last) scale(data + first, last - first, factor);
                       });
}

}  // namespace papillon::perf
