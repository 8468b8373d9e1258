// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "butterfly.hpp"
#include "kernels/kronecker/values.cuh"

namespace papillon::cuda {

/// A line of a pass: where its column starts at either end, and its indices beside the pass'.
struct ButterflyLine {
  std::int64_t source, target, batch;
  std::int64_t outer, inner;
};

__device__ __forceinline__ ButterflyLine locate_line(const ButterflyTile& tile, std::int64_t index) {
  ButterflyLine line;
  std::int64_t column;
  if (tile.columns_first) {
    column = index % tile.column_count;
    index /= tile.column_count;
    line.inner = index % tile.shape.inner;
    line.outer = index / tile.shape.inner;
  } else {
    line.inner = index % tile.shape.inner;
    index /= tile.shape.inner;
    line.outer = index % tile.shape.outer;
    column = index / tile.shape.outer;
  }
  const Offset offset = tile.fold.outer_offset(tile.first_column + column);
  line.source = tile.source.buffer_points > 0 ? column * tile.source.buffer_points : offset.x;
  line.target = tile.target.buffer_points > 0 ? column * tile.target.buffer_points : offset.y;
  line.batch = offset.position;
  return line;
}

/// Where point `point` of a line, of which the pass has `points`, lies from its column's start.
__device__ __forceinline__ std::int64_t point_offset(const ButterflyTile& tile, const ButterflyEnd& end,
                                                     const ButterflyLine& line, std::int64_t points,
                                                     std::int64_t point) {
  std::int64_t index = (line.outer * points + point) * tile.shape.inner + line.inner;
  if (end.permutation != nullptr) index = end.permutation[index];
  return index * end.axis_stride;
}

/// The sum over q, rising, of W[i, p, q, j] · x(q) for output point `point` of a line.
template <class S, class C, class X>
__device__ __forceinline__ C butterfly_sum(const detail::TileFactor& factor, const ButterflyLine& line,
                                           std::int64_t point, const X& x) {
  const std::int64_t j = point % factor.repeats;
  const std::int64_t rest = point / factor.repeats;
  const std::int64_t i = rest / factor.rows;
  const S* entry = static_cast<const S*>(factor.data) + line.outer * factor.outer_stride +
                   line.inner * factor.inner_stride + line.batch * factor.batch_stride +
                   i * factor.block_stride + (rest - i * factor.rows) * factor.row_stride +
                   j * factor.repeat_stride;
  C sum = factor.columns > 0 ? SumStart<C>::value() : C{};
  for (std::int64_t q = 0; q < factor.columns; ++q, entry += factor.column_stride)
    sum = multiply_add(conjugate_if(to_sum<C>(*entry), factor.conjugate),
                       x((i * factor.columns + q) * factor.repeats + j), sum);
  return sum;
}

/// Any product of Kronecker-sparse factors, in the way of the generic layer's team kernel.
template <class In, class Out, class S>
__global__ void __launch_bounds__(512) butterfly_kernel(const __grid_constant__ ButterflyTile tile) {
  using C = sum_type<S>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::int64_t first_line = (tile.first_tile + blockIdx.x) * tile.width;
  const std::int64_t left = tile.lines - first_line;
  const int lines = static_cast<int>(left < tile.width ? left : tile.width);
  ButterflyLine* located = reinterpret_cast<ButterflyLine*>(shared);
  C* from = reinterpret_cast<C*>(shared + tile.width * 48);
  const std::int64_t largest = tile.shape.largest > 0 ? tile.shape.largest : 1;
  C* to = from + largest * tile.width;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int l = thread; l < lines; l += threads) located[l] = locate_line(tile, first_line + l);
  __syncthreads();
  const auto each = [&](std::int64_t points, const auto& body) {
    const auto count = static_cast<int>(points * lines);
    for (int index = thread; index < count; index += threads) {
      const int point = index / lines;
      body(point, index - point * lines);
    }
  };
  each(tile.shape.source, [&](int point, int l) {
    from[point * lines + l] = to_sum<C>(static_cast<const In*>(
        tile.source.data)[located[l].source +
                          point_offset(tile, tile.source, located[l], tile.shape.source, point)]);
  });
  for (int f = 0; f < tile.count; ++f) {
    const detail::TileFactor& factor = tile.factors[f];
    __syncthreads();
    each(factor.blocks * factor.rows * factor.repeats, [&](int point, int l) {
      to[point * lines + l] = butterfly_sum<S, C>(
          factor, located[l], point, [&](std::int64_t source) { return from[source * lines + l]; });
    });
    C* const finished = to;
    to = from;
    from = finished;
  }
  __syncthreads();
  each(tile.shape.target, [&](int point, int l) {
    static_cast<Out*>(tile.target.data)[located[l].target + point_offset(tile, tile.target, located[l],
                                                                         tile.shape.target, point)] =
        to_storage<Out>(scaled(from[point * lines + l], tile.scale));
  });
}

/// One factor too large for a tile, or a permutation alone: from memory to memory.
template <class In, class Out, class S>
__global__ void __launch_bounds__(256) butterfly_direct_kernel(const __grid_constant__ ButterflyTile tile) {
  using C = sum_type<S>;
  const std::int64_t count = tile.lines * tile.shape.target;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; index < count;
       index += threads) {
    const std::int64_t point = index / tile.lines;
    const ButterflyLine line = locate_line(tile, index - point * tile.lines);
    const auto x = [&](std::int64_t source) {
      return to_sum<C>(static_cast<const In*>(
          tile.source.data)[line.source + point_offset(tile, tile.source, line, tile.shape.source, source)]);
    };
    const C sum = tile.count > 0 ? butterfly_sum<S, C>(tile.factors[0], line, point, x) : x(point);
    static_cast<Out*>(
        tile.target.data)[line.target + point_offset(tile, tile.target, line, tile.shape.target, point)] =
        to_storage<Out>(scaled(sum, tile.scale));
  }
}

}  // namespace papillon::cuda
