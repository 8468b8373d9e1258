// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_pass.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "papillon/core/arithmetic.hpp"
#include "papillon/generic/base_signs.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/thread_scratch.hpp"
#include "papillon/orders.hpp"

namespace papillon::generic {
namespace {

using detail::negated;
using detail::SignVector;

/// Bytes that a tile should move at least: enough to make the cost of handing it out small.
constexpr std::int64_t tile_target_bytes = std::int64_t{128} << 10;
/// Bytes of gathered scratch, beside the kernels' own.
constexpr std::int64_t gather_bytes = std::int64_t{256} << 10;
/// Columns below which vector kernels run mostly empty.
constexpr std::int64_t full_columns = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// log2 of the inner extent when each row and its inner index form one contiguous block; -1 otherwise.
int packed_bits(const Fold& fold) {
  const std::int64_t inner = fold.inner.extent;
  if (!std::has_single_bit(static_cast<std::uint64_t>(inner))) return -1;
  if (inner > 1 && (fold.inner.x_stride != 1 || fold.inner.y_stride != 1)) return -1;
  if (fold.axis.x_stride != inner || fold.axis.y_stride != inner) return -1;
  return std::countr_zero(static_cast<std::uint64_t>(inner));
}

/// Indices of the fastest outer index.
std::int64_t batch_extent(const Fold& fold) {
  return fold.outer_rank > 0 ? fold.outer[fold.outer_rank - 1].extent : 1;
}

bool narrower(ScalarType a, ScalarType b) { return size_of(a) < size_of(b); }

}  // namespace

HostTiling make_host_tiling(const Pass& pass) { return make_host_tiling(pass, 0, batch_extent(pass.fold)); }

HostTiling make_host_tiling(const Pass& pass, std::int64_t first_batch, std::int64_t batch) {
  const Fold& fold = pass.fold;
  const auto bytes = static_cast<std::int64_t>(
      size_of(narrower(pass.source_type, pass.target_type) ? pass.target_type : pass.source_type));
  const auto compute = static_cast<std::int64_t>(size_of(compute_scalar(pass.source_type)));
  const std::int64_t length = pass.length();
  const std::int64_t block = std::int64_t{1} << pass.bits;
  const std::int64_t inner = fold.inner.extent;

  HostTiling tiling;
  tiling.first_batch = first_batch;
  tiling.batch = batch;
  const int packed = pass.plain() ? packed_bits(fold) : -1;
  const bool contiguous_inner = fold.inner.x_stride == 1 && fold.inner.y_stride == 1;
  if (packed >= 0 && length > 1 && (pass.m == 1 || block * inner >= full_columns) &&
      length * inner * compute <= 4 * gather_bytes) {
    tiling.mode = HostMode::rows;
    tiling.packed_bits = packed;
    tiling.inner_step = inner;
    tiling.batch_step = tile_target_bytes / (length * inner * bytes);
  } else if (pass.plain() && contiguous_inner && (inner >= full_columns || tiling.batch == 1)) {
    tiling.mode = HostMode::columns;
    const std::int64_t least =
        std::max(simd::preferred_tile_columns(pass.bits, static_cast<std::size_t>(compute)),
                 ceil_div(tile_target_bytes, length * bytes));
    tiling.inner_step = std::min(inner, ceil_div(least, 64) * 64);
    tiling.batch_step = tile_target_bytes / (length * tiling.inner_step * bytes);
  } else if (inner == 1 && length >= 64 && block >= full_columns) {
    tiling.mode = HostMode::gather_rows;
    tiling.inner_step = 1;
    tiling.batch_step = gather_bytes / 4 / (length * compute);
  } else {
    tiling.mode = HostMode::gather_columns;
    const std::int64_t most = std::max<std::int64_t>(1, gather_bytes / (length * compute));
    const std::int64_t wanted =
        std::min<std::int64_t>(most, std::max<std::int64_t>(64, gather_bytes / 8 / (length * compute)));
    tiling.inner_step = std::min(inner, wanted);
    tiling.batch_step = wanted / tiling.inner_step;
  }
  tiling.batch_step = std::clamp<std::int64_t>(tiling.batch_step, 1, tiling.batch);
  tiling.batch_tiles = ceil_div(tiling.batch, tiling.batch_step);
  tiling.inner_tiles = ceil_div(inner, tiling.inner_step);
  tiling.tiles = fold.outer_count() / batch_extent(fold) * tiling.batch_tiles * tiling.inner_tiles;
  tiling.tile_bytes = length * tiling.inner_step * tiling.batch_step * bytes;
  return tiling;
}

bool blocks_nest(std::span<const Pass> passes) {
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const Fold& fold = passes[p].fold;
    if (fold.outer_rank > 1) return false;  // the blocks of a pass need not be numbered in the same order
    if (p == 0) continue;
    const Fold& before = passes[p - 1].fold;
    if (before.outer_count() % fold.outer_count() != 0) return false;
    const std::int64_t ratio = before.outer_count() / fold.outer_count();
    if (fold.outer_rank == 1 && fold.outer[0].x_stride != ratio * before.outer[0].y_stride) return false;
  }
  return true;
}

std::int64_t outer_indices_in_cache(const Pass& pass) {
  const auto size = static_cast<std::int64_t>(
      size_of(narrower(pass.source_type, pass.target_type) ? pass.target_type : pass.source_type));
  return std::max<std::int64_t>(
      1, sweep_bytes(Architecture::cpu) / size / pass.length() / pass.fold.inner.extent);
}

namespace {

/// What a tile covers: source and target at its first element, and how many indices of each kind.
struct Tile {
  std::int64_t x, y, position;               ///< offsets in elements
  std::int64_t batch, inner;                 ///< indices covered
  std::int64_t outer_position, first_inner;  ///< position of the batch index alone; first inner index
  Dimension step;                            ///< of the batch index
};

Tile locate(const Pass& pass, const HostTiling& tiling, std::int64_t index) {
  const Fold& fold = pass.fold;
  const std::int64_t inner_tile = index % tiling.inner_tiles;
  const std::int64_t rest = index / tiling.inner_tiles;
  const std::int64_t first_batch = rest % tiling.batch_tiles * tiling.batch_step;
  const std::int64_t outer = rest / tiling.batch_tiles;
  const Offset offset = fold.outer_offset(outer * batch_extent(fold) + tiling.first_batch + first_batch);
  const std::int64_t first_inner = inner_tile * tiling.inner_step;
  Tile tile{};
  tile.x = offset.x + first_inner * fold.inner.x_stride;
  tile.y = offset.y + first_inner * fold.inner.y_stride;
  tile.outer_position = pass.first_position + offset.position;
  tile.first_inner = first_inner;
  tile.position = tile.outer_position + first_inner * fold.inner.position_step;
  tile.batch = std::min(tiling.batch_step, tiling.batch - first_batch);
  tile.inner = std::min(tiling.inner_step, fold.inner.extent - first_inner);
  if (fold.outer_rank > 0) tile.step = fold.outer[fold.outer_rank - 1];
  return tile;
}

template <class C>
C with_sign(C value, const SignVector& signs, std::int64_t position) {
  return signs.negative(position) ? negated(value) : value;
}

/// Room for `count` places, the calling thread's until its next call.
std::int64_t* place_table(std::size_t count) {
  thread_local std::vector<std::int64_t> table;
  if (table.size() < count) table.resize(count);
  return table.data();
}

/// natural_index for every place of a transform of 2^bits; made once a thread for the order it last used.
const std::int32_t* natural_indices(Ordering ordering, int bits) {
  thread_local std::vector<std::int32_t> table;
  thread_local Ordering made_for = Ordering::natural;
  const auto length = std::size_t{1} << bits;
  if (made_for != ordering || table.size() != length) {
    table.resize(length);
    for (std::size_t place = 0; place < length; ++place) {
      table[place] =
          static_cast<std::int32_t>(natural_index(ordering, static_cast<std::int64_t>(place), bits));
    }
    made_for = ordering;
  }
  return table.data();
}

/// Runs tiles of one pair of storage types. C is what sums are formed in.
template <class In, class Out>
class TileKernel {
  using C = compute_type<In>;
  static_assert(std::is_same_v<C, compute_type<Out>>);

 public:
  explicit TileKernel(const Pass& pass)
      : pass_(pass),
        source_(static_cast<const In*>(pass.source)),
        target_(static_cast<Out*>(pass.target)),
        scale_(static_cast<C>(pass.factor)),
        block_(std::int64_t{1} << pass.bits),
        signs_(pass.m > 1 ? base_signs<C>(pass.m, pass.transpose) : nullptr) {}

  void rows(const Tile& tile, int packed) const {
    const int bits = pass_.bits + packed;
    const In* x = source_ + tile.x;
    Out* y = target_ + tile.y;
    if (pass_.m == 1) {
      simd::hadamard_rows<In, Out>(x, tile.step.x_stride, y, tile.step.y_stride, tile.batch, bits, packed,
                                   scale_,
                                   scratch(simd::hadamard_rows_scratch_elements<In, Out>(bits, packed)));
      return;
    }
    const std::int64_t width = std::int64_t{1} << bits;
    for (std::int64_t r = 0; r < tile.batch; ++r) {
      const In* row = x + r * tile.step.x_stride;
      Out* out = y + r * tile.step.y_stride;
      with_intermediate(out, pass_.m * width, simd::hadamard_rows_scratch_elements<In, C>(bits, packed),
                        [&](auto* sums, C* work) {
                          simd::hadamard_rows<In, C>(row, width, sums, width, pass_.m, bits, packed, C{1},
                                                     work);
                          simd::signed_matrix_columns<C, Out>(signs_, order(), sums, width, out, width, width,
                                                              scale_, work);
                        });
    }
  }

  void columns(const Tile& tile) const {
    for (std::int64_t b = 0; b < tile.batch; ++b) {
      const In* x = source_ + tile.x + b * tile.step.x_stride;
      Out* y = target_ + tile.y + b * tile.step.y_stride;
      const std::int64_t xs = pass_.fold.axis.x_stride;
      const std::int64_t ys = pass_.fold.axis.y_stride;
      if (pass_.m == 1) {
        simd::hadamard_columns<In, Out>(
            x, xs, y, ys, tile.inner, pass_.bits, scale_,
            scratch(simd::hadamard_columns_scratch_elements<In, Out>(pass_.bits)));
        continue;
      }
      // A slice of the columns at a time, so that the intermediate sums stay in cache.
      const std::int64_t slice =
          std::clamp<std::int64_t>(gather_bytes / (pass_.length() * static_cast<std::int64_t>(sizeof(C))) /
                                       full_columns * full_columns,
                                   full_columns, tile.inner < full_columns ? full_columns : tile.inner);
      for (std::int64_t i = 0; i < tile.inner; i += slice) {
        const std::int64_t width = std::min(slice, tile.inner - i);
        const std::size_t extra = simd::hadamard_columns_scratch_elements<In, C>(pass_.bits) +
                                  simd::signed_matrix_scratch_elements<C, Out>(order());
        C* sums = scratch(static_cast<std::size_t>(pass_.length() * width) + extra);
        C* work = sums + pass_.length() * width;
        for (std::int64_t b2 = 0; b2 < pass_.m; ++b2) {
          simd::hadamard_columns<In, C>(x + i + b2 * block_ * xs, xs, sums + b2 * block_ * width, width,
                                        width, pass_.bits, C{1}, work);
        }
        for (std::int64_t l = 0; l < block_; ++l) {
          simd::signed_matrix_columns<C, Out>(signs_, order(), sums + l * width, block_ * width,
                                              y + i + l * ys, block_ * ys, width, scale_, work);
        }
      }
    }
  }

  void gather_columns(const Tile& tile) const {
    const std::int64_t width = tile.batch * tile.inner;
    const std::size_t extra = simd::hadamard_columns_scratch_elements<C, C>(pass_.bits) +
                              (pass_.m > 1 ? simd::signed_matrix_scratch_elements<C, C>(order()) : 0);
    C* values = scratch(static_cast<std::size_t>(pass_.length() * width) + extra);
    C* work = values + pass_.length() * width;
    load_columns(tile, values, width);
    apply_signs(pass_.in, tile, values, width, [](std::int64_t position) { return position; });
    for (std::int64_t b = 0; b < pass_.m; ++b) {
      C* part = values + b * block_ * width;
      simd::hadamard_columns<C, C>(part, width, part, width, width, pass_.bits, pass_.m == 1 ? scale_ : C{1},
                                   work);
    }
    if (pass_.m > 1) {
      const std::int64_t row = block_ * width;
      simd::signed_matrix_columns<C, C>(signs_, order(), values, row, values, row, row, scale_, work);
    }
    apply_signs(pass_.out, tile, values, width,
                [&](std::int64_t position) { return pass_.output_position(position); });
    store_columns(tile, values, width);
  }

  void gather_rows(const Tile& tile) const {
    const std::int64_t length = pass_.length();
    const std::size_t extra = simd::hadamard_rows_scratch_elements<C, C>(pass_.bits) +
                              (pass_.m > 1 ? simd::signed_matrix_scratch_elements<C, C>(order()) : 0);
    // The kernels' scratch also holds the row in the order asked for, once they are done.
    C* row = scratch(static_cast<std::size_t>(length) + std::max(extra, static_cast<std::size_t>(length)));
    C* work = row + length;
    const Dimension& axis = pass_.fold.axis;
    for (std::int64_t r = 0; r < tile.batch; ++r) {
      const In* x = source_ + tile.x + r * tile.step.x_stride;
      const std::int64_t position = tile.position + r * tile.step.position_step;
      if (axis.x_stride == 1) {
        load_contiguous(x, row, length);
      } else {
        for (std::int64_t j = 0; j < length; ++j) row[j] = static_cast<C>(x[j * axis.x_stride]);
      }
      apply_row_signs(pass_.in, position, row, length);
      simd::hadamard_rows<C, C>(row, block_, row, block_, pass_.m, pass_.bits, 0,
                                pass_.m == 1 ? scale_ : C{1}, work);
      if (pass_.m > 1) {
        simd::signed_matrix_columns<C, C>(signs_, order(), row, block_, row, block_, block_, scale_, work);
      }
      Out* y = target_ + tile.y + r * tile.step.y_stride;
      if (pass_.ordering != Ordering::natural && length == std::int64_t{1} << pass_.ordering_bits) {
        const std::int32_t* natural = natural_indices(pass_.ordering, pass_.ordering_bits);
        for (std::int64_t place = 0; place < length; ++place) work[place] = row[natural[place]];
        store_row(work, y, pass_.place_stride, position);
      } else if (pass_.ordering == Ordering::natural) {
        store_row(row, y, axis.y_stride, position);
      } else {
        for (std::int64_t j = 0; j < length; ++j) {
          const std::int64_t here = position + j * axis.position_step;
          const bool flip = pass_.out.any() && pass_.out.negative(pass_.output_position(here));
          y[pass_.target_offset(0, here)] = static_cast<Out>(flip ? negated(row[j]) : row[j]);
        }
      }
    }
  }

 private:
  /// Whether walking along the inner index touches memory more densely than walking along the axis.
  static bool inner_first(std::int64_t inner_extent, std::int64_t inner_stride, std::int64_t axis_stride) {
    return inner_extent > 1 && std::abs(inner_stride) <= std::abs(axis_stride);
  }

  void load_columns(const Tile& tile, C* values, std::int64_t width) const {
    const std::int64_t axis_stride = pass_.fold.axis.x_stride;
    const std::int64_t inner_stride = pass_.fold.inner.x_stride;
    const std::int64_t length = pass_.length();
    for (std::int64_t b = 0; b < tile.batch; ++b) {
      const In* x = source_ + tile.x + b * tile.step.x_stride;
      C* column = values + b * tile.inner;
      if (inner_first(tile.inner, inner_stride, axis_stride)) {
        for (std::int64_t j = 0; j < length; ++j) {
          const In* from = x + j * axis_stride;
          C* to = column + j * width;
          if (inner_stride == 1) {
            load_contiguous(from, to, tile.inner);
          } else {
            for (std::int64_t i = 0; i < tile.inner; ++i) to[i] = static_cast<C>(from[i * inner_stride]);
          }
        }
      } else {
        for (std::int64_t i = 0; i < tile.inner; ++i) {
          const In* from = x + i * inner_stride;
          for (std::int64_t j = 0; j < length; ++j) {
            column[j * width + i] = static_cast<C>(from[j * axis_stride]);
          }
        }
      }
    }
  }

  void store_columns(const Tile& tile, const C* values, std::int64_t width) const {
    const Dimension& axis = pass_.fold.axis;
    const Dimension& inner = pass_.fold.inner;
    const std::int64_t length = pass_.length();
    const bool ordered = pass_.ordering != Ordering::natural;
    // Bits of a position move without regard to one another, so the place of a sum of disjoint bits is the
    // exclusive or of their places: one table for the axis and one for the inner index are enough.
    const std::int64_t inner_position = pass_.fold.inner.position_step;
    std::int64_t* axis_places = nullptr;
    std::int64_t* inner_places = nullptr;
    if (ordered) {
      axis_places = place_table(static_cast<std::size_t>(length + tile.inner));
      inner_places = axis_places + length;
      for (std::int64_t j = 0; j < length; ++j) axis_places[j] = pass_.axis_place(j * axis.position_step);
      for (std::int64_t i = 0; i < tile.inner; ++i) {
        inner_places[i] = pass_.axis_place((tile.first_inner + i) * inner_position);
      }
    }
    for (std::int64_t b = 0; b < tile.batch; ++b) {
      Out* y = target_ + tile.y + b * tile.step.y_stride;
      const std::int64_t outer_place =
          ordered ? pass_.axis_place(tile.outer_position + b * tile.step.position_step) : 0;
      const auto offset = [&](std::int64_t j, std::int64_t i) {
        return ordered ? (outer_place ^ axis_places[j] ^ inner_places[i]) * pass_.place_stride +
                             i * inner.y_stride
                       : j * axis.y_stride + i * inner.y_stride;
      };
      const C* column = values + b * tile.inner;
      const std::int64_t axis_stride = ordered ? pass_.place_stride : axis.y_stride;
      if (inner_position == 0 && inner_first(tile.inner, inner.y_stride, axis_stride)) {
        for (std::int64_t j = 0; j < length; ++j) {
          const C* from = column + j * width;
          Out* to = y + offset(j, 0);
          if (inner.y_stride == 1) {
            store_contiguous(from, to, tile.inner);
          } else {
            for (std::int64_t i = 0; i < tile.inner; ++i) to[i * inner.y_stride] = static_cast<Out>(from[i]);
          }
        }
      } else {
        for (std::int64_t i = 0; i < tile.inner; ++i) {
          for (std::int64_t j = 0; j < length; ++j) y[offset(j, i)] = static_cast<Out>(column[j * width + i]);
        }
      }
    }
  }

  /// signs ∘ values for a gathered tile; `index_of(position)` says which sign belongs to a position.
  template <class IndexOf>
  void apply_signs(const SignVector& signs, const Tile& tile, C* values, std::int64_t width,
                   const IndexOf& index_of) const {
    if (!signs.any()) return;
    const std::int64_t step = pass_.fold.axis.position_step;
    const std::int64_t inner_step = pass_.fold.inner.position_step;
    for (std::int64_t j = 0; j < pass_.length(); ++j) {
      for (std::int64_t b = 0; b < tile.batch; ++b) {
        C* row = values + j * width + b * tile.inner;
        const std::int64_t position = tile.position + b * tile.step.position_step + j * step;
        if (inner_step == 0) {
          if (!signs.negative(index_of(position))) continue;
          for (std::int64_t i = 0; i < tile.inner; ++i) row[i] = negated(row[i]);
        } else {
          for (std::int64_t i = 0; i < tile.inner; ++i) {
            if (signs.negative(index_of(position + i * inner_step))) row[i] = negated(row[i]);
          }
        }
      }
    }
  }

  /// signs ∘ row for a row whose first element has position `position`.
  void apply_row_signs(const SignVector& signs, std::int64_t position, C* row, std::int64_t length) const {
    if (!signs.any()) return;
    const std::int64_t step = pass_.fold.axis.position_step;
    if (step != 1 || (signs.seeded && position % 64 != 0)) {
      for (std::int64_t j = 0; j < length; ++j) row[j] = with_sign(row[j], signs, position + j * step);
    } else if (signs.seeded) {
      for (std::int64_t first = 0; first < length; first += 64) {
        const std::uint64_t word = random_sign_word(signs.seed, (position + first) / 64);
        C* part = row + first;
        const std::int64_t count = std::min<std::int64_t>(64, length - first);
        for (std::int64_t j = 0; j < count; ++j) part[j] = (word >> j) & 1u ? negated(part[j]) : part[j];
      }
    } else {
      const std::int8_t* values = signs.values + position;
      for (std::int64_t j = 0; j < length; ++j) row[j] = values[j] < 0 ? negated(row[j]) : row[j];
    }
  }

  /// A row in the order of its places, with the output's signs, to `y`.
  void store_row(C* row, Out* y, std::int64_t stride, std::int64_t position) const {
    const std::int64_t length = pass_.length();
    apply_row_signs(pass_.out, position, row, length);
    if (stride == 1) {
      store_contiguous(row, y, length);
    } else {
      for (std::int64_t j = 0; j < length; ++j) y[j * stride] = static_cast<Out>(row[j]);
    }
  }

  static void load_contiguous(const In* x, C* row, std::int64_t length) {
    if constexpr (std::is_same_v<In, C>) {
      std::memcpy(row, x, static_cast<std::size_t>(length) * sizeof(C));
    } else {
      simd::convert<In, C>(x, row, length);
    }
  }

  static void store_contiguous(const C* row, Out* y, std::int64_t length) {
    if constexpr (std::is_same_v<Out, C>) {
      std::memcpy(y, row, static_cast<std::size_t>(length) * sizeof(C));
    } else {
      simd::convert<C, Out>(row, y, length);
    }
  }

  /// Calls work(sums, scratch) with room for `count` sums in the compute type: in the output itself where it
  /// has that type, in scratch where it is narrower.
  template <class Work>
  void with_intermediate(Out* out, std::int64_t count, std::size_t kernel_scratch, const Work& work) const {
    const std::size_t extra = kernel_scratch + simd::signed_matrix_scratch_elements<C, Out>(order());
    if constexpr (std::is_same_v<Out, C>) {
      work(out, scratch(extra));
    } else {
      C* sums = scratch(static_cast<std::size_t>(count) + extra);
      work(sums, sums + count);
    }
  }

  int order() const { return static_cast<int>(pass_.m); }

  static C* scratch(std::size_t elements) { return static_cast<C*>(thread_scratch(elements * sizeof(C))); }

  const Pass& pass_;
  const In* source_;
  Out* target_;
  C scale_;
  std::int64_t block_;
  const C* signs_;
};

template <class In, class Out>
void run(const Pass& pass, const HostTiling& tiling, std::int64_t index) {
  const TileKernel<In, Out> kernel(pass);
  const Tile tile = locate(pass, tiling, index);
  switch (tiling.mode) {
    case HostMode::rows:
      kernel.rows(tile, tiling.packed_bits);
      break;
    case HostMode::columns:
      kernel.columns(tile);
      break;
    case HostMode::gather_columns:
      kernel.gather_columns(tile);
      break;
    case HostMode::gather_rows:
      kernel.gather_rows(tile);
      break;
  }
}

}  // namespace

void run_host_tile(const Pass& pass, const HostTiling& tiling, std::int64_t tile) {
  detail::visit_storage(pass, [&]<class In, class Out>() { run<In, Out>(pass, tiling, tile); });
}

}  // namespace papillon::generic
