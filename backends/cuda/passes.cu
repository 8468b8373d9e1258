// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "base_matrix.hpp"
#include "kernels/pass.cuh"
#include "launch_kernel.cuh"

namespace papillon::cuda {
namespace {

/// Tiles of about 16 KiB, so that several blocks share a multiprocessor; larger only where one transform is.
PassTiling make_tiling(const Device& device, const detail::Pass& pass, std::int64_t value_bytes) {
  constexpr std::int64_t wanted = 16384;
  const std::int64_t transform = pass.length() * value_bytes;
  const std::int64_t inner = pass.fold.inner.extent;
  PassTiling tiling;
  tiling.outer = pass.fold.outer_count();
  std::int64_t width =
      std::max<std::int64_t>(wanted / transform, 32 / std::max<std::int64_t>(value_bytes, 1));
  width = std::min(width, device.shared_bytes / transform);
  width = std::max<std::int64_t>(1, std::min(width, inner));
  tiling.width = static_cast<int>(width);
  tiling.inner_tiles = (inner + width - 1) / width;
  if (tiling.inner_tiles == 1) {
    const std::int64_t groups = std::min(wanted / (transform * width), tiling.outer);
    tiling.groups = static_cast<int>(std::max<std::int64_t>(groups, 1));
  }
  return tiling;
}

}  // namespace

template <class In, class Out>
cudaError_t launch_pass(cudaStream_t stream, const Device& device, const detail::Pass& pass,
                        const std::int8_t* base, KernelUse* use) {
  constexpr auto kernel = &pass_kernel<In, Out>;
  constexpr auto value_bytes = static_cast<std::int64_t>(sizeof(compute_type<In>));
  PassTiling tiling = make_tiling(device, pass, value_bytes);
  const std::int64_t values = pass.length() * tiling.width * tiling.groups;
  const auto bytes = static_cast<int>(values * value_bytes);
  const int threads = static_cast<int>(std::clamp<std::int64_t>((values / 16 + 31) / 32 * 32, 64, 1024));
  if (use != nullptr) *use = {0, threads, static_cast<std::size_t>(bytes), 0};
  const cudaError_t error = allow_shared_memory<kernel>(device, device.shared_bytes);
  if (error != cudaSuccess) return error;
  if (use != nullptr) return describe_kernel<kernel>(threads, static_cast<std::size_t>(bytes), *use);
  const SmallBase small = small_base(pass.m, pass.transpose);
  const std::int64_t tiles = (tiling.outer + tiling.groups - 1) / tiling.groups * tiling.inner_tiles;
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (std::int64_t first = 0; first < tiles; first += most) {
    tiling.first_tile = first;
    const cudaError_t launched =
        launch<kernel>(stream, std::min(tiles - first, most), threads, bytes, pass, tiling, small, base);
    if (launched != cudaSuccess) return launched;
  }
  return cudaSuccess;
}

#define PAPILLON_INSTANTIATE(In, Out)                                                         \
  template cudaError_t launch_pass<In, Out>(cudaStream_t, const Device&, const detail::Pass&, \
                                            const std::int8_t*, KernelUse*);
PAPILLON_FOR_EACH_STORAGE(PAPILLON_INSTANTIATE)
#undef PAPILLON_INSTANTIATE

}  // namespace papillon::cuda
