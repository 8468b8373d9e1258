// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_gemm.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "papillon/core/half.hpp"
#include "papillon/generic/gemm_blocks.hpp"
#include "papillon/generic/simd/gemm.hpp"
#include "papillon/generic/simd/kernels.hpp"
#include "papillon/generic/thread_scratch.hpp"

namespace papillon::generic {
namespace {

/// Operations below which sharing work among threads costs more than it gains: starting a team takes about
/// 3 µs.
constexpr double serial_operations = 2e6;
/// Rows and columns of a product that are packed at a time, at most.
constexpr std::int64_t chunk_lines = 2048;
/// Bytes of the points of a line that are packed at a time: a panel of A stays in the nearest cache. (These
/// sizes were measured on Zen 5: 48 KiB of L1, 1 MiB of L2.)
constexpr std::int64_t line_bytes = 3072;
/// Bytes of panels of B that a task goes through for every panel of A: they stay in the second cache.
constexpr std::int64_t task_bytes = std::int64_t{512} << 10;
/// Bytes that a task packs.
constexpr std::int64_t pack_bytes = std::int64_t{256} << 10;
/// Sums of 16-bit C that are kept at a time.
constexpr std::int64_t kept_sums = std::int64_t{1} << 22;
constexpr std::int64_t tasks_per_thread = 12;

std::int64_t divide_up(std::int64_t value, std::int64_t parts) { return (value + parts - 1) / parts; }
std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

/// `total` in equal steps of `most` at most, each a multiple of `multiple`.
std::int64_t even_step(std::int64_t total, std::int64_t most, std::int64_t multiple) {
  const std::int64_t parts = std::max<std::int64_t>(divide_up(total, std::max(most, multiple)), 1);
  return std::max(round_up(divide_up(total, parts), multiple), multiple);
}

template <class T>
T factor_of(std::complex<double> value) {
  if constexpr (simd::RealSum<T>::complex) {
    return T(value);
  } else {
    return static_cast<T>(value.real());
  }
}

/// A rectangle of the rows and columns of a product, and so of every block of C.
struct Chunk {
  std::int64_t row, rows;
  std::int64_t column, columns;
};

/// Multiplies elements S into C of O; sums are T.
template <class S, class O>
class HostGemm {
  using R = typename simd::RealSum<S>::type;
  using T = std::conditional_t<simd::RealSum<S>::complex, S, R>;
  static constexpr std::int64_t parts = simd::packed_parts<S>;
  /// Whether C's own elements cannot hold sums.
  static constexpr bool keeps_sums = !std::is_same_v<T, O>;

 public:
  HostGemm(const detail::GemmProblem& problem, const detail::GemmPlan& plan)
      : problem_(problem),
        products_(block_products(problem, plan)),
        block_m_(plan.block_m),
        block_n_(plan.block_n),
        grid_n_(plan.grid_n),
        tile_(simd::GemmKernels<T>::tile()) {
    if (wants_transposition()) transpose(plan);
    choose_steps(plan.grid_m * plan.grid_n);
  }

  void run(const HostLoop& loop) const {
    // Small products side by side, large ones one after the other.
    if (problem_.batch > 1 && 2 * problem_.batch >= loop.threads() && small()) {
      loop.run(problem_.batch, [this](std::int64_t i) { multiply(SerialLoop(), i); });
    } else {
      for (std::int64_t i = 0; i < problem_.batch; ++i) multiply(loop, i);
    }
  }

 private:
  /// Packed panels of both operands, and the sums of a chunk.
  struct Memory {
    R* a;
    R* b;
    T* sums;
  };

  bool small() const {
    return 2.0 * static_cast<double>(problem_.m) * static_cast<double>(problem_.n) *
               static_cast<double>(problem_.k) <
           2e8;
  }

  /// Vectors hold neighbours of a row of C: better those that are neighbours in memory, and many.
  bool wants_transposition() const {
    if (problem_.n < tile_.columns && problem_.m > problem_.n) return true;
    if (problem_.m < tile_.columns && problem_.n > problem_.m) return false;
    return problem_.c_column_stride != 1 && problem_.c_row_stride == 1;
  }

  void transpose(const detail::GemmPlan& plan) {
    problem_ = detail::transposed(problem_);
    block_m_ = plan.block_n;
    block_n_ = plan.block_m;
    grid_n_ = plan.grid_m;
    for (BlockProduct& product : products_) {
      std::swap(product.a, product.b);
      std::swap(product.m, product.n);
      for (std::vector<GemmBlock>* blocks : {&product.a, &product.b, &product.c}) {
        for (GemmBlock& block : *blocks) {
          std::swap(block.row, block.column);
          std::swap(block.rows, block.columns);
        }
      }
    }
  }

  void choose_steps(std::int64_t blocks) {
    std::int64_t most = chunk_lines;
    if constexpr (keeps_sums)
      while (most > tile_.columns && most * most * blocks > kept_sums) most /= 2;
    chunk_m_ = even_step(block_m_, most, tile_.rows);
    chunk_n_ = even_step(block_n_, most, tile_.columns);
    std::int64_t k = 1;
    for (const BlockProduct& product : products_) k = std::max(k, product.k);
    step_k_ = even_step(k, line_bytes / static_cast<std::int64_t>(sizeof(R)) / parts, 1);
    sums_ = keeps_sums ? chunk_m_ * chunk_n_ * blocks : 0;
  }

  Memory memory() const {
    const std::int64_t a = chunk_m_ * step_k_ * parts, b = chunk_n_ * step_k_ * parts;
    const auto aligned = [](std::int64_t count) { return round_up(count, 32); };
    auto* const data = static_cast<R*>(
        thread_scratch(static_cast<std::size_t>(aligned(a) + aligned(b) + sums_ * parts) * sizeof(R)));
    return {data, data + aligned(a), reinterpret_cast<T*>(data + aligned(a) + aligned(b))};
  }

  void multiply(const HostLoop& loop, std::int64_t batch) const {
    const Memory memory = this->memory();
    for (std::int64_t row = 0; row < block_m_; row += chunk_m_) {
      for (std::int64_t column = 0; column < block_n_; column += chunk_n_) {
        const Chunk chunk{row, std::min(chunk_m_, block_m_ - row), column,
                          std::min(chunk_n_, block_n_ - column)};
        for (const BlockProduct& product : products_) multiply(loop, product, chunk, batch, memory);
        if constexpr (keeps_sums) write_sums(loop, chunk, batch, memory);
      }
    }
  }

  /// One product's part in a chunk.
  void multiply(const HostLoop& loop, const BlockProduct& product, const Chunk& whole, std::int64_t batch,
                const Memory& memory) const {
    const Chunk chunk{whole.row, std::clamp(product.m - whole.row, std::int64_t{0}, whole.rows), whole.column,
                      std::clamp(product.n - whole.column, std::int64_t{0}, whole.columns)};
    std::vector<simd::GemmTarget<T>> targets = this->targets(product, whole, batch, memory);
    for (const simd::GemmTarget<T>& target : targets)
      if (target.first) start_rest(target, chunk);
    if (chunk.rows == 0 || chunk.columns == 0) return;
    for (std::int64_t point = 0; point < product.k; point += step_k_) {
      const std::int64_t points = std::min(step_k_, product.k - point);
      pack(loop, product, chunk, batch, point, points, memory);
      multiply_panels(loop, chunk, points, targets, memory);
      for (simd::GemmTarget<T>& target : targets) target.first = false;
    }
  }

  std::int64_t row_stride() const { return keeps_sums ? chunk_n_ : problem_.c_row_stride; }
  std::int64_t column_stride() const { return keeps_sums ? 1 : problem_.c_column_stride; }
  T beta() const { return keeps_sums ? T(0) : factor_of<T>(problem_.beta); }

  /// The sums of a block of C.
  T* sums_of(const GemmBlock& block, const Memory& memory) const {
    return memory.sums + (block.row / block_m_ * grid_n_ + block.column / block_n_) * chunk_m_ * chunk_n_;
  }

  O* c_of(const GemmBlock& block, const Chunk& chunk, std::int64_t batch) const {
    return static_cast<O*>(problem_.c) + batch * problem_.c_batch_stride +
           (block.row + chunk.row) * problem_.c_row_stride +
           (block.column + chunk.column) * problem_.c_column_stride;
  }

  std::vector<simd::GemmTarget<T>> targets(const BlockProduct& product, const Chunk& chunk,
                                           std::int64_t batch, const Memory& memory) const {
    std::vector<simd::GemmTarget<T>> result;
    for (const GemmBlock& block : product.c) {
      simd::GemmTarget<T> target;
      if constexpr (keeps_sums) {
        target.data = sums_of(block, memory);
      } else {
        target.data = c_of(block, chunk, batch);
      }
      target.rows = std::min(block.rows - chunk.row, chunk.rows);
      target.columns = std::min(block.columns - chunk.column, chunk.columns);
      target.coefficient = factor_of<T>(problem_.alpha) * static_cast<R>(block.coefficient);
      target.first = block.first;
      if (target.rows > 0 && target.columns > 0) result.push_back(target);
    }
    return result;
  }

  /// beta · C where the first product of a block has no rows or no columns.
  void start_rest(const simd::GemmTarget<T>& target, const Chunk& chunk) const {
    const T beta = this->beta();
    for (std::int64_t i = 0; i < target.rows; ++i) {
      for (std::int64_t j = i < chunk.rows ? chunk.columns : 0; j < target.columns; ++j) {
        T& at = target.data[i * row_stride() + j * column_stride()];
        at = beta == T(0) ? T(0) : beta * at;
      }
    }
  }

  void pack(const HostLoop& loop, const BlockProduct& product, const Chunk& chunk, std::int64_t batch,
            std::int64_t point, std::int64_t points, const Memory& memory) const {
    const detail::GemmOperand& a = problem_.a;
    const detail::GemmOperand& b = problem_.b;
    std::vector<simd::PanelTerm<S>> a_terms, b_terms;
    for (const GemmBlock& block : product.a)
      add_term(a_terms, a, batch, block.row + chunk.row, block.column + point, a.row_stride, a.column_stride,
               block.coefficient, block.rows - chunk.row, block.columns - point);
    for (const GemmBlock& block : product.b)
      add_term(b_terms, b, batch, block.column + chunk.column, block.row + point, b.column_stride,
               b.row_stride, block.coefficient, block.columns - chunk.column, block.rows - point);
    const std::int64_t a_lines = pack_step(tile_.rows, points), b_lines = pack_step(tile_.columns, points);
    const std::int64_t a_tasks = divide_up(chunk.rows, a_lines);
    loop.run(a_tasks + divide_up(chunk.columns, b_lines), [&](std::int64_t task) {
      if (task < a_tasks) {
        pack_lines(a_terms, {a.row_stride, a.column_stride, a.conjugate, chunk.rows, points, tile_.rows},
                   task * a_lines, a_lines, memory.a);
      } else {
        pack_lines(b_terms,
                   {b.column_stride, b.row_stride, b.conjugate, chunk.columns, points, tile_.columns},
                   (task - a_tasks) * b_lines, b_lines, memory.b);
      }
    });
  }

  static void add_term(std::vector<simd::PanelTerm<S>>& terms, const detail::GemmOperand& operand,
                       std::int64_t batch, std::int64_t line, std::int64_t point, std::int64_t line_stride,
                       std::int64_t point_stride, int coefficient, std::int64_t lines, std::int64_t points) {
    if (lines <= 0 || points <= 0) return;
    const S* data = static_cast<const S*>(operand.data) + batch * operand.batch_stride + line * line_stride +
                    point * point_stride;
    terms.push_back({data, static_cast<R>(coefficient), lines, points});
  }

  /// Lines that a task packs.
  static std::int64_t pack_step(int width, std::int64_t points) {
    const std::int64_t panel = width * points * parts * static_cast<std::int64_t>(sizeof(R));
    return std::max<std::int64_t>(pack_bytes / panel, 1) * width;
  }

  static void pack_lines(const std::vector<simd::PanelTerm<S>>& terms, simd::PanelShape shape,
                         std::int64_t first, std::int64_t lines, R* panels) {
    std::vector<simd::PanelTerm<S>> own;
    for (const simd::PanelTerm<S>& term : terms) {
      if (term.lines > first)
        own.push_back(
            {term.data + first * shape.line_stride, term.coefficient, term.lines - first, term.points});
    }
    shape.lines = std::min(lines, shape.lines - first);
    simd::PanelKernels<S>::pack(own.data(), static_cast<int>(own.size()), shape,
                                panels + first * shape.points * parts);
  }

  void multiply_panels(const HostLoop& loop, const Chunk& chunk, std::int64_t points,
                       const std::vector<simd::GemmTarget<T>>& targets, const Memory& memory) const {
    const std::int64_t panel = tile_.columns * points * parts * static_cast<std::int64_t>(sizeof(R));
    const std::int64_t column_step = even_step(
        chunk.columns, std::max<std::int64_t>(task_bytes / panel, 1) * tile_.columns, tile_.columns);
    const std::int64_t column_tasks = divide_up(chunk.columns, column_step);
    const std::int64_t wanted = loop.threads() > 1 ? tasks_per_thread * loop.threads() : 1;
    const std::int64_t row_step =
        even_step(chunk.rows, divide_up(chunk.rows, divide_up(wanted, column_tasks)), tile_.rows);
    const std::int64_t row_tasks = divide_up(chunk.rows, row_step);
    loop.run(row_tasks * column_tasks, [&](std::int64_t task) {
      simd::GemmPart<T> part;
      part.a = memory.a;
      part.b = memory.b;
      part.points = points;
      part.first_row = task % row_tasks * row_step;
      part.last_row = std::min(part.first_row + row_step, chunk.rows);
      part.first_column = task / row_tasks * column_step;
      part.last_column = std::min(part.first_column + column_step, chunk.columns);
      part.targets = targets.data();
      part.target_count = static_cast<int>(targets.size());
      part.row_stride = row_stride();
      part.column_stride = column_stride();
      part.beta = beta();
      simd::GemmKernels<T>::multiply(part);
    });
  }

  /// C = the sums + beta · C, rounded once.
  void write_sums(const HostLoop& loop, const Chunk& chunk, std::int64_t batch, const Memory& memory) const {
    const std::int64_t grid_m = divide_up(problem_.m, block_m_);
    loop.run(grid_m * chunk.rows, [&](std::int64_t task) {
      const std::int64_t row = task % chunk.rows;
      GemmBlock block;
      block.row = task / chunk.rows * block_m_;
      if (block.row + chunk.row + row >= problem_.m) return;
      for (block.column = 0; block.column + chunk.column < problem_.n; block.column += block_n_) {
        const std::int64_t columns = std::min(chunk.columns, problem_.n - block.column - chunk.column);
        write_row(sums_of(block, memory) + row * chunk_n_, columns,
                  c_of(block, chunk, batch) + row * problem_.c_row_stride);
      }
    });
  }

  void write_row(const T* sums, std::int64_t columns, O* c) const {
    const T beta = factor_of<T>(problem_.beta);
    const std::int64_t stride = problem_.c_column_stride;
    if (beta == T(0) && stride == 1) return simd::convert(sums, c, columns);
    for (std::int64_t j = 0; j < columns; ++j) {
      O& at = c[j * stride];
      at = O(beta == T(0) ? sums[j] : sums[j] + beta * static_cast<T>(at));
    }
  }

  detail::GemmProblem problem_;
  std::vector<BlockProduct> products_;
  std::int64_t block_m_, block_n_;
  std::int64_t grid_n_;
  simd::GemmTile tile_;
  std::int64_t chunk_m_ = 1, chunk_n_ = 1;
  std::int64_t step_k_ = 1;
  std::int64_t sums_ = 0;
};

/// C = beta · C.
template <class O>
void scale_c(const HostLoop& loop, const detail::GemmProblem& problem) {
  using T = std::conditional_t<simd::RealSum<O>::complex, O, typename simd::RealSum<O>::type>;
  const T beta = factor_of<T>(problem.beta);
  loop.run(problem.batch * problem.m, [&](std::int64_t task) {
    O* c = static_cast<O*>(problem.c) + task / problem.m * problem.c_batch_stride +
           task % problem.m * problem.c_row_stride;
    for (std::int64_t j = 0; j < problem.n; ++j, c += problem.c_column_stride)
      *c = beta == T(0) ? O(T(0)) : O(beta * static_cast<T>(*c));
  });
}

template <class S, class O>
void run_elements(const HostLoop& loop, const detail::GemmProblem& problem, const detail::GemmPlan& plan) {
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  if (!problem.multiplies()) {
    if (problem.beta != 1.0) scale_c<O>(loop, problem);
    return;
  }
  HostGemm<S, O>(problem, plan).run(loop);
}

template <class S>
void run_short(const HostLoop& loop, const detail::GemmProblem& problem, const detail::GemmPlan& plan) {
  if (problem.out == ScalarType::float32) return run_elements<S, float>(loop, problem, plan);
  run_elements<S, S>(loop, problem, plan);
}

}  // namespace

bool worth_sharing(const detail::GemmProblem& problem) {
  return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
             static_cast<double>(problem.k + 1) * static_cast<double>(problem.batch) >=
         serial_operations;
}

void run_host_gemm(const HostLoop& loop, const detail::GemmProblem& problem, const detail::GemmPlan& plan) {
  switch (problem.in) {
    case ScalarType::float32:
      return run_elements<float, float>(loop, problem, plan);
    case ScalarType::float64:
      return run_elements<double, double>(loop, problem, plan);
    case ScalarType::float16:
      return run_short<half>(loop, problem, plan);
    case ScalarType::bfloat16:
      return run_short<bfloat16>(loop, problem, plan);
    case ScalarType::complex64:
      return run_elements<std::complex<float>, std::complex<float>>(loop, problem, plan);
    case ScalarType::complex128:
      return run_elements<std::complex<double>, std::complex<double>>(loop, problem, plan);
    case ScalarType::int32:
    case ScalarType::int64:
      break;  // refused
  }
}

}  // namespace papillon::generic
