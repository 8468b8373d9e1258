// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/arithmetic.cuh"
#include "kernels/ptx/sm_80_async_copy.cuh"
#include "kernels/ptx/sm_80_shared.cuh"
#include "kernels/sign_words.cuh"

namespace papillon::cuda {

/// How a tile of 2^CellBits cells (8 bytes of the compute type: two floats, or one double) is held: a slice
/// of 1024 cells a warp, 32 cells a thread.
template <class S, int CellBits>
struct TileShape {
  using C = compute_type<S>;
  static constexpr int values_per_cell = 8 / static_cast<int>(sizeof(C));
  static constexpr int value_bits = values_per_cell == 2 ? 1 : 0;
  static constexpr int team_bits = CellBits - 10;
  static constexpr int warps = 1 << team_bits;
  static constexpr int elements = values_per_cell << CellBits;
  static constexpr int slice_elements = 1024 * values_per_cell;
  // The cells of a thread are a row of shared memory. Rows of input are dense, and the 16-byte chunks of row
  // r are swizzled by r mod 8: asynchronous copies into padded rows, which cross 128-byte lines, read half of
  // the sectors twice. Exchanged rows are padded by a chunk, so that every address is a base and a constant.
  // Neither has a bank conflict.
  static constexpr int row_bytes = 32 * values_per_cell * static_cast<int>(sizeof(S));
  static constexpr int exchange_row = 272;
  static constexpr int slice_bytes = 32 * exchange_row;  // holds the input, then what is exchanged
  static constexpr int bytes = slice_bytes * warps;

  /// Where chunk `chunk` of a row of input lies, `row_swizzle` being the row's number mod 8. Chunks 8 apart
  /// lie 128 bytes apart, which a compiler does not see through the exclusive or.
  __device__ static constexpr int input_offset(int chunk, int row_swizzle) {
    return (chunk & 8) * 16 + (((chunk & 7) ^ row_swizzle) << 4);
  }
};

/// The values of a thread: 32 cells.
template <class S>
struct ThreadCells {
  using C = compute_type<S>;
  static constexpr int P = 8 / static_cast<int>(sizeof(C));
  C values[32 * P];

  __device__ __forceinline__ uint2 cell(int i) const { return pack_cell<C>(values + i * P); }
  __device__ __forceinline__ void load(int i, std::uint32_t address) {
    unpack_cell<C>(ptx::load_8(address), values + i * P);
  }
};

/// Where, in a buffer of the team, the cells lie that a thread holds when its tile is transformed: cell
/// s * warps + q of the thread is the lane's of row warp + warps * s of slice q. No other thread reads them.
template <class S, int CellBits>
__device__ __forceinline__ std::uint32_t final_cell(std::uint32_t buffer, int warp, int lane, int s) {
  using Shape = TileShape<S, CellBits>;
  constexpr int warps = Shape::warps;
  return buffer + (warp + warps * s) * Shape::exchange_row + (lane << 3);
}

/// Which cells a thread stores at once. In 16-bit tiles of several warps these are two neighbours, so that a
/// warp writes 256 bytes at a time; stores of half that many kept the L2 cache busy for 0.89 of the time.
template <class S, int CellBits>
struct StoreLayout {
  using Shape = TileShape<S, CellBits>;
  static constexpr int cells = sizeof(S) == 2 && Shape::warps > 1 ? 2 : 1;
  static constexpr int count = 32 / cells;  ///< stores of a thread
  static constexpr int values = cells * Shape::values_per_cell;
  static constexpr int row_lanes = 32 / cells;  ///< lanes that store a row of shared memory

  /// Elements from the tile's start to a thread's first, and from there to its store `i`: cells of slice
  /// i mod warps.
  __device__ static constexpr int first(int warp, int lane) {
    return ((warp * cells + lane / row_lanes) * 32 + lane % row_lanes * cells) * Shape::values_per_cell;
  }
  __device__ static constexpr int place(int i) {
    constexpr int warps = Shape::warps;
    return (i % warps * 1024 + i / warps * warps * cells * 32) * Shape::values_per_cell;
  }
};

/// Starts copying this warp's slice of a tile to shared memory; `source` is this lane's first element, and
/// the first `valid` of those from there on exist.
template <class S, int CellBits, bool Partial>
__device__ __forceinline__ void copy_slice(std::uint32_t input, const S* source, std::int64_t valid,
                                           int lane) {
  using Shape = TileShape<S, CellBits>;
  constexpr int row_chunks = Shape::row_bytes / 16;
  constexpr int chunk_elements = 16 / static_cast<int>(sizeof(S));
  constexpr int rows = 32 / row_chunks;  // that the warp copies at once
  const std::uint32_t place = input + lane / row_chunks * Shape::row_bytes;
#pragma unroll
  for (int i = 0; i < row_chunks; ++i) {
    const int offset = Shape::input_offset(lane % row_chunks, (lane / row_chunks) ^ (i * rows & 7));
    if (!Partial || i * 32 * chunk_elements < valid)
      ptx::async_copy_16(place + i * rows * Shape::row_bytes + offset, source + i * 32 * chunk_elements);
  }
}

/// The signs of a tile: of a thread's first 32 cells before the first stage, or of the cells it stores. 32
/// cells are the positions of one mask: a thread's at first, later those that the warp, or half of it, stores
/// at once. Lane i keeps the mask of store i mod `count`, of the warp's first half or its second.
template <class S, int LogN, int CellBits, bool Signed>
class TileSigns {
  using Shape = TileShape<S, CellBits>;
  using Layout = StoreLayout<S, CellBits>;
  static constexpr int P = Shape::values_per_cell;
  static constexpr int count = 32 * P;  // positions of a mask

 public:
  /// `first` is the position of the tile's first element in its row, `store` that of the first element of the
  /// block's store whose signs this lane keeps, for lane 0 of warp 0.
  __device__ __forceinline__ TileSigns(const RowSigns& signs, int warp, int lane, int first, int store) {
    if constexpr (Signed) {
      on_output_ = signs.on_output;
      const int position = on_output_ ? store + (warp * Layout::cells + lane / Layout::count) * count
                                      : first + warp * Shape::slice_elements + lane * count;
      mask_ = sign_mask<count>(signs.vector, position & ((1 << LogN) - 1));
    }
  }
  /// Where lane i keeps the signs of store i of a tile.
  __device__ static constexpr int kept_store(int lane) { return Layout::place(lane % Layout::count); }

  __device__ __forceinline__ void on_input(ThreadCells<S>& cells) const {
    if constexpr (Signed) {
      if (on_output_) return;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        cells.values[i] =
            with_sign(cells.values[i], static_cast<std::uint32_t>(i < 32 ? mask_ : mask_ >> 32), i & 31);
      }
    }
  }

  /// The signs of store `i` in the lowest bits; called by whole warps.
  __device__ __forceinline__ std::uint32_t of_store(int i, int lane) const {
    if constexpr (Signed) {
      if (on_output_) {
        const int keeper = Layout::cells == 1 ? i : i | (lane & 16);
        const int bit = lane % Layout::row_lanes * Layout::values;
        const std::uint32_t low = __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(mask_), keeper);
        if constexpr (P == 1) return low >> bit;
        const std::uint32_t high = __shfl_sync(0xffffffffu, static_cast<std::uint32_t>(mask_ >> 32), keeper);
        return (bit < 32 ? low : high) >> (bit & 31);
      }
    }
    return 0;
  }

 private:
  std::uint64_t mask_ = 0;
  bool on_output_ = false;
};

/// Transforms the bits, at most LogN, that lie in a tile. This warp's slice is in `input`; the tile is
/// exchanged in `buffer`, which may hold the input too. `input_read` is called when the warp has its slice in
/// registers and before it writes to the buffer; `team_sync` is a barrier of the tile's warps.
template <class S, int LogN, int CellBits, bool Inner, class Signs, class InputRead, class Sync>
__device__ __forceinline__ void transform_tile(ThreadCells<S>& cells, std::uint32_t input,
                                               std::uint32_t buffer, int warp, int lane, const Signs& signs,
                                               int first_bit, const InputRead& input_read,
                                               const Sync& team_sync) {
  using Shape = TileShape<S, CellBits>;
  using C = compute_type<S>;
  constexpr int P = Shape::values_per_cell;
  constexpr int warps = Shape::warps;
  constexpr int row_chunks = Shape::row_bytes / 16;
  constexpr int chunk_elements = 16 / static_cast<int>(sizeof(S));
  auto& values = cells.values;
  const std::uint32_t slice = buffer + warp * Shape::slice_bytes;
  ptx::async_copy_commit();
  ptx::async_copy_wait<0>();
  __syncwarp();

  // A thread's own 32 cells.
#pragma unroll
  for (int c = 0; c < row_chunks; ++c) {
    const uint4 word = ptx::load_16(input + lane * Shape::row_bytes + Shape::input_offset(c, lane & 7));
    unpack<S>(word, values + c * chunk_elements);
  }
  signs.on_input(cells);
  constexpr int near_bits = 5 + Shape::value_bits;
  row_stages<Inner, 0, 0, (LogN < near_bits ? LogN : near_bits)>(values, first_bit);

  // Exchange inside the warp: row r of the slice is what lane r had.
  input_read();
#pragma unroll
  for (int c = 0; c < 16; ++c)
    ptx::store_16(slice + lane * Shape::exchange_row + (c << 4), pack<C>(values + c * 2 * P));
  __syncwarp();
  // This lane's cell of row r of the slice.
  const auto cell_address = [&](int r) -> std::uint32_t {
    return slice + r * Shape::exchange_row + (lane << 3);
  };
#pragma unroll
  for (int r = 0; r < 32; ++r) cells.load(r, cell_address(r));
  constexpr int warp_bits = LogN < near_bits ? 0 : (LogN - near_bits < 5 ? LogN - near_bits : 5);
  row_stages<Inner, near_bits, Shape::value_bits, Shape::value_bits + warp_bits>(values, first_bit);

  if constexpr (warps > 1) {
    // Exchange inside the block: a thread writes the cells that it read, and takes those of all slices.
#pragma unroll
    for (int r = 0; r < 32; ++r) ptx::store_8(cell_address(r), cells.cell(r));
    team_sync();
    using Layout = StoreLayout<S, CellBits>;
    if constexpr (Layout::cells == 2) {
      const std::uint32_t first =
          buffer + (2 * warp + (lane >> 4)) * Shape::exchange_row + ((lane & 15) << 4);
#pragma unroll
      for (int i = 0; i < Layout::count; ++i) {
        const uint4 word = ptx::load_16(first + i / warps * 2 * warps * Shape::exchange_row +
                                        i % warps * Shape::slice_bytes);
        unpack<C>(word, values + i * Layout::values);
      }
      row_stages<Inner, near_bits + 5, Shape::value_bits + 1, Shape::value_bits + 1 + Shape::team_bits>(
          values, first_bit);
    } else {
#pragma unroll
      for (int s = 0; s < 32 / warps; ++s) {
#pragma unroll
        for (int q = 0; q < warps; ++q)
          cells.load(s * warps + q, final_cell<S, CellBits>(buffer, warp, lane, s) + q * Shape::slice_bytes);
      }
      row_stages<Inner, near_bits + 5, Shape::value_bits, Shape::value_bits + Shape::team_bits>(values,
                                                                                                first_bit);
    }
  }
}

/// The scale, the sign, one rounding, and store `i` of a thread; `target` is the thread's first cell, `marks`
/// the signs.
template <class S, int CellBits, bool Signed, class Out = S>
__device__ __forceinline__ void store_cells(Out* target, int i, const compute_type<S>* values,
                                            compute_type<S> scale, std::uint32_t marks, int half,
                                            std::int64_t valid) {
  using C = compute_type<S>;
  using Layout = StoreLayout<S, CellBits>;
  const int place = Layout::place(i) + half * TileShape<S, CellBits>::elements;
  if (place >= valid) return;
  C v[Layout::values];
#pragma unroll
  for (int j = 0; j < Layout::values; ++j) {
    v[j] = product(values[j], scale);
    if constexpr (Signed) v[j] = with_sign(v[j], marks, j);
  }
  if constexpr (sizeof(Out) != sizeof(S)) {
    static_assert(Layout::values == 4);
    __stcs(reinterpret_cast<uint4*>(target + place), pack<C>(v));
  } else if constexpr (sizeof(S) == 2 && Layout::cells == 2) {
    __stcs(reinterpret_cast<uint2*>(target + place),
           make_uint2(pack_pair<S>(v[0], v[1]), pack_pair<S>(v[2], v[3])));
  } else if constexpr (sizeof(S) == 2) {
    __stcs(reinterpret_cast<std::uint32_t*>(target + place), pack_pair<S>(v[0], v[1]));
  } else if constexpr (sizeof(S) == 4) {
    __stcs(reinterpret_cast<uint2*>(target + place),
           make_uint2(__builtin_bit_cast(std::uint32_t, v[0]), __builtin_bit_cast(std::uint32_t, v[1])));
  } else {
    __stcs(reinterpret_cast<uint2*>(target + place), __builtin_bit_cast(uint2, v[0]));
  }
}

/// Contiguous rows through shared memory. A tile is whole rows of one warp (CellBits = 10), or one row of a
/// block's warps.
///
/// Bits are transformed from the lowest in groups: those of a thread's 32 neighbouring cells, those that an
/// exchange inside the warp brings into registers, and those between warps, after an exchange inside the
/// block. The last exchange leaves neighbouring cells to neighbouring lanes: stores are coalesced.
///
/// A block has one tile: several blocks on a multiprocessor, in different phases, overlap loads, sums,
/// exchanges and stores, and the multiprocessors, which do not all get the same share of the bandwidth, draw
/// as many as they manage. Persistent blocks with the next tiles on their way were slower at most lengths
/// (docs/kernels-h200.md).
///
/// `Out` is S, or float for the first pass of a longer 16-bit transform, whose sums stay in float. With
/// `Inner` the 2^first_bit lowest positions are columns, and the stages of these bits are left out.
template <class S, int LogN, int CellBits, int Teams, int MinBlocks, bool Signed, bool Inner, class Out = S>
__global__ void __launch_bounds__(32 * (1 << (CellBits - 10)) * Teams, MinBlocks)
    tile_rows(const S* x, Out* y, std::int64_t tiles, std::int64_t elements, std::int64_t x_stride,
              std::int64_t y_stride, compute_type<S> scale, RowSigns row_signs, int first_bit) {
  using Shape = TileShape<S, CellBits>;
  constexpr int P = Shape::values_per_cell;
  constexpr bool block_wide = CellBits > 10;
  static_assert(!block_wide || Teams == 1);
  constexpr bool partial = LogN < CellBits + Shape::value_bits;  // the last tile may hold fewer rows
  extern __shared__ __align__(1024) unsigned char shared[];

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int block_warp = static_cast<int>(threadIdx.x) >> 5;
  const int team = block_wide ? 0 : block_warp;
  const int warp = block_wide ? block_warp : 0;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * Teams + team;
  if (!block_wide && tile >= tiles) return;
  const std::uint32_t buffer = ptx::shared_address(shared) + team * Shape::bytes;
  constexpr int chunk_elements = 16 / static_cast<int>(sizeof(S));
  const S* source = x + tile * x_stride + warp * Shape::slice_elements + lane * chunk_elements;
  const std::int64_t left = elements - tile * Shape::elements;  // read where tiles may be partial only

  ThreadCells<S> cells;
  const std::uint32_t slice = buffer + warp * Shape::slice_bytes;
  copy_slice<S, CellBits, partial>(slice, source, left - lane * chunk_elements, lane);
  const auto input_read = [] { __syncwarp(); };
  using Signs = TileSigns<S, LogN, CellBits, Signed>;
  const Signs signs(row_signs, warp, lane, 0, Signs::kept_store(lane));
  transform_tile<S, LogN, CellBits, Inner>(cells, slice, buffer, warp, lane, signs, first_bit, input_read,
                                           [] { __syncthreads(); });
  using Layout = StoreLayout<S, CellBits>;
  Out* target = y + tile * y_stride + Layout::first(warp, lane);
  const std::int64_t valid = partial ? left - lane * P : 2 * Shape::elements;
#pragma unroll
  for (int i = 0; i < Layout::count; ++i) {
    store_cells<S, CellBits, Signed, Out>(target, i, cells.values + i * Layout::values, scale,
                                          signs.of_store(i, lane), 0, valid);
  }
}

/// The same for 16-bit rows so long that one fills a multiprocessor: a persistent block, whose next row is on
/// its way into shared memory, each warp's slice as soon as the warp has read the last one, while this row is
/// transformed.
template <class S, int LogN, int CellBits, bool Signed, bool Inner>
__global__ void __launch_bounds__(32 * (1 << (CellBits - 10)), 1)
    persistent_rows(const S* x, S* y, std::int64_t rows, int block_rows, std::int64_t x_stride,
                    std::int64_t y_stride, compute_type<S> scale, RowSigns row_signs, int first_bit) {
  using Shape = TileShape<S, CellBits>;
  static_assert(LogN == CellBits + Shape::value_bits && Shape::warps > 1);
  constexpr int chunk_elements = 16 / static_cast<int>(sizeof(S));
  extern __shared__ __align__(1024) unsigned char shared[];

  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const std::uint32_t buffer = ptx::shared_address(shared);
  const std::uint32_t input = buffer + Shape::bytes + warp * (32 * Shape::row_bytes);
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(block_rows);
  const std::int64_t end = rows - first < block_rows ? rows : first + block_rows;
  const S* source = x + first * x_stride + warp * Shape::slice_elements + lane * chunk_elements;
  using Layout = StoreLayout<S, CellBits>;
  S* target = y + first * y_stride + Layout::first(warp, lane);

  copy_slice<S, CellBits, false>(input, source, 0, lane);
  for (std::int64_t row = first; row < end; ++row) {
    // Made anew for each row: there is no register to keep them in.
    using Signs = TileSigns<S, LogN, CellBits, Signed>;
    const Signs signs(row_signs, warp, lane, 0, Signs::kept_store(lane));
    ThreadCells<S> cells;
    const auto input_read = [&] {
      __syncwarp();
      source += x_stride;
      if (row + 1 < end) copy_slice<S, CellBits, false>(input, source, 0, lane);
      __syncthreads();  // every warp has taken the last row's cells
    };
    transform_tile<S, LogN, CellBits, Inner>(cells, input, buffer, warp, lane, signs, first_bit, input_read,
                                             [] { __syncthreads(); });
#pragma unroll
    for (int i = 0; i < Layout::count; ++i) {
      store_cells<S, CellBits, Signed>(target, i, cells.values + i * Layout::values, scale,
                                       signs.of_store(i, lane), 0, 2 * Shape::elements);
    }
    target += y_stride;
  }
}

}  // namespace papillon::cuda
