// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>

#include "papillon/core/quantize_steps.hpp"
#include "papillon/generic/host_rotation.hpp"
#include "papillon/generic/simd/quantize.hpp"
#include "papillon/generic/workspace_holder.hpp"

namespace papillon::generic {

/// A quantised tensor cut into pieces that stay in a cache near to a core: of rows whose elements are
/// neighbours one each, of others several that lie side by side, of square blocks those that share scales;
/// and of these whole blocks and rotations, or whole rows. Threads take several pieces at a time, a task.
/// Rows that follow one another without a gap, codes and scales too, count as one.
class HostPieces {
 public:
  struct Piece {
    std::int64_t row = 0;  ///< the first
    std::int64_t rows = 1;
    std::int64_t first = 0;  ///< column
    std::int64_t count = 0;  ///< columns
    bool last = false;       ///< of its rows
  };

  /// `gathers`: rows side by side may be taken together.
  HostPieces(const detail::QuantizedRows& q, const detail::RowIndex& rows, std::int64_t group,
             std::int64_t element_bytes, bool gathers);

  /// Whether the vector kernels take them: rows of blocks of a multiple of 16, or of one; pieces of 1 MiB of
  /// floats at most.
  bool fit() const;

  std::int64_t first_piece(std::int64_t task) const { return task * task_pieces_; }
  std::int64_t last_piece(std::int64_t task) const {
    const std::int64_t end = (task + 1) * task_pieces_;
    return end < pieces_ ? end : pieces_;
  }
  Piece piece(std::int64_t index) const;

  const detail::QuantizedRows& q() const { return q_; }
  const detail::RowIndex& rows() const { return rows_; }
  std::int64_t most_rows() const { return most_rows_; }  ///< of a piece
  std::int64_t columns() const { return columns_; }      ///< of a piece
  std::int64_t block() const { return block_; }          ///< elements from a scale to the next
  bool side_by_side() const { return side_by_side_; }    ///< the rows of a piece, in x or y

  /// Where the codes of a row of a piece start in the payload, and how many bytes are its own, padding
  /// included.
  std::int64_t first_byte(const Piece& piece, std::int64_t r) const;
  std::int64_t bytes(const Piece& piece) const;

  template <class ExecutionSpace, class Run>
  void for_each_task(const ExecutionSpace& space, const Run& run) const {
    if (tasks_ == 1) return run(std::int64_t{0});
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("papillon::quantize", Policy(space, 0, tasks_),
                         [&run](std::int64_t task) { run(task); });
  }

 private:
  void join_rows();
  void cut(std::int64_t rows, std::int64_t group);
  std::int64_t row_groups() const;

  detail::QuantizedRows q_;
  detail::RowIndex rows_;
  bool side_by_side_ = false;
  std::int64_t last_extent_ = 1;  ///< rows of one index of all other axes but the last
  std::int64_t most_rows_ = 1;
  std::int64_t columns_ = 0;
  std::int64_t block_ = 0;
  std::int64_t row_pieces_ = 0;
  std::int64_t pieces_ = 0;
  std::int64_t task_pieces_ = 0;
  std::int64_t tasks_ = 0;
};

/// `quantize` on the vector kernels. It gives the bits of the plain form.
class HostQuantize {
 public:
  explicit HostQuantize(const detail::QuantizeProblem& problem);

  /// Whether the vector kernels take the problem.
  bool fits() const { return pieces_.fit(); }

  template <class ExecutionSpace>
  void launch(const ExecutionSpace& space) const {
    const WorkspaceHolder<ExecutionSpace> workspace(space, "quantize", problem_.workspace,
                                                    detail::state_bytes);
    auto* state = static_cast<detail::QuantizeState*>(workspace.data());
    start(*state);
    if (problem_.computes_global() && !problem_.empty)
      pieces_.for_each_task(space, [&](std::int64_t task) { find_amax(task, *state); });
    set_global_scale(*state);
    if (!problem_.empty) {
      clear_scale_padding();
      pieces_.for_each_task(space, [&](std::int64_t task) { quantize_task(task, *state); });
    }
    if (problem_.amax != nullptr) *problem_.amax = __builtin_bit_cast(float, state->amax_bits);
  }

 private:
  template <class S>
  class Reader;
  template <class S>
  struct Arrays;
  struct Sums;

  void start(detail::QuantizeState& state) const;
  void set_global_scale(detail::QuantizeState& state) const;
  void clear_scale_padding() const;
  void find_amax(std::int64_t task, detail::QuantizeState& state) const;
  void quantize_task(std::int64_t task, detail::QuantizeState& state) const;
  template <class S>
  void quantize_piece(const HostPieces::Piece& piece, const Arrays<S>& arrays,
                      const detail::GlobalScale& global, Sums& sums) const;
  void store_scales(const HostPieces::Piece& piece, std::int64_t r, const simd::PieceScales& scales) const;
  template <class S>
  void store_codes(const HostPieces::Piece& piece, std::int64_t r, const float* values,
                   const Arrays<S>& arrays, Sums& sums) const;

  detail::QuantizeProblem problem_;
  HostRotation rotation_;
  HostPieces pieces_;
};

/// `dequantize` on the vector kernels. It gives the bits of the plain form.
class HostDequantize {
 public:
  explicit HostDequantize(const detail::DequantizeProblem& problem);

  /// Whether the vector kernels take the problem.
  bool fits() const { return pieces_.fit(); }

  template <class ExecutionSpace>
  void launch(const ExecutionSpace& space) const {
    if (problem_.empty) return;
    pieces_.for_each_task(space, [&](std::int64_t task) { dequantize_task(task); });
  }

 private:
  struct Arrays;

  void dequantize_task(std::int64_t task) const;
  void decode_row(const HostPieces::Piece& piece, std::int64_t r, const Arrays& arrays, float* values) const;

  detail::DequantizeProblem problem_;
  HostRotation rotation_;
  HostPieces pieces_;
};

}  // namespace papillon::generic
