// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"

namespace papillon::cuda {

/// The order in which tiles of a batch of products are taken: matrix after matrix, and within one in bands of
/// `band` rows of tiles, column after column, so that the tiles under way at a time read few rows of A and
/// few columns of B, which stay in the L2 cache.
struct TileOrder {
  std::int64_t rows = 0;  ///< of tiles, in a matrix
  std::int64_t columns = 0;
  std::int64_t tiles = 0;  ///< of the batch
  int band = 8;
};

struct TilePlace {
  std::int64_t matrix;
  std::int64_t row;  ///< of tiles
  std::int64_t column;
};

constexpr TileOrder tile_order(const GemmProduct& product, int tile_m, int tile_n, int band) {
  TileOrder order;
  order.rows = (product.m + tile_m - 1) / tile_m;
  order.columns = (product.n + tile_n - 1) / tile_n;
  order.tiles = order.rows * order.columns * product.batch;
  order.band = band;
  return order;
}

__host__ __device__ constexpr TilePlace place_of(const TileOrder& order, std::int64_t tile) {
  const std::int64_t in_matrix = order.rows * order.columns;
  const std::int64_t matrix = tile / in_matrix;
  const std::int64_t rest = tile % in_matrix;
  const std::int64_t band_tiles = order.band * order.columns;
  const std::int64_t first = rest / band_tiles * order.band;
  const std::int64_t height = order.rows - first < order.band ? order.rows - first : order.band;
  const std::int64_t in_band = rest % band_tiles;
  return {matrix, first + in_band % height, in_band / height};
}

}  // namespace papillon::cuda
