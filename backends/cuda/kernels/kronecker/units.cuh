// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels/kronecker/powers.cuh"
#include "kernels/ptx/sm_80_matrix.cuh"

namespace papillon::cuda {

/// values[o, a, r] = sum over b of F[a, b] · values[o, b, r] in place on the matrix units, sums in float,
/// results rounded to S. A warp takes 32 vectors (o, r) at a time: it holds all their points in registers, so
/// that it may write where it read. The factor stands in shared memory as [row][column].
template <class Tile, class S, int P, int Run, int Threads, bool Scaled>
__device__ __forceinline__ void multiply_on_units(S* values, const S* factor, double factor_of_sums) {
  const auto scale = static_cast<float>(factor_of_sums);
  constexpr int all_vectors = Tile::values / P;
  constexpr int warps = Threads / 32;
  constexpr int depth = P / 16;  // steps of 16 terms
  constexpr int factor_stride = Tile::factor_stride;
  static_assert(all_vectors % 32 == 0 && (Run == 1 || Run % 16 == 0));
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::uint32_t factor_address = ptx::shared_address(factor);
  const auto finished = [&](float low, float high) {
    return Scaled ? pack_pair<S>(low * scale, high * scale) : pack_pair<S>(low, high);
  };
#pragma unroll 1
  for (int first = warp * 32; first < all_vectors; first += warps * 32) {
    std::uint32_t x[2][depth][4];
    if constexpr (Run == 1) {
      // Sums[vector][row] = X[vector][b] · F[row][b].
      S* const start = values + Tile::place(first * P);
      constexpr int stride = Tile::place(P);
      const std::uint32_t address = ptx::shared_address(start + lane % 16 * stride + lane / 16 * 8);
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int k = 0; k < depth; ++k)
          ptx::load_matrices(address + static_cast<std::uint32_t>((m * 16 * stride + k * 16) * sizeof(S)),
                             x[m][k]);
      __syncwarp();
      const std::uint32_t rows =
          factor_address + static_cast<std::uint32_t>(
                               ((lane % 8 + lane / 16 * 8) * factor_stride + lane / 8 % 2 * 8) * sizeof(S));
#pragma unroll
      for (int n = 0; n < P / 16; ++n) {
        float sums[2][2][4] = {};
#pragma unroll
        for (int k = 0; k < depth; ++k) {
          std::uint32_t f[4];
          ptx::load_matrices(rows + static_cast<std::uint32_t>((n * 16 * factor_stride + k * 16) * sizeof(S)),
                             f);
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            ptx::multiply_add_16<S>(x[m][k], f[0], f[1], sums[m][0]);
            ptx::multiply_add_16<S>(x[m][k], f[2], f[3], sums[m][1]);
          }
        }
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            S* place = start + (m * 16 + lane / 4) * stride + n * 16 + part * 8 + lane % 4 * 2;
            *reinterpret_cast<std::uint32_t*>(place) = finished(sums[m][part][0], sums[m][part][1]);
            *reinterpret_cast<std::uint32_t*>(place + 8 * stride) =
                finished(sums[m][part][2], sums[m][part][3]);
          }
      }
    } else {
      // Sums[row][vector] = F[row][b] · X[b][vector].
      constexpr int stride = Tile::place(Run);
      const auto start_of = [&](int vector) { return vector / Run * (P * Run) + vector % Run; };
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const std::uint32_t address = ptx::shared_address(
            values + Tile::place(start_of(first + m * 16) + lane / 16 * 8) + lane % 16 * stride);
#pragma unroll
        for (int k = 0; k < depth; ++k)
          ptx::load_transposed(address + static_cast<std::uint32_t>(k * 16 * stride * sizeof(S)), x[m][k]);
      }
      __syncwarp();
      const std::uint32_t rows =
          factor_address +
          static_cast<std::uint32_t>((lane % 16 * factor_stride + lane / 16 * 8) * sizeof(S));
#pragma unroll
      for (int n = 0; n < P / 16; ++n) {
        float sums[2][2][4] = {};
#pragma unroll
        for (int k = 0; k < depth; ++k) {
          std::uint32_t f[4];
          ptx::load_matrices(rows + static_cast<std::uint32_t>((n * 16 * factor_stride + k * 16) * sizeof(S)),
                             f);
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            ptx::multiply_add_16<S>(f, x[m][k][0], x[m][k][1], sums[m][0]);
            ptx::multiply_add_16<S>(f, x[m][k][2], x[m][k][3], sums[m][1]);
          }
        }
#pragma unroll
        for (int m = 0; m < 2; ++m)
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            S* place = values + Tile::place(start_of(first + m * 16) + part * 8 + lane % 4 * 2) +
                       (n * 16 + lane / 4) * stride;
            *reinterpret_cast<std::uint32_t*>(place) = finished(sums[m][part][0], sums[m][part][1]);
            *reinterpret_cast<std::uint32_t*>(place + 8 * stride) =
                finished(sums[m][part][2], sums[m][part][3]);
          }
      }
    }
  }
  __syncthreads();
}

/// The same in double; a warp takes 16 vectors at a time, or 8 where they are long.
template <class Tile, class S, int P, int Run, int Threads, bool Scaled>
  requires std::is_same_v<S, double>
__device__ __forceinline__ void multiply_on_units(double* values, const double* factor, double scale) {
  constexpr int all_vectors = Tile::values / P;
  constexpr int warps = Threads / 32;
  constexpr int depth = P / 4;  // a lane's points of a vector
  constexpr int eights = Run > 1 && P > 64 ? 1 : 2;
  constexpr int stride = Run == 1 ? Tile::place(P) : Tile::place(Run);  // from a vector to the next, or a row
  static_assert(all_vectors % (8 * eights) == 0 && (Run == 1 || Run % 8 == 0));
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const double* entries = factor + lane / 4 * Tile::factor_stride + lane % 4;
  const auto finish = [&](double* place, double low, double high) {
    *reinterpret_cast<Word<double>*>(place) =
        Scaled ? Word<double>{low * scale, high * scale} : Word<double>{low, high};
  };
#pragma unroll 1
  for (int first = warp * 8 * eights; first < all_vectors; first += warps * 8 * eights) {
    double x[eights][depth];
    double* starts[eights];  // of eight vectors' points
#pragma unroll
    for (int m = 0; m < eights; ++m) {
      const int vector = first + m * 8;
      starts[m] = values + Tile::place(vector / Run * (P * Run) + vector % Run);
      const double* place =
          starts[m] + (Run == 1 ? lane / 4 * stride + lane % 4 : lane % 4 * stride + lane / 4);
#pragma unroll
      for (int k = 0; k < depth; ++k) x[m][k] = place[k * 4 * (Run == 1 ? 1 : stride)];
    }
    __syncwarp();
#pragma unroll 1
    for (int n = 0; n < P; n += 16) {  // rows, in two blocks of eight
      const auto entry = [&](int block, int k) {
        return entries[(n + block * 8) * Tile::factor_stride + k * 4];
      };
      double sums[2][4] = {};
#pragma unroll
      for (int k = 0; k < depth; k += 2) {
        const double f[2][2] = {{entry(0, k), entry(0, k + 1)}, {entry(1, k), entry(1, k + 1)}};
        if constexpr (Run == 1) {
          // Sums[vector][row] = X[vector][b] · F[row][b].
#pragma unroll
          for (int i = 0; i < 2; ++i)
            ptx::multiply_add_8(x[0][k], x[1][k], x[0][k + 1], x[1][k + 1], f[i][0], f[i][1], sums[i]);
        } else {
          // Sums[row][vector] = F[row][b] · X[b][vector].
#pragma unroll
          for (int i = 0; i < eights; ++i)
            ptx::multiply_add_8(f[0][0], f[1][0], f[0][1], f[1][1], x[i][k], x[i][k + 1], sums[i]);
        }
      }
      if constexpr (Run == 1) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int m = 0; m < 2; ++m)
            finish(starts[m] + lane / 4 * stride + n + i * 8 + lane % 4 * 2, sums[i][m * 2],
                   sums[i][m * 2 + 1]);
      } else {
#pragma unroll
        for (int i = 0; i < eights; ++i)
#pragma unroll
          for (int m = 0; m < 2; ++m)
            finish(starts[i] + (n + m * 8 + lane / 4) * stride + lane % 4 * 2, sums[i][m * 2],
                   sums[i][m * 2 + 1]);
      }
    }
  }
  __syncthreads();
}

/// A tile for the matrix units: as PowerTile, 16 bytes left free after every P values, or with lanes after
/// every row of lanes, so that the rows of a matrix lie in different banks; so the rows of the factors. (32
/// bytes for doubles, which are read one by one, four of a row beside each other.)
template <class S, int P, int Count, int Lanes, int Groups>
struct UnitTile {
  static constexpr int power(int exponent) { return exponent == 0 ? 1 : P * power(exponent - 1); }
  static constexpr int points = power(Count);
  static constexpr int values = Groups * points * Lanes;
  static constexpr int pad_every = Lanes > 1 ? Lanes : P;
  static constexpr int pad = sizeof(S) == 8 ? 4 : 8;
  static constexpr int place(int index) { return index + index / pad_every * pad; }
  static constexpr int stored = place(values);
  static constexpr int factor_stride = P + pad;
  static constexpr int factor_values = P * factor_stride;
  static constexpr int bytes(int stages) {
    return (stages * stored + Count * factor_values) * static_cast<int>(sizeof(S));
  }
};

template <class Tile, class S, int P, int Count, int Lanes, int Threads, int Step = Count - 1>
__device__ __forceinline__ void multiply_all_on_units(S* values, const S* factors, double scale) {
  constexpr int run = Tile::power(Count - 1 - Step) * Lanes;
  multiply_on_units<Tile, S, P, run, Threads, Step == 0>(values, factors + Step * Tile::factor_values, scale);
  if constexpr (Step > 0)
    multiply_all_on_units<Tile, S, P, Count, Lanes, Threads, Step - 1>(values, factors, scale);
}

/// As kronecker_powers_kernel, products on the matrix units: factors of at least 16 x 16 of 16 or 64 bits.
template <class S, int P, int Count, int Lanes, int Groups, int Threads, int Blocks, int Stages>
__global__ void __launch_bounds__(Threads, Blocks)
    kronecker_units_kernel(const __grid_constant__ PowerProblem problem) {
  using Tile = UnitTile<S, P, Count, Lanes, Groups>;
  extern __shared__ __align__(1024) unsigned char shared[];
  S* factors = reinterpret_cast<S*>(shared);
  S* values = factors + Count * Tile::factor_values;
  for (int f = 0; f < Count; ++f) {
    const PowerFactor& factor = problem.factors[f];
    const S* entries = static_cast<const S*>(factor.data);
    for (int i = static_cast<int>(threadIdx.x); i < P * P; i += Threads)
      factors[f * Tile::factor_values + i / P * Tile::factor_stride + i % P] =
          entries[i / P * factor.row_stride + i % P * factor.column_stride];
  }
  const auto load = [&](std::int64_t tile, S* place) {
    for_each_word<Tile, word_values<S>, Lanes, Groups, Threads>(
        problem, tile, static_cast<const S*>(problem.x), problem.x_stride,
        [&](int index, const S* source) { ptx::async_copy_16(ptx::shared_address(place + index), source); });
  };
  std::int64_t tile = blockIdx.x;
  if (Stages == 2 && tile < problem.tiles) load(tile, values);
  for (int stage = 0; tile < problem.tiles; tile += gridDim.x) {
    S* current = values + stage * Tile::stored;
    if constexpr (Stages == 2) {
      stage ^= 1;
      ptx::async_copy_commit();
      if (tile + gridDim.x < problem.tiles) load(tile + gridDim.x, values + stage * Tile::stored);
    } else {
      load(tile, current);
    }
    ptx::async_copy_commit();
    ptx::async_copy_wait<Stages - 1>();
    __syncthreads();
    multiply_all_on_units<Tile, S, P, Count, Lanes, Threads>(current, factors, problem.scale);
    for_each_word<Tile, word_values<S>, Lanes, Groups, Threads>(
        problem, tile, static_cast<S*>(problem.y), problem.y_stride, [&](int index, S* target) {
          *reinterpret_cast<uint4*>(target) = *reinterpret_cast<const uint4*>(current + index);
        });
    __syncthreads();
  }
}

}  // namespace papillon::cuda
