// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>

#include "papillon/core/kronecker_problem.hpp"
#include "papillon/generic/host_space.hpp"

namespace papillon::generic {

/// Where a pass reads or writes: the array itself, or a buffer with `points` points for each of its columns.
struct KroneckerEnd {
  void* data = nullptr;
  std::int64_t axis_stride = 1;
  std::int64_t buffer_points = 0;  ///< 0: the array, whose columns lie where the fold says
};

/// One pass over some columns, ready to run.
struct KroneckerTilePass {
  detail::KroneckerPass pass;
  detail::AppliedFactor factors[detail::max_factors];  ///< of the pass
  Fold fold;                                           ///< of the problem
  std::int64_t first_column = 0;
  std::int64_t column_count = 0;
  KroneckerEnd source;
  KroneckerEnd target;
  double scale = 1.0;
};

/// What sums of S are formed in: complex numbers in themselves, all others as in `compute_type`.
template <class S>
using sum_type = compute_type<S>;
template <class C>
inline constexpr bool is_complex_sum = false;
template <class R>
inline constexpr bool is_complex_sum<Kokkos::complex<R>> = true;

/// The real numbers beside C.
template <class C>
struct RealOf {
  using type = C;
};
template <class R>
struct RealOf<Kokkos::complex<R>> {
  using type = R;
};

/// The first term of a sum of products, and the sum with one more: each product is fused with the addition. A
/// complex one takes the real part of `a` first, then the imaginary one.
template <class R>
KOKKOS_INLINE_FUNCTION R product(R a, R x) {
  return a * x;
}
template <class R>
KOKKOS_INLINE_FUNCTION R add_product(R a, R x, R sum) {
  return Kokkos::fma(a, x, sum);
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> add_imaginary(R a, const Kokkos::complex<R>& x, R real,
                                                        R imaginary) {
  return {Kokkos::fma(-a, x.imag(), real), Kokkos::fma(a, x.real(), imaginary)};
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> product(const Kokkos::complex<R>& a, const Kokkos::complex<R>& x) {
  return add_imaginary(a.imag(), x, a.real() * x.real(), a.real() * x.imag());
}
template <class R>
KOKKOS_INLINE_FUNCTION Kokkos::complex<R> add_product(const Kokkos::complex<R>& a,
                                                      const Kokkos::complex<R>& x,
                                                      const Kokkos::complex<R>& sum) {
  return add_imaginary(a.imag(), x, Kokkos::fma(a.real(), x.real(), sum.real()),
                       Kokkos::fma(a.real(), x.imag(), sum.imag()));
}

/// A tile near the processor: the bytes of both of its halves, the lines that it should have at most, and
/// those that it must have room for when it is of several factors.
struct KroneckerTile {
  std::int64_t bytes;
  int lines;
  int least_lines;

  /// Points of a tile of several factors.
  constexpr std::int64_t points(ScalarType scalar) const {
    return bytes / 2 / least_lines / static_cast<std::int64_t>(detail::sum_bytes(scalar));
  }
};
/// Half of a core's second-level cache of 1 MiB; of a device half of the 48 KiB that a block may use without
/// asking.
constexpr KroneckerTile kronecker_tile(Architecture architecture) {
  return architecture == Architecture::cpu ? KroneckerTile{std::int64_t{512} << 10, 16, 1}
                                           : KroneckerTile{std::int64_t{24} << 10, 8, 8};
}

/// The generic kernel: a team copies a tile, the points of the pass for `width` lines, into scratch, applies
/// factor after factor there, and writes it back. A line is a column of the array, an index slower and one
/// faster than the pass'. Sums run in the order of rising column index, each a fused multiply-add of the next
/// term (`add_product`). It runs on every execution space and is the plain statement of what a pass computes;
/// the vector kernels of the CPU give the same bits.
template <class ExecutionSpace, class S, class In, class Out>
class TeamKronecker {
  using C = sum_type<S>;
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  using Member = typename Policy::member_type;
  static constexpr int alignment = 128;
  static constexpr int most_width = kronecker_tile(architecture_of<ExecutionSpace>).lines;

 public:
  explicit TeamKronecker(const KroneckerTilePass& tile)
      : tile_(tile), lines_(tile.column_count * tile.pass.outer * tile.pass.inner) {
    const std::int64_t points = std::max<std::int64_t>(tile.pass.largest, 1);
    constexpr std::int64_t wanted = kronecker_tile(architecture_of<ExecutionSpace>).bytes;
    width_ = static_cast<int>(std::clamp<std::int64_t>(
        std::min(wanted / (2 * points * static_cast<std::int64_t>(sizeof(C))), lines_), 1, most_width));
  }

  void launch(const ExecutionSpace& space) const {
    const std::int64_t tiles = (lines_ + width_ - 1) / width_;
    const std::int64_t half = half_bytes();
    const auto bytes = 2 * half + alignment;
    const int level = bytes <= Policy::scratch_size_max(0) ? 0 : 1;
    // A device takes only so many teams a launch.
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t first = 0; first < tiles; first += most) {
      TeamKronecker part = *this;
      part.first_tile_ = first;
      part.scratch_level_ = level;
      Policy policy(space, static_cast<int>(std::min(tiles - first, most)), Kokkos::AUTO);
      policy.set_scratch_size(level, Kokkos::PerTeam(static_cast<int>(bytes)));
      Kokkos::parallel_for("papillon::kronecker", policy, part);
    }
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const detail::KroneckerPass& pass = tile_.pass;
    const std::int64_t first_line = (first_tile_ + team.league_rank()) * width_;
    const std::int64_t width = lines_ - first_line < width_ ? lines_ - first_line : width_;
    auto* scratch =
        static_cast<char*>(team.team_scratch(scratch_level_)
                               .get_shmem_aligned(static_cast<std::size_t>(2 * half_bytes()), alignment));
    C* from = reinterpret_cast<C*>(scratch);
    C* to = reinterpret_cast<C*>(scratch + half_bytes());

    each(team, pass.source * width, [&](std::int64_t i) {
      const Line line = locate(first_line + i % width);
      from[i] = static_cast<C>(static_cast<const In*>(
          tile_.source.data)[place(line, tile_.source, line.x, pass.source, i / width)]);
    });

    std::int64_t extents[detail::max_factors];
    for (int f = 0; f < pass.count; ++f) extents[f] = tile_.factors[f].columns;
    for (int step = 0; step < pass.count; ++step) {
      team.team_barrier();
      const int f = pass.order[step];
      std::int64_t run = width;
      std::int64_t outer = 1;
      for (int other = 0; other < pass.count; ++other)
        (other < f ? outer : run) *= other == f ? 1 : extents[other];
      multiply(team, tile_.factors[f], outer, run, width, first_line, from, to);
      extents[f] = tile_.factors[f].rows;
      C* const finished = to;
      to = from;
      from = finished;
    }
    team.team_barrier();

    const auto scale = static_cast<typename RealOf<C>::type>(tile_.scale);
    each(team, pass.target * width, [&](std::int64_t i) {
      const Line line = locate(first_line + i % width);
      static_cast<Out*>(tile_.target.data)[place(line, tile_.target, line.y, pass.target, i / width)] =
          static_cast<Out>(from[i] * scale);
    });
  }

 private:
  /// A line of the pass: the offsets of its column, and its indices beside the pass'.
  struct Line {
    std::int64_t x, y, batch;  ///< of the array's column
    std::int64_t column;       ///< number of the column within this call
    std::int64_t outer, inner;
  };

  KOKKOS_FUNCTION std::int64_t half_bytes() const {
    const std::int64_t points = tile_.pass.largest > 0 ? tile_.pass.largest : 1;
    const std::int64_t bytes = points * width_ * static_cast<std::int64_t>(sizeof(C));
    return (bytes + alignment - 1) / alignment * alignment;
  }

  KOKKOS_FUNCTION Line locate(std::int64_t index) const {
    const detail::KroneckerPass& pass = tile_.pass;
    const std::int64_t inner = index % pass.inner;
    const std::int64_t rest = index / pass.inner;
    const std::int64_t column = rest / pass.outer;
    const Offset offset = tile_.fold.outer_offset(tile_.first_column + column);
    return {offset.x, offset.y, offset.position, column, rest % pass.outer, inner};
  }

  /// The element of point `point` of a line, the pass having `points`.
  KOKKOS_FUNCTION std::int64_t place(const Line& line, const KroneckerEnd& end, std::int64_t array_offset,
                                     std::int64_t points, std::int64_t point) const {
    const std::int64_t index = (line.outer * points + point) * tile_.pass.inner + line.inner;
    const std::int64_t start = end.buffer_points > 0 ? line.column * end.buffer_points : array_offset;
    return start + index * end.axis_stride;
  }

  template <class Body>
  KOKKOS_FUNCTION static void each(const Member& team, std::int64_t count, const Body& body) {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), body);
  }

  /// to[(o * rows + a) * run + r] = sum over b of F[a, b] · from[(o * columns + b) * run + r]. The r are side
  /// by side in memory: they are a vector's lanes.
  KOKKOS_FUNCTION void multiply(const Member& team, const detail::AppliedFactor& factor, std::int64_t outer,
                                std::int64_t run, std::int64_t width, std::int64_t first_line, const C* from,
                                C* to) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, outer * factor.rows), [&](std::int64_t i) {
      const std::int64_t row = i % factor.rows;
      const C* values = from + i / factor.rows * factor.columns * run;
      C* sums = to + i * run;
      const S* entries = static_cast<const S*>(factor.data) + row * factor.row_stride;
      const auto lanes = Kokkos::ThreadVectorRange(team, run);
      if (factor.columns == 0) Kokkos::parallel_for(lanes, [&](std::int64_t r) { sums[r] = C{}; });
      for (std::int64_t b = 0; b < factor.columns; ++b, values += run) {
        const S* place = entries + b * factor.column_stride;
        if (factor.batch_stride != 0) {
          Kokkos::parallel_for(lanes, [&](std::int64_t r) {
            const std::int64_t batch = locate(first_line + r % width).batch;
            const C entry = entry_at(place + batch * factor.batch_stride, factor.conjugate);
            sums[r] = b == 0 ? product(entry, values[r]) : add_product(entry, values[r], sums[r]);
          });
          continue;
        }
        const C entry = entry_at(place, factor.conjugate);
        if (b == 0) {
          Kokkos::parallel_for(lanes, [&](std::int64_t r) { sums[r] = product(entry, values[r]); });
        } else {
          Kokkos::parallel_for(lanes,
                               [&](std::int64_t r) { sums[r] = add_product(entry, values[r], sums[r]); });
        }
      }
    });
  }

  KOKKOS_FUNCTION static C entry_at(const S* place, bool conjugate) {
    const auto entry = static_cast<C>(*place);
    if constexpr (is_complex_sum<C>) {
      if (conjugate) return Kokkos::conj(entry);
    }
    return entry;
  }

  KroneckerTilePass tile_;
  std::int64_t lines_;
  std::int64_t first_tile_ = 0;
  int width_ = 1;
  int scratch_level_ = 0;
};

}  // namespace papillon::generic
