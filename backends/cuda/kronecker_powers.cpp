// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker_powers.hpp"

#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include "aligned_rows.hpp"
#include "tuning/kronecker.hpp"

namespace papillon::cuda {
namespace {

using detail::AppliedFactor;
using detail::KroneckerProblem;

std::span<const PowerLine> lines_of(ScalarType scalar) {
  switch (scalar) {
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return lines_of_2_bytes;
    case ScalarType::float32:
      return lines_of_4_bytes;
    case ScalarType::float64:
      return lines_of_8_bytes;
    default:
      return {};
  }
}

/// Whether factors are square, of one size and the same for all columns.
bool is_power(const KroneckerProblem& problem) {
  const std::int64_t size = problem.factors[0].rows;
  for (const AppliedFactor& factor : problem.factors)
    if (factor.rows != size || factor.columns != size || factor.batch_stride != 0) return false;
  return true;
}

std::int64_t power(std::int64_t size, int exponent) {
  std::int64_t result = 1;
  for (int i = 0; i < exponent; ++i) result *= size;
  return result;
}

/// The line that applies most factors of at most `most`, for rows or for slower factors with `inner` faster
/// points.
int find_line(std::span<const PowerLine> lines, std::int64_t size, int most, std::int64_t inner) {
  int found = -1;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    const PowerLine& line = lines[l];
    const bool fits = line.size == size && line.count <= most &&
                      (inner == 1 ? line.lanes == 1 : line.lanes > 1 && inner % line.lanes == 0);
    if (fits && (found < 0 || line.count > lines[static_cast<std::size_t>(found)].count))
      found = static_cast<int>(l);
  }
  return found;
}

}  // namespace

PowerPlan plan_powers(const KroneckerProblem& problem) {
  const auto lines = lines_of(problem.scalar);
  if (lines.empty() || !is_power(problem) || !has_aligned_rows(problem, false)) return {};
  const std::int64_t size = problem.factors[0].rows;
  const auto all = static_cast<int>(problem.factors.size());
  for (int first = all; first > 0; --first) {  // factors of the first pass, which takes rows
    PowerPlan plan;
    int left = all;
    for (int most = first; left > 0; most = left) {
      const int line = find_line(lines, size, most, power(size, all - left));
      if (line < 0) break;
      const int count = lines[static_cast<std::size_t>(line)].count;
      left -= count;
      plan.push_back({line, left, count});
    }
    if (left == 0 && (plan.size() == 1 || has_aligned_rows(problem, true))) return plan;
  }
  return {};
}

PowerProblem power_problem(const KroneckerProblem& problem, const PowerPlan& plan, std::size_t index) {
  const PowerPass& pass = plan[index];
  const PowerLine& line = lines_of(problem.scalar)[static_cast<std::size_t>(pass.line)];
  const Fold& fold = problem.fold;
  const auto all = static_cast<int>(problem.factors.size());
  const std::int64_t size = problem.factors[0].rows;
  const std::int64_t points = power(size, pass.count);
  const std::int64_t columns = fold.outer_count();
  PowerProblem result;
  result.x = index == 0 ? problem.x : problem.y;
  result.y = problem.y;
  result.inner = power(size, all - pass.first - pass.count);
  result.lines = columns * power(size, pass.first);
  result.x_stride = result.y_stride = points * result.inner;
  if (pass.first == 0 && columns > 1) {
    result.x_stride = index == 0 ? fold.outer[0].x_stride : fold.outer[0].y_stride;
    result.y_stride = fold.outer[0].y_stride;
  }
  result.tiles = line.lanes == 1 ? (result.lines + line.groups - 1) / line.groups
                                 : result.lines * (result.inner / line.lanes);
  result.scale = index + 1 == plan.size() ? problem.scale : 1.0;
  for (int f = 0; f < pass.count; ++f) {
    const AppliedFactor& factor = problem.factors[static_cast<std::size_t>(pass.first + f)];
    result.factors[f] = {factor.data, factor.row_stride, factor.column_stride};
  }
  return result;
}

detail::KroneckerPlan passes_of(const KroneckerProblem& problem, const PowerPlan& plan) {
  const auto all = static_cast<int>(problem.factors.size());
  const std::int64_t size = problem.factors[0].rows;
  detail::KroneckerPlan result;
  for (const PowerPass& power_pass : plan) {
    detail::KroneckerPass pass;
    pass.first = power_pass.first;
    pass.count = power_pass.count;
    for (int i = 0; i < pass.count; ++i) pass.order[i] = pass.count - 1 - i;
    pass.source = pass.target = pass.largest = power(size, pass.count);
    pass.outer = power(size, pass.first);
    pass.inner = power(size, all - pass.first - pass.count);
    result.push_back(pass);
  }
  return result;
}

std::string describe_pass(const KroneckerProblem& problem, const PowerPlan& plan, std::size_t index) {
  const PowerLine& line = lines_of(problem.scalar)[static_cast<std::size_t>(plan[index].line)];
  std::ostringstream text;
  text << "kernel of pass " << index + 1 << ": " << line.family << " (backends/cuda/kernels/kronecker/"
       << line.family << ".cuh), constants of tuning/kronecker.hpp, measured on an H200; a tile of "
       << (line.lanes > 1 ? line.lanes : line.groups)
       << (line.lanes > 1 ? " neighbouring lines, " : " rows, ") << line.threads << " threads\n";
  return text.str();
}

}  // namespace papillon::cuda
