// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels/packed_columns.cuh"

#include <algorithm>

#include "launch_kernel.cuh"
#include "tuning/sm_90.hpp"

namespace papillon::cuda {

template <class In, class Out>
cudaError_t launch_packed_columns(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                                  KernelUse* use) {
  using C = compute_type<In>;
  constexpr auto kernel = &packed_columns<In, Out>;
  const std::int64_t block = pass.length() * pass.fold.inner.extent;  // of one outer index
  const std::int64_t outer = pass.fold.outer_count();
  const auto tile = packed_tile_elements(block, outer, sizeof(C));
  const int threads = 256;
  const int bytes = static_cast<int>((tile + tile / 32 + 1) * static_cast<std::int64_t>(sizeof(C)));
  if (use != nullptr) *use = {0, threads, static_cast<std::size_t>(bytes), 0, 0, 1, 0, 512};
  const cudaError_t error = allow_shared_memory<kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, static_cast<std::size_t>(bytes), *use);
  const std::int64_t elements = block * outer;
  // A grid has at most 2^31 - 1 blocks.
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t first = 0; first < elements; first += most * tile) {
    const std::int64_t count = std::min(elements - first, most * tile);
    const cudaError_t launched = launch<kernel>(
        stream, (count + tile - 1) / tile, threads, bytes, static_cast<const In*>(pass.source) + first,
        static_cast<Out*>(pass.target) + first, count, static_cast<int>(tile), pass.bits,
        static_cast<int>(pass.fold.inner.extent), static_cast<C>(pass.factor));
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

#define PAPILLON_INSTANTIATE(In, Out)                                                                   \
  template cudaError_t launch_packed_columns<In, Out>(cudaStream_t, const Device&, const detail::Pass&, \
                                                      KernelUse*);
PAPILLON_FOR_EACH_STORAGE(PAPILLON_INSTANTIATE)
#undef PAPILLON_INSTANTIATE

}  // namespace papillon::cuda
