// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/kronecker_description.hpp"

#include <cstddef>
#include <iomanip>
#include <sstream>

namespace papillon::detail {
namespace {

/// Whole numbers as such, however large.
struct Count {
  double value;
  friend std::ostream& operator<<(std::ostream& text, Count count) {
    const auto flags = text.flags();
    text << std::fixed << std::setprecision(0) << count.value;
    text.flags(flags);
    return text;
  }
};

const char* plural(double count) { return count == 1 ? "" : "s"; }

}  // namespace

std::string explain_kronecker(const KroneckerProblem& problem, const KroneckerPlan& plan, std::size_t between,
                              std::size_t workspace) {
  const auto element = static_cast<double>(size_of(problem.scalar));
  const auto value = static_cast<double>(sum_bytes(problem.scalar));
  const auto columns = static_cast<double>(problem.fold.outer_count());
  std::ostringstream text;
  text << problem.factors.size() << " factor" << plural(static_cast<double>(problem.factors.size())) << ", "
       << problem.x_length << " points to " << problem.y_length << ", " << name_of(problem.scalar) << ", "
       << Count{columns} << " column" << plural(columns) << "\n";
  if (problem.empty) return text.str() + "nothing to compute\n";

  double moved = 0;  // bytes for each column
  for (std::size_t p = 0; p < plan.size(); ++p) {
    const KroneckerPass& pass = plan[p];
    const double around = static_cast<double>(pass.outer) * static_cast<double>(pass.inner);
    moved += around * (static_cast<double>(pass.source) * (p == 0 ? element : static_cast<double>(between)) +
                       static_cast<double>(pass.target) *
                           (p + 1 == plan.size() ? element : static_cast<double>(between)));
    text << "pass " << p + 1 << ":";
    for (int i = 0; i < pass.count; ++i) {
      const int number = pass.first + pass.order[i];
      const AppliedFactor& factor = problem.factors[static_cast<std::size_t>(number)];
      text << (i == 0 ? " " : ", then ") << "F" << number + 1 << " (" << factor.rows << " x "
           << factor.columns << ")";
    }
    text << "; " << pass.source << " points to " << pass.target << ", between " << pass.outer
         << " slower and " << pass.inner << " faster ones; a tile has " << pass.largest << " points a line, "
         << Count{static_cast<double>(pass.largest) * value} << " bytes\n";
  }
  const KroneckerCost cost = cost_of(problem, plan);
  text << "multiply-adds: " << Count{cost.multiply_adds * columns} << " (" << Count{cost.multiply_adds}
       << " per column)\n";
  double factors = 0;
  for (const AppliedFactor& factor : problem.factors)
    factors += static_cast<double>(factor.rows) * static_cast<double>(factor.columns) * element;
  text << "bytes moved: " << Count{moved * columns} << " (" << Count{moved} << " per column, " << plan.size()
       << " pass" << (plan.size() == 1 ? "" : "es") << "), and " << Count{factors} << " of factors\n";
  text << "workspace: " << workspace << " bytes\n";
  return text.str();
}

std::string explain_kronecker(const KroneckerProblem& problem, const KroneckerPlan& plan,
                              Architecture architecture) {
  const std::size_t value = sum_bytes(problem.scalar);
  const std::size_t workspace = problem.empty ? 0 : buffers_of(problem, plan, architecture).bytes(value);
  return explain_kronecker(problem, plan, value, workspace);
}

}  // namespace papillon::detail
