// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "papillon/generic/team_butterfly.hpp"

namespace papillon::generic {

/// The kernel of host spaces: tiles with a line in each lane of the vector kernels. It gives the bits of
/// TeamButterfly.
template <class S, class In, class Out>
class HostButterfly {
  using C = sum_type<S>;
  using R = typename RealOf<C>::type;

 public:
  explicit HostButterfly(const ButterflyTilePass& pass);

  /// Whether tiles are small enough to keep a line in each lane; a single block of more than a hundred
  /// thousand rows is not.
  bool fits() const;

  template <class ExecutionSpace>
  void launch(const ExecutionSpace& space) const {
    if (tiles_ == 1 || !worth_sharing_) {
      for (std::int64_t tile = 0; tile < tiles_; ++tile) run(tile);
      return;
    }
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>,
                                       Kokkos::Schedule<Kokkos::Dynamic>>;
    Policy policy(space, 0, tiles_);
    policy.set_chunk_size(1);
    Kokkos::parallel_for("papillon::butterfly", policy, [this](std::int64_t tile) { run(tile); });
  }

 private:
  static constexpr int parts = is_complex_sum<C> ? 2 : 1;

  /// The lines of a tile: those missing in a last one repeat its first.
  struct Lines;
  void locate(std::int64_t tile, Lines& lines) const;
  void read(const Lines& lines, R* tile, R* other) const;
  void write(const Lines& lines, R* tile, R* other) const;
  void run(std::int64_t tile) const;

  ButterflyTilePass pass_;
  std::int64_t line_count_;
  std::int64_t points_;       ///< of a tile at most
  std::int64_t stretch_ = 1;  ///< lines that share all indices but one; tiles do not cross its end
  std::int64_t stretch_tiles_ = 1;
  std::int64_t tiles_ = 0;
  int lines_ = 1;  ///< of a tile
  bool worth_sharing_ = false;
};

}  // namespace papillon::generic
