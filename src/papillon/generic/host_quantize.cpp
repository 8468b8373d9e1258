// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_quantize.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "papillon/core/row_chunks.hpp"
#include "papillon/generic/simd/gather.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/simd/quantize.hpp"
#include "papillon/generic/thread_scratch.hpp"

namespace papillon::generic {
namespace {

using detail::QuantizeState;
using detail::RowIndex;
using Piece = HostPieces::Piece;

/// Floats of a row of a piece: 16 KiB, so that they, their codes and what is read stay in the nearest cache.
constexpr std::int64_t row_bytes = std::int64_t{16} << 10;
/// And of a piece of several rows, which stay in the next one.
constexpr std::int64_t rows_bytes = std::int64_t{64} << 10;
/// Bytes of neighbouring rows that are gathered together: a cache line.
constexpr std::int64_t side_bytes = 64;
/// Elements of a piece at most, where blocks or rotations are long.
constexpr std::int64_t longest_piece = std::int64_t{1} << 18;
/// Bytes that a task should read at least: they take several times as long as starting a team of threads.
constexpr std::int64_t task_bytes = std::int64_t{64} << 10;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t padded(std::int64_t count) { return ceil_div(count, simd::code_step) * simd::code_step; }

/// What kernels share between threads.
struct Atomics {
  static void max(std::uint32_t* place, std::uint32_t value) {
    const std::atomic_ref<std::uint32_t> shared(*place);
    std::uint32_t seen = shared.load(std::memory_order_relaxed);
    while (seen < value && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }
  static void add(std::uint64_t* place, std::uint64_t value) {
    if (value > 0) std::atomic_ref<std::uint64_t>(*place).fetch_add(value, std::memory_order_relaxed);
  }
};

/// Cuts the memory of a thread into arrays that start at cache lines; first without memory, to see how much.
class Carver {
 public:
  explicit Carver(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(std::int64_t count) {
    T* array = memory_ != nullptr ? reinterpret_cast<T*>(memory_ + size_) : nullptr;
    size_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return array;
  }
  std::size_t size() const { return size_; }

 private:
  char* memory_;
  std::size_t size_ = 0;
};

/// to[i] = from[i · stride], widened or rounded.
template <class In, class Out>
void read_strided(const In* from, std::int64_t stride, Out* to, std::int64_t count) {
  if (stride == 1 && std::is_same_v<In, Out>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Out));
  } else if constexpr (sizeof(In) == 2) {
    if (stride == 1) return simd::convert(from, to, count);
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(from[i * stride]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(from[i * stride]);
  }
}

/// to[i · stride] = from[i], rounded or widened.
template <class Out>
void write_strided(const float* from, Out* to, std::int64_t stride, std::int64_t count) {
  if (stride == 1 && std::is_same_v<float, Out>) {
    if (static_cast<const void*>(from) != to)
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Out));
    return;
  }
  if constexpr (sizeof(Out) == 2) {
    if (stride == 1) return simd::convert(from, to, count);
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = static_cast<Out>(from[i]);
}

simd::PieceScales take_scales(Carver& carver, std::int64_t blocks) {
  const std::int64_t room = simd::scale_room(blocks);
  return {carver.take<float>(room), carver.take<float>(room), carver.take<std::uint8_t>(room)};
}

/// T(…, carver) with its arrays in the thread's scratch.
template <class T, class... Arguments>
T carve(const Arguments&... arguments) {
  Carver count;
  T(arguments..., count);
  Carver carver(thread_scratch(count.size()));
  return T(arguments..., carver);
}

}  // namespace

HostPieces::HostPieces(const detail::QuantizedRows& q, const RowIndex& rows, std::int64_t group,
                       std::int64_t element_bytes, bool gathers)
    : q_(q), rows_(rows) {
  const QuantizedLayout& layout = q_.layout;
  if (layout.rows == 0 || layout.columns == 0) return;
  join_rows();
  block_ = layout.blocks == 1 ? padded(layout.columns) : layout.block;
  const bool square = q_.square_rows > 0;
  if (rows_.outer_rank > 0) {
    const int fastest = rows_.outer_rank - 1;
    last_extent_ = fastest == 0 ? layout.rows : rows_.extents[fastest];
    side_by_side_ = gathers && rows_.strides[fastest] == 1 && rows_.element_stride != 1 && last_extent_ > 1;
  }
  cut(square          ? q_.group_rows()
      : side_by_side_ ? std::min(last_extent_, side_bytes / element_bytes)
                      : 1,
      group);
  if (side_by_side_ && !fit()) {
    side_by_side_ = false;
    if (!square) cut(1, group);
  }
  task_pieces_ = std::max<std::int64_t>(1, task_bytes / (most_rows_ * columns_ * element_bytes));
  tasks_ = ceil_div(pieces_, task_pieces_);
}

void HostPieces::cut(std::int64_t rows, std::int64_t group) {
  most_rows_ = std::min(rows, q_.layout.rows);
  const std::int64_t wanted = most_rows_ == 1      ? row_bytes
                              : q_.square_rows > 0 ? rows_bytes
                                                   : rows_bytes / most_rows_;
  columns_ = detail::chunk_rows(q_, group, sizeof(float), wanted).columns;
  row_pieces_ = ceil_div(q_.layout.columns, columns_);
  pieces_ = row_groups() * row_pieces_;
}

std::int64_t HostPieces::row_groups() const {
  if (q_.square_rows > 0) return q_.groups();
  return q_.layout.rows / last_extent_ * ceil_div(last_extent_, most_rows_);
}

void HostPieces::join_rows() {
  QuantizedLayout& layout = q_.layout;
  const bool dense = rows_.outer_rank == 1 && rows_.element_stride == 1 && rows_.strides[0] == layout.columns;
  const bool whole = layout.columns % layout.block == 0 && layout.columns % detail::run_length == 0;
  if (!dense || !whole || q_.square_rows > 0 || layout.scale_layout != ScaleLayout::row_major) return;
  layout.columns *= layout.rows;
  layout.blocks *= layout.rows;
  layout.row_bytes *= layout.rows;
  layout.scale_columns = layout.blocks;
  layout.rows = layout.scale_rows = 1;
  rows_.outer_rank = 0;
}

bool HostPieces::fit() const {
  return (q_.layout.blocks <= 1 || q_.layout.block % detail::run_length == 0) &&
         most_rows_ * columns_ <= longest_piece;
}

Piece HostPieces::piece(std::int64_t index) const {
  Piece piece;
  // Rows side by side share pages of memory, so they change fastest.
  const std::int64_t groups = row_groups();
  const std::int64_t group = side_by_side_ ? index % groups : index / row_pieces_;
  piece.first = (side_by_side_ ? index / groups : index % row_pieces_) * columns_;
  piece.count = std::min(columns_, q_.layout.columns - piece.first);
  piece.last = piece.first + piece.count == q_.layout.columns;
  if (q_.square_rows > 0) {
    piece.row = q_.first_row(group);
    piece.rows = q_.row_count(group);
  } else {
    const std::int64_t of_last = ceil_div(last_extent_, most_rows_);
    const std::int64_t first = group % of_last * most_rows_;
    piece.row = group / of_last * last_extent_ + first;
    piece.rows = std::min(most_rows_, last_extent_ - first);
  }
  return piece;
}

std::int64_t HostPieces::first_byte(const Piece& piece, std::int64_t r) const {
  return (piece.row + r) * q_.layout.row_bytes + piece.first * q_.layout.element_bits / 8;
}
std::int64_t HostPieces::bytes(const Piece& piece) const {
  const std::int64_t before = piece.first * q_.layout.element_bits / 8;
  return piece.last ? q_.layout.row_bytes - before : piece.count * q_.layout.element_bits / 8;
}

namespace {

/// The floats of a piece, row by row. Rows start at different places of the cache.
struct PieceValues {
  PieceValues(const HostPieces& pieces, Carver& carver)
      : pitch(padded(pieces.columns()) + (pieces.most_rows() > 1 ? simd::code_step / 4 : 0)),
        floats(carver.take<float>(pitch * pieces.most_rows())) {}
  float* row(std::int64_t r) const { return floats + r * pitch; }

  /// Element c of row r is at x[c * stride + r].
  template <class S>
  void gather(const S* x, std::int64_t stride, const Piece& piece) const {
    if constexpr (std::is_same_v<compute_type<S>, float>) {
      simd::gather_rows(x, stride, piece.rows, piece.count, floats, pitch);
    } else {
      for (std::int64_t c = 0; c < piece.count; ++c)
        for (std::int64_t r = 0; r < piece.rows; ++r)
          floats[r * pitch + c] = static_cast<float>(x[c * stride + r]);
    }
  }
  template <class S>
  void scatter(S* y, std::int64_t stride, const Piece& piece) const {
    if constexpr (std::is_same_v<compute_type<S>, float>) {
      simd::scatter_rows(floats, pitch, piece.rows, piece.count, y, stride);
    } else {
      for (std::int64_t c = 0; c < piece.count; ++c)
        for (std::int64_t r = 0; r < piece.rows; ++r)
          y[c * stride + r] = static_cast<S>(floats[r * pitch + c]);
    }
  }

  std::int64_t pitch;
  float* floats;
};

}  // namespace

/// Reads pieces as float32, rotated.
template <class S>
class HostQuantize::Reader {
  using C = compute_type<S>;

 public:
  Reader(const HostQuantize& call, Carver& carver) : call_(call), values_(call.pieces_, carver) {
    const std::int64_t columns = call.pieces_.columns();
    const HostRotation& rotation = call.rotation_;
    if (!rotation.any()) return;
    if constexpr (!std::is_same_v<C, float>) wide_ = carver.take<C>(columns);
    if (rotation.has_signs()) signs_ = carver.take<C>(rotation.sign_period());
    work_ = carver.take<C>(
        static_cast<std::int64_t>(std::max(rotation.work_elements<S, C>(), rotation.work_elements<C, C>())));
  }

  /// To be called before the first piece.
  void prepare() const {
    if (signs_ != nullptr) call_.rotation_.make_signs(signs_);
  }

  /// To be called before the rows of a piece.
  void start(const Piece& piece) const {
    if (call_.pieces_.side_by_side()) values_.gather(first_of(piece, 0), element_stride(), piece);
  }

  /// The values of row r of a piece, zeros behind them; x itself where nothing has to be done.
  const float* read(const Piece& piece, std::int64_t r) const {
    float* values = values_.row(r);
    const std::int64_t room = padded(piece.count);
    if (call_.pieces_.side_by_side()) {
      if constexpr (std::is_same_v<C, float>) rotate<float>(values, 1, values, piece.count);
    } else {
      const S* x = first_of(piece, r);
      if constexpr (std::is_same_v<S, float>) {
        if (!call_.rotation_.any() && element_stride() == 1 && piece.count == room) return x;
      }
      rotate(x, element_stride(), values, piece.count);
    }
    std::fill(values + piece.count, values + room, 0.0f);
    return values;
  }

 private:
  std::int64_t element_stride() const { return call_.pieces_.rows().element_stride; }
  const S* first_of(const Piece& piece, std::int64_t r) const {
    return static_cast<const S*>(call_.problem_.x) + call_.pieces_.rows().offset(piece.row + r) +
           piece.first * element_stride();
  }

  template <class In>
  void rotate(const In* x, std::int64_t stride, float* values, std::int64_t count) const {
    const HostRotation& rotation = call_.rotation_;
    if (!rotation.any()) {
      if (static_cast<const void*>(x) != values) read_strided(x, stride, values, count);
      return;
    }
    C* target = nullptr;
    if constexpr (std::is_same_v<C, float>) {
      target = values;
    } else {
      target = wide_;
    }
    if (stride == 1 && signs_ == nullptr) {
      rotation.apply(x, target, count, work_);
    } else {
      if (static_cast<const void*>(x) != target) read_strided(x, stride, target, count);
      if (signs_ != nullptr) rotation.apply_signs(signs_, target, count);
      rotation.apply<C, C>(target, target, count, work_);
    }
    if constexpr (!std::is_same_v<C, float>) read_strided(wide_, 1, values, count);
  }

  const HostQuantize& call_;
  PieceValues values_;
  C* wide_ = nullptr;
  C* signs_ = nullptr;
  C* work_ = nullptr;
};

HostQuantize::HostQuantize(const detail::QuantizeProblem& problem)
    : problem_(problem),
      rotation_(problem.group, problem.signs, false),
      pieces_(problem.q, problem.x_rows, problem.group, static_cast<std::int64_t>(size_of(problem.scalar)),
              problem.group == 0 || problem.scalar != ScalarType::float64) {}

void HostQuantize::start(QuantizeState& state) const {
  detail::StartQuantize{&state, problem_.statistics}(0);
}

void HostQuantize::set_global_scale(QuantizeState& state) const {
  const detail::SetGlobalScale set{&state,
                                   problem_.statistics,
                                   problem_.global_scale,
                                   problem_.global_source,
                                   problem_.q.scaling.rule,
                                   problem_.given_scale};
  if (set.count() > 0) set(0);
}

void HostQuantize::clear_scale_padding() const {
  const QuantizedLayout& layout = problem_.q.layout;
  if (layout.scale_layout == ScaleLayout::row_major) return;
  for (std::int64_t row = 0; row < layout.scale_rows; ++row)
    for (std::int64_t b = row < layout.rows ? layout.blocks : 0; b < layout.scale_columns; ++b)
      problem_.scales[layout.scale_index(row, b)] = 0;
}

/// What a task works in: the values, and room for the codes and scales of a piece.
template <class S>
struct HostQuantize::Arrays {
  Arrays(const HostQuantize& call, Carver& carver)
      : reader(call, carver), codes(carver.take<std::uint8_t>(padded(call.pieces_.columns()))) {
    const std::int64_t room = padded(call.pieces_.columns());
    if (call.problem_.stochastic) random = carver.take<std::uint8_t>(ceil_div(room, 256) * 256);
    scales = take_scales(carver, ceil_div(room, call.pieces_.block()));
    rows = carver.take<const float*>(call.pieces_.most_rows());
  }
  Reader<S> reader;
  std::uint8_t* codes;
  const float** rows = nullptr;  ///< where the values of each row are
  std::uint8_t* random = nullptr;
  simd::PieceScales scales;
};

/// What the pieces of a task add up to.
struct HostQuantize::Sums {
  simd::PieceCounts special;
  std::uint64_t zero_scale_blocks = 0;
  float amax = 0.0f;

  void add(const simd::PieceCounts& counts) {
    special.nan += counts.nan;
    special.infinite += counts.infinite;
    special.saturated += counts.saturated;
  }
};

void HostQuantize::find_amax(std::int64_t task, QuantizeState& state) const {
  detail::visit_float_scalar(problem_.scalar, [&]<class S>(std::type_identity<S>) {
    const auto reader = carve<Reader<S>>(*this);
    reader.prepare();
    float amax = 0.0f;
    for (std::int64_t i = pieces_.first_piece(task); i < pieces_.last_piece(task); ++i) {
      const Piece piece = pieces_.piece(i);
      reader.start(piece);
      for (std::int64_t r = 0; r < piece.rows; ++r)
        amax = std::max(amax, simd::finite_amax(reader.read(piece, r), padded(piece.count)));
    }
    detail::raise_amax<Atomics>(&state.amax_bits, amax);
  });
}

void HostQuantize::store_scales(const Piece& piece, std::int64_t r, const simd::PieceScales& scales) const {
  const QuantizedLayout& layout = pieces_.q().layout;
  const std::int64_t first = piece.first / pieces_.block();
  const std::int64_t blocks = ceil_div(piece.count, pieces_.block());
  const std::int64_t row = piece.row + r;
  const std::int64_t place = layout.scale_index(row, first);
  if (layout.scale_element_bytes == 4) {
    std::memcpy(reinterpret_cast<float*>(problem_.scales) + place, scales.stored,
                static_cast<std::size_t>(blocks) * sizeof(float));
  } else if (layout.scale_layout == ScaleLayout::row_major) {
    std::memcpy(problem_.scales + place, scales.codes, static_cast<std::size_t>(blocks));
  } else {
    for (std::int64_t b = 0; b < blocks; ++b)
      problem_.scales[layout.scale_index(row, first + b)] = scales.codes[b];
  }
}

template <class S>
void HostQuantize::store_codes(const Piece& piece, std::int64_t r, const float* values,
                               const Arrays<S>& arrays, Sums& sums) const {
  const detail::QuantizedRows& q = pieces_.q();
  const std::int64_t block = pieces_.block();
  const std::int64_t room = padded(piece.count);
  if (problem_.stochastic) {
    const std::int64_t row_runs = ceil_div(q.layout.columns, detail::run_length);
    simd::random_bytes(problem_.random, (piece.row + r) * row_runs + piece.first / detail::run_length,
                       room / detail::run_length, arrays.random);
  }
  simd::make_codes(q.scaling, values, room, block, arrays.scales.factors, arrays.random, arrays.codes);
  std::memcpy(problem_.payload + pieces_.first_byte(piece, r), arrays.codes,
              static_cast<std::size_t>(pieces_.bytes(piece)));
  if (problem_.statistics != nullptr)
    sums.add(simd::count_special(q.scaling, values, room, block, arrays.scales.factors));
  if (problem_.amax != nullptr && !problem_.computes_global())
    sums.amax = std::max(sums.amax, simd::finite_amax(values, room));
}

template <class S>
void HostQuantize::quantize_piece(const Piece& piece, const Arrays<S>& arrays,
                                  const detail::GlobalScale& global, Sums& sums) const {
  const detail::BlockScaling& scaling = pieces_.q().scaling;
  const std::int64_t block = pieces_.block();
  const std::int64_t room = padded(piece.count);
  const std::int64_t blocks = ceil_div(room, block);
  const std::int64_t sharing = pieces_.q().square_rows > 0 ? piece.rows : 1;  // rows with the same scales
  arrays.reader.start(piece);
  for (std::int64_t first = 0; first < piece.rows; first += sharing) {
    std::fill_n(arrays.scales.stored, simd::scale_room(blocks), 0.0f);
    for (std::int64_t r = first; r < first + sharing; ++r) {
      arrays.rows[r] = arrays.reader.read(piece, r);
      simd::raise_block_amax(scaling, arrays.rows[r], room, block, arrays.scales.stored);
    }
    sums.zero_scale_blocks += simd::make_scales(scaling, global, blocks, arrays.scales);
    for (std::int64_t r = first; r < first + sharing; ++r) {
      store_scales(piece, r, arrays.scales);
      store_codes(piece, r, arrays.rows[r], arrays, sums);
    }
  }
}

void HostQuantize::quantize_task(std::int64_t task, QuantizeState& state) const {
  Sums sums;
  detail::visit_float_scalar(problem_.scalar, [&]<class S>(std::type_identity<S>) {
    const auto arrays = carve<Arrays<S>>(*this);
    arrays.reader.prepare();
    for (std::int64_t i = pieces_.first_piece(task); i < pieces_.last_piece(task); ++i)
      quantize_piece(pieces_.piece(i), arrays, state.global, sums);
  });
  detail::raise_amax<Atomics>(&state.amax_bits, sums.amax);
  QuantizeStatistics* statistics = problem_.statistics;
  if (statistics == nullptr) return;
  Atomics::add(&statistics->nan, sums.special.nan);
  Atomics::add(&statistics->infinite, sums.special.infinite);
  Atomics::add(&statistics->saturated, sums.special.saturated);
  Atomics::add(&statistics->zero_scale_blocks, sums.zero_scale_blocks);
}

namespace {

/// Square blocks have their scales in each row.
detail::QuantizedRows every_row(detail::QuantizedRows q) {
  q.square_rows = 0;
  return q;
}

}  // namespace

HostDequantize::HostDequantize(const detail::DequantizeProblem& problem)
    : problem_(problem),
      rotation_(problem.group, problem.signs, true),
      pieces_(every_row(problem.q), problem.y_rows, problem.group,
              static_cast<std::int64_t>(size_of(problem.scalar)), true) {}

/// What a task works in.
struct HostDequantize::Arrays {
  Arrays(const HostDequantize& call, Carver& carver)
      : values(call.pieces_, carver), codes(carver.take<std::uint8_t>(padded(call.pieces_.columns()))) {
    const std::int64_t columns = call.pieces_.columns();
    factors = carver.take<float>(ceil_div(padded(columns), call.pieces_.block()));
    if (call.rotation_.has_signs()) signs = carver.take<float>(call.rotation_.sign_period());
    work = carver.take<float>(static_cast<std::int64_t>(call.rotation_.work_elements<float, float>()));
  }
  PieceValues values;
  std::uint8_t* codes;
  float* factors = nullptr;
  float* signs = nullptr;
  float* work = nullptr;
};

void HostDequantize::decode_row(const Piece& piece, std::int64_t r, const Arrays& arrays,
                                float* values) const {
  const detail::QuantizedRows& q = pieces_.q();
  const std::int64_t block = pieces_.block();
  const std::int64_t room = padded(piece.count);
  const std::int64_t first = piece.first / block;
  const std::int64_t blocks = ceil_div(piece.count, block);
  const float global = problem_.global_scale != nullptr ? *problem_.global_scale : 1.0f;
  std::fill(arrays.factors + blocks, arrays.factors + ceil_div(room, block), 0.0f);
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t place = q.layout.scale_index(piece.row + r, first + b);
    arrays.factors[b] = q.layout.scale_element_bytes == 4
                            ? reinterpret_cast<const float*>(problem_.scales)[place]
                            : q.scaling.decoded(problem_.scales[place], 0.0f, global);
  }
  const auto bytes = static_cast<std::size_t>(pieces_.bytes(piece));
  std::memcpy(arrays.codes, problem_.payload + pieces_.first_byte(piece, r), bytes);
  std::fill(arrays.codes + bytes, arrays.codes + room, std::uint8_t{0});
  simd::decode_codes(detail::element_format(q.scaling.format), arrays.codes, room, block, arrays.factors,
                     values);
  if (rotation_.any()) rotation_.apply<float, float>(values, values, piece.count, arrays.work);
  if (arrays.signs != nullptr) rotation_.apply_signs(arrays.signs, values, piece.count);
}

void HostDequantize::dequantize_task(std::int64_t task) const {
  detail::visit_float_scalar(problem_.scalar, [&]<class S>(std::type_identity<S>) {
    const auto arrays = carve<Arrays>(*this);
    if (arrays.signs != nullptr) rotation_.make_signs(arrays.signs);
    const RowIndex& rows = pieces_.rows();
    const std::int64_t stride = rows.element_stride;
    for (std::int64_t i = pieces_.first_piece(task); i < pieces_.last_piece(task); ++i) {
      const Piece piece = pieces_.piece(i);
      S* first = static_cast<S*>(problem_.y) + piece.first * stride;
      for (std::int64_t r = 0; r < piece.rows; ++r) {
        S* y = first + rows.offset(piece.row + r);
        float* values = arrays.values.row(r);
        if constexpr (std::is_same_v<S, float>) {
          if (stride == 1 && piece.count == padded(piece.count)) values = y;
        }
        decode_row(piece, r, arrays, values);
        if (!pieces_.side_by_side()) write_strided(values, y, stride, piece.count);
      }
      if (pieces_.side_by_side()) arrays.values.scatter(first + rows.offset(piece.row), stride, piece);
    }
  });
}

}  // namespace papillon::generic
