// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "gemm.hpp"

namespace papillon::cuda {

/// The order in which tiles of a batch of products are taken: matrix after matrix, and within one in bands of
/// `band` rows of tiles, column after column, so that the tiles under way at a time read few rows of A and
/// few columns of B, which stay in the L2 cache.
struct TileOrder {
  int rows = 0;  ///< of tiles, in a matrix
  int columns = 0;
  int tiles = 0;  ///< of the batch
  int band = 8;
};

struct TilePlace {
  int matrix;
  int row;  ///< of tiles
  int column;
};

constexpr TileOrder tile_order(const GemmProduct& product, int tile_m, int tile_n, int band) {
  TileOrder order;
  order.rows = static_cast<int>((product.m + tile_m - 1) / tile_m);
  order.columns = static_cast<int>((product.n + tile_n - 1) / tile_n);
  order.tiles = order.rows * order.columns * static_cast<int>(product.batch);
  order.band = band;
  return order;
}

__host__ __device__ constexpr TilePlace place_of(const TileOrder& order, int tile) {
  const int in_matrix = order.rows * order.columns;
  const int matrix = tile / in_matrix;
  const int rest = tile % in_matrix;
  const int band_tiles = order.band * order.columns;
  const int first = rest / band_tiles * order.band;
  const int height = order.rows - first < order.band ? order.rows - first : order.band;
  const int in_band = rest % band_tiles;
  return {matrix, first + in_band % height, in_band / height};
}

}  // namespace papillon::cuda
