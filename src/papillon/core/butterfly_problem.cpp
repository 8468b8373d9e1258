// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/butterfly_problem.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string_view>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::detail {
namespace {

constexpr std::string_view operator_name = "butterfly";

std::string factor_name(std::size_t number) { return "factors[" + std::to_string(number) + "]"; }

/// a · middle · d, the length of the factor's columns or rows.
std::int64_t length_of(const ButterflyFactor& factor, std::int64_t middle, std::size_t number) {
  std::int64_t length = 1;
  bool too_long = false;
  for (const std::int64_t extent : {factor.a, middle, factor.d})
    too_long = __builtin_mul_overflow(length, extent, &length) || too_long;
  if (too_long) {
    throw_invalid_argument(
        operator_name, factor_name(number), " of pattern ",
        to_text(std::initializer_list<std::int64_t>{factor.a, factor.b, factor.c, factor.d}),
        " multiplies vectors of more than 2^63 points");
  }
  return length;
}
std::int64_t rows_of(const ButterflyFactor& factor, std::size_t number = 0) {
  return length_of(factor, factor.b, number);
}
std::int64_t columns_of(const ButterflyFactor& factor, std::size_t number = 0) {
  return length_of(factor, factor.c, number);
}

std::string pattern_of(const ButterflyFactor& factor) {
  return to_text(std::initializer_list<std::int64_t>{factor.a, factor.b, factor.c, factor.d});
}

void check_factor(const ButterflyFactor& factor, std::size_t number, const ConstTensorDescriptor& x,
                  const TensorDescriptor& y, const ModeAxes& axes) {
  const std::string name = factor_name(number);
  const std::int64_t most = most_tile_bytes / 2 / static_cast<std::int64_t>(sum_bytes(x.type));
  if (factor.b > most || factor.c > most) {
    throw_invalid_argument(operator_name, name, " has blocks of ", factor.b, " x ", factor.c, " elements of ",
                           name_of(x.type), "; at most ", most, " rows and columns are taken");
  }
  check_factor_array(operator_name, name,
                     {factor.data,
                      factor.type,
                      5,
                      {factor.batch_stride == 0 ? 1 : axes.batches, factor.a, factor.b, factor.c, factor.d},
                      {factor.batch_stride, factor.block_stride, factor.row_stride, factor.column_stride,
                       factor.repeat_stride}},
                     x, y, axes);
}

/// Each factor's columns are the rows of the next.
void check_neighbours(std::span<const ButterflyFactor> factors) {
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const std::int64_t columns = columns_of(factors[f], f);
    rows_of(factors[f], f);
    if (f + 1 == factors.size()) return;
    const std::int64_t rows = rows_of(factors[f + 1], f + 1);
    if (columns != rows) {
      throw_invalid_argument(operator_name, factor_name(f), " of pattern ", pattern_of(factors[f]), " has ",
                             columns, " columns but ", factor_name(f + 1), " of pattern ",
                             pattern_of(factors[f + 1]), " has ", rows, " rows");
    }
  }
}

void check_length(std::int64_t length, const char* what, const ConstTensorDescriptor& tensor,
                  std::size_t axis, std::string_view name) {
  if (length != tensor.extents[axis]) {
    throw_invalid_argument(operator_name, "the product of the factors has ", length, " ", what, " but axis ",
                           axis, " of ", name, " of shape ", to_text(tensor.shape()), " has length ",
                           tensor.extents[axis]);
  }
}

void check_permutation(std::span<const std::int64_t> permutation, std::int64_t length,
                       const TensorDescriptor& y) {
  if (permutation.empty()) return;
  if (static_cast<std::int64_t>(permutation.size()) != length) {
    throw_invalid_argument(operator_name, "x_permutation has ", permutation.size(),
                           " entries but the last factor has ", length, " columns");
  }
  const ConstTensorDescriptor array{permutation.data(), ScalarType::int64, 1, {length}, {1}};
  check_tensor(operator_name, array, "x_permutation");
  if (overlap(array, y) != Overlap::none) {
    throw_invalid_argument(operator_name, "x_permutation at ", array.data, " and y at ", y.data, " overlap");
  }
}

/// The pass over `count` factors from `first` on.
ButterflyPass pass_over(const ButterflyProblem& problem, int first, int count) {
  ButterflyPass pass;
  pass.first = first;
  pass.count = count;
  std::int64_t common_a = 0, common_d = 0;
  const auto factor = [&](int i) -> const ButterflyFactor& {
    return problem.factors[static_cast<std::size_t>(first + i)];
  };
  for (int i = 0; i < count; ++i) {
    common_a = std::gcd(common_a, factor(i).a);
    common_d = std::gcd(common_d, factor(i).d);
  }
  pass.outer = std::max(common_a, std::int64_t{1});
  pass.inner = std::max(common_d, std::int64_t{1});
  // Extents may be 0, so that points are products: no length is divided.
  const auto points = [&](const ButterflyFactor& f, std::int64_t middle) {
    return f.a / pass.outer * middle * (f.d / pass.inner);
  };
  pass.source = points(factor(0), factor(0).c);
  pass.target = points(factor(count - 1), factor(count - 1).b);
  pass.largest = pass.source;
  for (int i = 0; i < count; ++i) pass.largest = std::max(pass.largest, points(factor(i), factor(i).b));
  return pass;
}

/// Fewest columns that fill a tile's lines, and points side by side that do.
constexpr std::int64_t few_lines = 16;

/// Whether all columns share the pass' values.
bool columns_share_values(const ButterflyProblem& problem, const ButterflyPass& pass) {
  for (int i = 0; i < pass.count; ++i)
    if (problem.factors[static_cast<std::size_t>(pass.first + i)].batch_stride != 0) return false;
  return true;
}

/// Takes independent products into one line while that leaves no more than `most` points, first those of a
/// few neighbours, then those one after the other: a line is then a longer stretch of memory.
void lengthen_lines(ButterflyPass& pass, std::int64_t most) {
  const auto lengthen = [&](std::int64_t& around, std::int64_t times) {
    around /= times;
    pass.source *= times;
    pass.target *= times;
    pass.largest *= times;
  };
  if (pass.inner < few_lines && pass.largest * pass.inner <= most) lengthen(pass.inner, pass.inner);
  if (pass.inner > 1 || pass.largest == 0) return;
  std::int64_t times = std::min(pass.outer, most / pass.largest);
  while (times > 1 && pass.outer % times != 0) --times;
  if (times > 1) lengthen(pass.outer, times);
}

/// The bytes of a factor's values, shared ones counted once.
double value_bytes(const ButterflyFactor& factor) {
  double count = 1;
  const std::int64_t extents[] = {factor.a, factor.b, factor.c, factor.d};
  const std::int64_t strides[] = {factor.block_stride, factor.row_stride, factor.column_stride,
                                  factor.repeat_stride};
  for (int i = 0; i < 4; ++i)
    count *= extents[i] == 0 || strides[i] != 0 ? static_cast<double>(extents[i]) : 1;
  return count * static_cast<double>(size_of(factor.type));
}

}  // namespace

ButterflyProblem make_butterfly_problem(std::span<const ButterflyFactor> factors,
                                        const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                        const ButterflyOptions& options) {
  check_mode_arrays(operator_name, x, y, options.scale);
  if (factors.empty() || factors.size() > max_butterfly_factors) {
    throw_invalid_argument(operator_name, "factors has ", factors.size(), " entries; 1 to ",
                           max_butterfly_factors, " are taken");
  }
  const ModeAxes axes = checked_mode_axes(operator_name, x, options.axis, options.batch_axis);

  ButterflyProblem problem;
  problem.scale = options.scale;
  problem.workspace = options.workspace;
  for (std::size_t f = 0; f < factors.size(); ++f) check_factor(factors[f], f, x, y, axes);
  check_neighbours(factors);
  const std::int64_t rows = rows_of(factors.front()), columns = columns_of(factors.back());
  check_length(options.adjoint ? rows : columns, options.adjoint ? "rows" : "columns", x, axes.axis, "x");
  check_length(options.adjoint ? columns : rows, options.adjoint ? "columns" : "rows", y, axes.axis, "y");
  check_permutation(options.x_permutation, columns, y);
  set_mode_arrays(operator_name, x, y, axes, problem);

  for (std::size_t i = 0; i < factors.size(); ++i) {
    ButterflyFactor factor = options.adjoint ? adjoint(factors[i]) : factors[factors.size() - 1 - i];
    factor.conjugate = factor.conjugate && is_complex(factor.type);
    problem.factors.push_back(factor);
  }
  problem.permutation = options.x_permutation.empty() ? nullptr : options.x_permutation.data();
  problem.permutes_result = options.adjoint;
  return problem;
}

ButterflyPlan plan_butterfly(const ButterflyProblem& problem, std::int64_t tile_points) {
  ButterflyPlan plan;
  const int factors = static_cast<int>(problem.factors.size());
  for (int first = 0; first < factors;) {
    int count = 1;
    while (first + count < factors && count < max_pass_factors &&
           pass_over(problem, first, count + 1).largest <= tile_points)
      ++count;
    plan.push_back(pass_over(problem, first, count));
    if (problem.fold.outer_count() >= few_lines && columns_share_values(problem, plan.back()))
      lengthen_lines(plan.back(), tile_points / 8);
    first += count;
  }
  const bool one_line = plan[0].outer * plan[0].inner == 1;
  if (problem.permutation == nullptr || problem.x != problem.y || plan.size() > 1 || one_line) return plan;
  ButterflyPass move;
  move.outer = problem.x_length;
  move.first = problem.permutes_result ? factors : 0;
  plan.push_back(move);
  if (!problem.permutes_result) std::swap(plan[0], plan[1]);
  return plan;
}

ButterflyPlan plan_butterfly(const ButterflyProblem& problem, Architecture architecture) {
  const TileLimits limits = tile_limits(architecture);
  if (architecture != Architecture::cpu)
    return plan_butterfly(problem, limits.points(problem.scalar, limits.lines));
  // A vector of lines is 64 bytes of each part, and most blocks are small and applied where they lie.
  constexpr std::int64_t vector_bytes = 64;
  return plan_butterfly(problem, limits.bytes / vector_bytes / (is_complex(problem.scalar) ? 2 : 1));
}

TileFactor tile_factor(const ButterflyFactor& factor, const TileShape& shape) {
  TileFactor result;
  result.data = factor.data;
  result.blocks = factor.a / shape.outer;
  result.rows = factor.b;
  result.columns = factor.c;
  result.repeats = factor.d / shape.inner;
  result.block_stride = factor.block_stride;
  result.row_stride = factor.row_stride;
  result.column_stride = factor.column_stride;
  result.repeat_stride = factor.repeat_stride * shape.inner;
  result.outer_stride = factor.block_stride * result.blocks;
  result.inner_stride = factor.repeat_stride;
  result.batch_stride = factor.batch_stride;
  result.conjugate = factor.conjugate;
  return result;
}

bool takes_columns_first(const ButterflyProblem& problem, const ButterflyPass& pass) {
  if (problem.fold.outer_rank == 0 || !columns_share_values(problem, pass)) return false;
  const Dimension& column = problem.fold.outer[problem.fold.outer_rank - 1];
  const bool near = std::llabs(column.x_stride) < std::llabs(problem.fold.axis.x_stride);
  // Columns fill the lanes that a few neighbouring points would leave empty.
  return pass.inner == 1 || near || (pass.inner < few_lines && problem.fold.outer_count() >= few_lines);
}

ButterflyCost cost_of(const ButterflyProblem& problem, const ButterflyPlan& plan) {
  ButterflyCost cost;
  for (const ButterflyFactor& factor : problem.factors) {
    cost.multiply_adds += static_cast<double>(factor.a) * static_cast<double>(factor.b) *
                          static_cast<double>(factor.c) * static_cast<double>(factor.d);
  }
  for (const ButterflyPass& pass : plan) {
    cost.points += static_cast<double>(pass.outer) * static_cast<double>(pass.inner) *
                   static_cast<double>(pass.source + pass.target);
  }
  return cost;
}

TileBuffers buffers_of(const ButterflyProblem& problem, const ButterflyPlan& plan,
                       Architecture architecture) {
  std::int64_t points = 0;
  for (std::size_t p = 0; p + 1 < plan.size(); ++p)
    points = std::max(points, plan[p].outer * plan[p].target * plan[p].inner);
  return make_tile_buffers(plan.size(), points, problem.scalar, problem.fold.outer_count(), architecture);
}

}  // namespace papillon::detail

namespace papillon {

std::string explain_butterfly(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const ButterflyOptions& options,
                              Architecture architecture) {
  using namespace detail;
  const ButterflyProblem problem = make_butterfly_problem(factors, x, y, options);
  const std::int64_t columns = problem.empty ? 0 : problem.fold.outer_count();
  std::ostringstream text;
  text << problem.y_length << " x " << problem.x_length << " matrix as " << factors.size()
       << (factors.size() == 1 ? " factor, " : " factors, ") << name_of(problem.scalar) << ", " << columns
       << (columns == 1 ? " column" : " columns") << ", on " << name_of(architecture) << "\n";
  if (problem.empty) return text.str() + "nothing to do\n";

  const ButterflyPlan plan = plan_butterfly(problem, architecture);
  for (std::size_t p = 0; p < plan.size(); ++p) {
    const ButterflyPass& pass = plan[p];
    text << "pass " << p + 1 << " of " << plan.size() << ": " << pass.outer << " x " << pass.inner
         << (pass.outer * pass.inner == 1 ? " line of " : " lines of ") << pass.source << " -> "
         << pass.target << " points a column\n";
    if (pass.count == 0) text << "  the permutation alone\n";
    for (int i = 0; i < pass.count; ++i) {
      const auto applied = static_cast<std::size_t>(pass.first + i);
      const std::size_t number = options.adjoint ? applied : factors.size() - 1 - applied;
      text << "  " << factor_name(number) << " of pattern " << pattern_of(factors[number])
           << (options.adjoint ? ", its adjoint" : "") << "\n";
    }
  }

  const ButterflyCost cost = cost_of(problem, plan);
  const TileBuffers buffers = buffers_of(problem, plan, architecture);
  const auto element = static_cast<double>(size_of(problem.scalar));
  const auto sum = static_cast<double>(sum_bytes(problem.scalar));
  const auto ends = static_cast<double>(problem.x_length + problem.y_length);
  double values = 0;
  for (const ButterflyFactor& factor : problem.factors) values += value_bytes(factor);
  const auto count = static_cast<double>(columns);
  text.precision(15);
  text << "multiply-adds: " << cost.multiply_adds * count << " (" << cost.multiply_adds
       << " a column; the dense matrix "
       << static_cast<double>(problem.x_length) * static_cast<double>(problem.y_length) << ")\n";
  text << "bytes moved: " << (ends * element + (cost.points - ends) * sum) * count << ", of which "
       << (cost.points - ends) * sum * count << " between passes; values of factors: " << values << "\n";
  text << "workspace: " << buffers.bytes(sum_bytes(problem.scalar)) << " bytes\n";
  return text.str();
}

}  // namespace papillon
