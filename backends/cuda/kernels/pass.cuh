// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "kernels/arithmetic.cuh"
#include "kernels/small_base.cuh"
#include "papillon/core/pass.hpp"

namespace papillon::cuda {

/// How a pass is cut into tiles: `groups` transforms of the outer index times `width` inner columns.
struct PassTiling {
  std::int64_t first_tile = 0;
  std::int64_t outer = 1;
  std::int64_t inner_tiles = 1;
  int groups = 1;
  int width = 1;
};

/// `Bits` stages at once over the tile: each thread takes 2^Bits values at distance `half` into registers.
template <int Bits, class C>
__device__ __forceinline__ void shared_stages(C* values, int count, int half) {
  constexpr int points = 1 << Bits;
  for (int index = static_cast<int>(threadIdx.x); index < count / points;
       index += static_cast<int>(blockDim.x)) {
    const int low = index / half * half * points + index % half;
    C v[points];
#pragma unroll
    for (int i = 0; i < points; ++i) v[i] = values[low + i * half];
    register_stages<0, Bits>(v);
#pragma unroll
    for (int i = 0; i < points; ++i) values[low + i * half] = v[i];
  }
  __syncthreads();
}

/// Any pass: any axis and strides, signs, orderings, order-m factor, storage types of source and target. A
/// block copies its tile into shared memory, transforms it there and writes it out; this is the CUDA form of
/// the generic layer's team kernel and gives the same bits.
template <class In, class Out>
__global__ void __launch_bounds__(1024)
    pass_kernel(const __grid_constant__ detail::Pass pass, const __grid_constant__ PassTiling tiling,
                const __grid_constant__ SmallBase small_base, const std::int8_t* __restrict__ base) {
  using C = compute_type<In>;
  extern __shared__ __align__(1024) unsigned char shared[];
  C* values = reinterpret_cast<C*>(shared);

  const std::int64_t tile = tiling.first_tile + blockIdx.x;
  const std::int64_t first_outer = tile / tiling.inner_tiles * tiling.groups;
  const std::int64_t first_column = tile % tiling.inner_tiles * tiling.width;
  const std::int64_t inner_left = pass.fold.inner.extent - first_column;
  const int columns = static_cast<int>(inner_left < tiling.width ? inner_left : tiling.width);
  const std::int64_t outer_left = tiling.outer - first_outer;
  const int groups = static_cast<int>(outer_left < tiling.groups ? outer_left : tiling.groups);
  const int length = static_cast<int>(pass.length());
  const int per_group = length * columns;
  const int count = groups * per_group;
  const bool tracked = !pass.plain();
  const Dimension& axis = pass.fold.axis;
  const Dimension& inner = pass.fold.inner;
  const In* source = static_cast<const In*>(pass.source);
  Out* target = static_cast<Out*>(pass.target);
  const auto position_of = [&](const Offset& origin, std::int64_t j, std::int64_t i) {
    return pass.first_position + origin.position + j * axis.position_step + i * inner.position_step;
  };

  for (int index = static_cast<int>(threadIdx.x); index < count; index += static_cast<int>(blockDim.x)) {
    const int group = index / per_group;
    const int rest = index - group * per_group;
    const std::int64_t j = rest / columns;
    const std::int64_t i = first_column + rest % columns;
    const Offset origin = pass.fold.outer_offset(first_outer + group);
    C value = load_converted(source[origin.x + j * axis.x_stride + i * inner.x_stride]);
    if (tracked && pass.in.any() && pass.in.negative(position_of(origin, j, i))) value = negated(value);
    values[index] = value;
  }
  __syncthreads();

  int half = columns;
  int bit = 0;
  for (; bit + 4 <= pass.bits; bit += 4, half *= 16) shared_stages<4>(values, count, half);
  switch (pass.bits - bit) {
    case 3:
      shared_stages<3>(values, count, half);
      break;
    case 2:
      shared_stages<2>(values, count, half);
      break;
    case 1:
      shared_stages<1>(values, count, half);
      break;
    default:
      break;
  }

  const C scale = static_cast<C>(pass.factor);
  const int block = 1 << pass.bits;
  const int m = static_cast<int>(pass.m);
  for (int index = static_cast<int>(threadIdx.x); index < count; index += static_cast<int>(blockDim.x)) {
    const int group = index / per_group;
    const int rest = index - group * per_group;
    const int j = rest / columns;
    const int column = rest - j * columns;
    C value = values[index];
    if (m > 1) {
      const int row = j / block;
      const C* terms = values + group * per_group + (j - row * block) * columns + column;
      const int step = block * columns;
      if (m <= SmallBase::max_order) {
        std::uint64_t negative = small_base.rows[row];
        value = (negative & 1u) != 0 ? negated(terms[0]) : terms[0];
        for (int q = 1; q < m; ++q) {
          negative >>= 1;
          const C term = terms[q * step];
          value = sum(value, (negative & 1u) != 0 ? negated(term) : term);
        }
      } else {
        const std::int8_t* entries = base + static_cast<std::int64_t>(row) * (pass.transpose ? 1 : m);
        const std::int64_t stride = pass.transpose ? m : 1;
        value = entries[0] < 0 ? negated(terms[0]) : terms[0];
        for (int q = 1; q < m; ++q) {
          const C term = terms[q * step];
          value = sum(value, entries[q * stride] < 0 ? negated(term) : term);
        }
      }
    }
    value = product(value, scale);
    const std::int64_t i = first_column + column;
    const Offset origin = pass.fold.outer_offset(first_outer + group);
    std::int64_t place = j * axis.y_stride + i * inner.y_stride;
    if (tracked) {
      const std::int64_t position = position_of(origin, j, i);
      if (pass.out.any() && pass.out.negative(pass.output_position(position))) value = negated(value);
      place = pass.target_offset(place, position);
    }
    target[origin.y + place] = rounded<Out>(value);
  }
}

}  // namespace papillon::cuda
