// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kronecker products on a tile: which kernel takes which factors, and the walk over the tile.

#if defined(PAPILLON_SIMD_STEPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef PAPILLON_SIMD_STEPS_INL
#undef PAPILLON_SIMD_STEPS_INL
#else
#define PAPILLON_SIMD_STEPS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "papillon/generic/simd/kronecker.hpp"
#include "papillon/generic/simd/lines-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace papillon::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Points that are worked on while they lie in the nearest cache: what one step reads and writes is half of
/// it. (Measured on Zen 5, 48 KiB of L1.)
template <class R>
inline constexpr std::int64_t near_points = (std::int64_t{8} << 10) / static_cast<std::int64_t>(sizeof(R));
/// Points of a block at most that still go through all steps together.
template <class R>
inline constexpr std::int64_t most_near_points = 2 * near_points<R>;
/// Points of a line that are turned into lanes at most.
template <class R>
inline constexpr std::int64_t most_line_points = 4096 * 4 / static_cast<std::int64_t>(sizeof(R));

/// Makes the plan of a product by following the extents through its steps.
template <class R>
class Planner {
 public:
  Planner(const TileProduct<R>& product, TilePlan& plan) : product_(product), plan_(plan) {
    for (int f = 0; f < product.count; ++f) extents_[f] = product.factors[f].columns;
  }

  void make() {
    plan_.count = 0;
    plan_.line_points = 0;
    plan_.points = plan_.points_before = points_from(0);
    plan_.split = -1;
    int end = 0;  // of the main steps; those between transposes come behind all of them
    TileStep inner[max_steps];
    int inner_end = 0;
    for (int step = 0; step < product_.count;) {
      if (plan_.split < 0) try_split(step, end);
      TileStep next = choose(step);
      if (next.kind == TileStep::Kind::registers) leave_for_blocks(step, next);
      if (next.kind == TileStep::Kind::lines) {
        next.inner_first = static_cast<std::int8_t>(inner_end);
        add_inner(next, inner, inner_end);
      } else {
        advance(step, next.count);
      }
      step += next.count;
      plan_.steps[end++] = next;
      plan_.points = std::max(plan_.points, points_from(0));
    }
    plan_.points_after = points_from(0);
    if (plan_.split < 0) plan_.split = end;
    plan_.count = end;
    for (int i = 0; i < inner_end; ++i) plan_.steps[end + i] = inner[i];
    for (int i = 0; i < end; ++i)
      plan_.steps[i].inner_first = static_cast<std::int8_t>(plan_.steps[i].inner_first + end);
    finish_blocks();
  }

 private:
  static constexpr int max_steps = static_cast<int>(detail::max_factors);

  std::int64_t product_over(int first, int last) const {
    std::int64_t points = 1;
    for (int f = first; f < last; ++f) points *= extents_[f];
    return points;
  }
  std::int64_t points_from(int first) const { return product_over(first, product_.count) * product_.width; }
  const TileFactor<R>& factor(int step) const { return product_.factors[product_.order[step]]; }

  void advance(int step, int count) {
    for (int i = step; i < step + count; ++i) extents_[product_.order[i]] = factor(i).rows;
  }

  /// Neighbouring factors from `step` on that fit registers with `run` >= lanes after the last.
  int in_registers(int step, std::int64_t width) const {
    if (product_.complex) return 0;
    const std::int64_t extent = factor(step).rows;
    const int most = most_in_registers(extent);
    const int first = product_.order[step];
    if (most == 0) return 0;
    int count = 0;
    while (step + count < product_.count && product_.order[step + count] == first + count &&
           factor(step + count).rows == extent && factor(step + count).columns == extent &&
           product_over(first + count + 1, product_.count) * width >= lanes<R>)
      ++count;
    // Larger ones, one at a time, gain where the blocks of a matrix product are too short.
    if (most == 1 && product_over(first + 1, product_.count) * width >= 2 * lanes<R>) return 0;
    const int walks = (count + most - 1) / most;
    return count == 0 ? 0 : (count + walks - 1) / walks;
  }

  TileStep choose(int step) const {
    const int f = product_.order[step];
    const std::int64_t run = points_from(f + 1);
    TileStep next{TileStep::Kind::entries_times_vectors,
                  static_cast<std::int8_t>(step),
                  1,
                  0,
                  0,
                  product_over(0, f),
                  run,
                  0};
    if (const int count = in_registers(step, product_.width); count > 0) {
      next.kind = TileStep::Kind::registers;
      next.count = static_cast<std::int8_t>(count);
      next.run = points_from(f + count);
    } else if (run == 1 && factor(step).rows >= lanes<R> && factor(step).columns_first != nullptr) {
      next.kind = TileStep::Kind::vectors_times_entries;
    } else if (run < lanes<R>) {
      lines(step, next);
    }
    return next;
  }

  /// Where the last factors fill the lanes, as many of the same size before them go with them.
  void leave_for_blocks(int step, TileStep& next) const {
    const std::int64_t extent = factor(step).rows;
    int half = 1;
    std::int64_t filled = extent;
    for (; filled < lanes<R>; filled *= extent) ++half;
    const int left = product_.count - step;
    if (filled != lanes<R> || half < 2 || product_.width != 1 || left < 2 * half ||
        product_.order[step] != step)
      return;
    for (int i = step; i < product_.count; ++i) {
      if (product_.order[i] != i || factor(i).rows != extent || factor(i).columns != extent) return;
    }
    if (left == 2 * half) {
      next.kind = TileStep::Kind::blocks_in_registers;
      next.count = static_cast<std::int8_t>(left);
    } else {
      const int most = most_in_registers(extent);
      const int rest = left - 2 * half;
      const int walks = (rest + most - 1) / most;
      next.count = static_cast<std::int8_t>((rest + walks - 1) / walks);
      next.run = points_from(product_.order[step] + next.count);
    }
  }

  /// Whether the factors from that of `step` on are taken with lines in lanes, and which steps that covers.
  void lines(int step, TileStep& next) const {
    const int f = product_.order[step];
    Planner after = *this;
    std::int64_t most = points_from(f);
    int count = 0;
    for (; step + count < product_.count && product_.order[step + count] >= f; ++count) {
      after.advance(step + count, 1);
      if (after.points_from(f) > most_line_points<R>) break;
      most = std::max(most, after.points_from(f));
    }
    if (count == 0 || most > most_line_points<R>) return;
    next.kind = TileStep::Kind::lines;
    next.count = static_cast<std::int8_t>(count);
    next.run = points_from(f);
  }

  /// The steps between the transposes of `lines`.
  void add_inner(TileStep& lines, TileStep* inner, int& end) {
    const int f = product_.order[lines.first];
    const int last = lines.first + lines.count;
    std::int64_t most = points_from(f);
    for (int step = lines.first; step < last;) {
      const int g = product_.order[step];
      TileStep next{TileStep::Kind::entries_times_vectors,
                    static_cast<std::int8_t>(step),
                    1,
                    0,
                    0,
                    product_over(f, g),
                    points_from(g + 1) * lanes<R>,
                    0};
      const int count = std::min(in_registers(step, product_.width * lanes<R>), last - step);
      if (count > 0) {
        next.kind = TileStep::Kind::registers;
        next.count = static_cast<std::int8_t>(count);
        next.run = points_from(g + count) * lanes<R>;
      }
      advance(step, next.count);
      step += next.count;
      most = std::max(most, points_from(f));
      inner[end++] = next;
      ++lines.inner_count;
    }
    lines.run_after = points_from(f);
    plan_.line_points = std::max(plan_.line_points, most);
    const TileStep& only = inner[end - 1];
    const bool whole_line = only.outer == 1 && only.run == lanes<R> && lines.run == lanes<R>;
    if (lines.inner_count == 1 && only.kind == TileStep::Kind::registers && whole_line)
      lines.kind = TileStep::Kind::lines_in_registers;
  }

  /// Whether what is left, from `step` on, is done block by block in the nearest cache: all factors slower
  /// than those left are done.
  void try_split(int step, int end) {
    int slowest = product_.count;
    for (int i = step; i < product_.count; ++i) slowest = std::min(slowest, product_.order[i]);
    Planner after = *this;
    std::int64_t most = points_from(slowest);
    for (int i = step; i < product_.count; ++i) {
      after.advance(i, 1);
      most = std::max(most, after.points_from(slowest));
    }
    if (most > most_near_points<R>) return;
    plan_.split = end;
    plan_.blocks = product_over(0, slowest);
    plan_.block = most;
    plan_.block_before = points_from(slowest);
    slowest_ = slowest;
  }

  void finish_blocks() {
    if (plan_.split < plan_.count) plan_.block_after = points_from(slowest_);
    for (int i = plan_.split; i < plan_.count; ++i)
      plan_.steps[i].outer /= std::max<std::int64_t>(plan_.blocks, 1);
  }

  const TileProduct<R>& product_;
  TilePlan& plan_;
  std::int64_t extents_[detail::max_factors];
  int slowest_ = 0;
};

/// Values, and where the imaginary parts lie behind them.
template <class R>
struct Values {
  R* re;
  std::int64_t plane;
  Values at(std::int64_t offset) const { return {re + offset, plane}; }
};

/// Runs the steps of a plan.
template <class R>
class TileRun {
 public:
  TileRun(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines, R* scratch)
      : product_(product), plan_(plan) {
    const int planes = product.complex ? 2 : 1;
    const auto take = [&](std::int64_t points) {
      const Values<R> taken{scratch, points};
      scratch += points * planes;
      return taken;
    };
    for (auto& buffer : lanes_) buffer = take(whole_vectors(plan.line_points * lanes<R>));
    for (auto& buffer : near_) buffer = take(whole_vectors(chunk_blocks(plan) * plan.block));
    for (auto& buffer : far_) buffer = take(far_points(plan, lines));
  }

  static std::size_t scratch(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines) {
    const std::int64_t points = whole_vectors(plan.line_points * lanes<R>) +
                                whole_vectors(chunk_blocks(plan) * plan.block) + far_points(plan, lines);
    return static_cast<std::size_t>(2 * points * (product.complex ? 2 : 1));
  }

  void run(std::int64_t lines, Values<const R> from, Values<R> to) const {
    if (plan_.split == plan_.count)
      return steps(0, plan_.count, lines, from, to, far_, lines * plan_.points_before);
    if (plan_.split > 0) {
      steps(0, plan_.split, lines, from, far_[plan_.split % 2], far_, lines * plan_.points_before);
      from = {far_[plan_.split % 2].re, far_[plan_.split % 2].plane};
    }
    const std::int64_t blocks = lines * plan_.blocks;
    const std::int64_t chunk = chunk_blocks(plan_);
    for (std::int64_t first = 0; first < blocks; first += chunk)
      steps(plan_.split, plan_.count, std::min(chunk, blocks - first), from.at(first * plan_.block_before),
            to.at(first * plan_.block_after), near_, plan_.split == 0 ? chunk * plan_.block_before : 0);
  }

 private:
  /// Up to a cache line.
  static std::int64_t whole_vectors(std::int64_t points) {
    constexpr std::int64_t line = cache_line_bytes / static_cast<std::int64_t>(sizeof(R));
    return (points + line - 1) / line * line;
  }

  /// Of a buffer for all of the tile.
  static std::int64_t far_points(const TilePlan& plan, std::int64_t lines) {
    const bool needed = plan.split > 0 && plan.count > 1;
    return needed ? whole_vectors(lines * plan.points) : 0;
  }

  /// Blocks that go through the steps from `split` on together.
  static std::int64_t chunk_blocks(const TilePlan& plan) {
    if (plan.split == plan.count) return 0;
    const std::int64_t fitting =
        std::max<std::int64_t>(1, near_points<R> / std::max<std::int64_t>(plan.block, 1));
    return fitting >= lanes<R> ? fitting / lanes<R> * lanes<R> : fitting;
  }

  /// Steps first … last - 1 on `lines` lines or blocks, through buffers in turn.
  void steps(int first, int last, std::int64_t lines, Values<const R> from, Values<R> to,
             const Values<R> (&buffers)[2], std::int64_t ahead) const {
    for (int s = first; s < last; ++s) {
      const Values<R> target = s + 1 == last ? to : buffers[(s + 1) % 2];
      step(plan_.steps[s], lines, from, target, s == first ? ahead : 0);
      from = {target.re, target.plane};
    }
  }

  void step(const TileStep& s, std::int64_t lines, Values<const R> from, Values<R> to,
            std::int64_t ahead) const {
    const std::int64_t outer = lines * s.outer;
    switch (s.kind) {
      case TileStep::Kind::entries_times_vectors:
        return entries_times_vectors(s, outer, from, to);
      case TileStep::Kind::vectors_times_entries:
        return vectors_times_entries(s, outer, from, to);
      case TileStep::Kind::registers: {
        const R* entries[max_count];
        visit_small_factors(collect(s, entries), s.count, [&]<int P, int Count>() {
          if (ahead > 0) {
            factors_in_registers<P, Count, true, R>(entries, from.re, to.re, outer, s.run, ahead);
          } else {
            factors_in_registers<P, Count, false, R>(entries, from.re, to.re, outer, s.run, 0);
          }
        });
        return;
      }
      case TileStep::Kind::blocks_in_registers: {
        const R* entries[2 * max_count];
        visit_small_factors(collect(s, entries), s.count / 2, [&]<int P, int Count>() {
          if constexpr (power(P, Count) == lanes<R>)
            lines_in_registers<P, Count, true, R>(entries, from.re, to.re, outer * lanes<R>);
        });
        return;
      }
      case TileStep::Kind::lines:
        return in_lanes(s, outer, from, to);
      case TileStep::Kind::lines_in_registers: {
        const TileStep& inner = plan_.steps[s.inner_first];
        const R* entries[max_count];
        const std::int64_t whole = outer / lanes<R> * lanes<R>;
        visit_small_factors(collect(inner, entries), inner.count, [&]<int P, int Count>() {
          if constexpr (power(P, Count) == lanes<R>)
            lines_in_registers<P, Count, false, R>(entries, from.re, to.re, whole);
        });
        return in_lanes(s, outer - whole, from.at(whole * lanes<R>), to.at(whole * lanes<R>));
      }
    }
  }

  static constexpr int max_count = 4;

  /// The entries of the step's factors, and their extent.
  std::int64_t collect(const TileStep& s, const R** entries) const {
    for (int i = 0; i < s.count; ++i) entries[i] = factor(s.first + i).values;
    return factor(s.first).rows;
  }

  const TileFactor<R>& factor(int step) const { return product_.factors[product_.order[step]]; }

  void entries_times_vectors(const TileStep& s, std::int64_t outer, Values<const R> from,
                             Values<R> to) const {
    const TileFactor<R>& f = factor(s.first);
    if (f.columns == 0) return zero(outer * f.rows * s.run, to);
    Operands<R> o{f.values, f.columns, 1,       f.rows * f.columns, from.re, s.run, from.plane,
                  to.re,    s.run,     to.plane};
    for (std::int64_t i = 0; i < outer; ++i) {
      if (product_.complex) {
        matrix_product<Numbers::complex_entries>(o, f.rows, s.run, f.columns);
      } else {
        matrix_product<Numbers::real>(o, f.rows, s.run, f.columns);
      }
      o.b += f.columns * s.run;
      o.to += f.rows * s.run;
    }
  }

  void vectors_times_entries(const TileStep& s, std::int64_t outer, Values<const R> from,
                             Values<R> to) const {
    const TileFactor<R>& f = factor(s.first);
    if (f.columns == 0) return zero(outer * f.rows, to);
    const Operands<R> o{from.re, f.columns,          1,     from.plane, f.columns_first,
                        f.rows,  f.rows * f.columns, to.re, f.rows,     to.plane};
    if (product_.complex) {
      matrix_product<Numbers::complex_vectors>(o, outer, f.rows, f.columns);
    } else {
      matrix_product<Numbers::real>(o, outer, f.rows, f.columns);
    }
  }

  void zero(std::int64_t points, Values<R> to) const {
    std::fill_n(to.re, points, R{0});
    if (product_.complex) std::fill_n(to.re + to.plane, points, R{0});
  }

  void in_lanes(const TileStep& s, std::int64_t lines, Values<const R> from, Values<R> to) const {
    constexpr std::int64_t l = lanes<R>;
    const int planes = product_.complex ? 2 : 1;
    for (std::int64_t first = 0; first < lines; first += l) {
      const std::int64_t count = std::min(l, lines - first);
      for (int p = 0; p < planes; ++p)
        lines_to_lanes(from.re + p * from.plane + first * s.run, s.run, count,
                       lanes_[0].re + p * lanes_[0].plane);
      int now = 0;
      for (int i = 0; i < s.inner_count; ++i, now ^= 1) {
        const Values<const R> source{lanes_[now].re, lanes_[now].plane};
        step(plan_.steps[s.inner_first + i], 1, source, lanes_[now ^ 1], 0);
      }
      for (int p = 0; p < planes; ++p)
        lanes_to_lines(lanes_[now].re + p * lanes_[now].plane, s.run_after, count,
                       to.re + p * to.plane + first * s.run_after);
    }
  }

  const TileProduct<R>& product_;
  const TilePlan& plan_;
  Values<R> lanes_[2];
  Values<R> near_[2];
  Values<R> far_[2];
};

template <class R>
void plan_tile(const TileProduct<R>& product, TilePlan& plan) {
  Planner<R>(product, plan).make();
}
template <class R>
std::size_t tile_scratch_elements(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines) {
  return TileRun<R>::scratch(product, plan, lines);
}
template <class R>
void run_tile(const TileProduct<R>& product, const TilePlan& plan, std::int64_t lines, const R* from,
              std::int64_t from_plane, R* to, std::int64_t to_plane, R* scratch) {
  TileRun<R>(product, plan, lines, scratch).run(lines, {from, from_plane}, {to, to_plane});
}

}  // namespace papillon::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PAPILLON_SIMD_STEPS_INL
