// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/gemm_plan.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <iomanip>
#include <span>
#include <sstream>

#include "papillon/core/errors.hpp"

namespace papillon::detail {
namespace {

/// Products of all levels at most: five levels of Strassen.
constexpr std::int64_t most_products = 16807;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t parts) {
  return (value + parts - 1) / parts;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return divide_up(value, multiple) * multiple;
}

std::size_t matrix_bytes(std::int64_t rows, std::int64_t columns, std::size_t element) {
  return static_cast<std::size_t>(round_up(rows * columns * static_cast<std::int64_t>(element), 256));
}

/// The algorithms that a problem names, outermost first, however many levels are taken.
class Levels {
 public:
  explicit Levels(const GemmProblem& problem)
      : tables_(problem.tables), winograd_(problem.algorithm == GemmAlgorithm::winograd) {}

  const BilinearAlgorithm& operator[](std::size_t level) const {
    if (!tables_.empty()) return tables_[level];
    return winograd_ ? winograd_algorithm() : strassen_algorithm();
  }

 private:
  std::span<const BilinearAlgorithm> tables_;
  bool winograd_;
};

void add_level(GemmPlan& plan, const BilinearAlgorithm& level) {
  plan.levels.push_back(&level);
  plan.grid_m *= level.m;
  plan.grid_k *= level.k;
  plan.grid_n *= level.n;
  plan.products *= level.rank;
}

/// Whether blocks of a further level have extents of `least` at least.
bool fits(const GemmProblem& problem, const GemmPlan& plan, const BilinearAlgorithm& level,
          std::int64_t least) {
  return divide_up(problem.m, plan.grid_m * level.m) >= least &&
         divide_up(problem.k, plan.grid_k * level.k) >= least &&
         divide_up(problem.n, plan.grid_n * level.n) >= least;
}

/// Whether a further level can do anything: the blocks of the plan have more than one row, column and term.
bool divisible(const GemmProblem& problem, const GemmPlan& plan) {
  return divide_up(problem.m, plan.grid_m) > 1 && divide_up(problem.k, plan.grid_k) > 1 &&
         divide_up(problem.n, plan.grid_n) > 1;
}

bool sums_16bit(const GemmProblem& problem) { return size_of(problem.in) == 2; }

/// The levels that `pays_from` lists for a product.
std::size_t levels_by_extent(const GemmProblem& problem, const GemmTuning& tuning) {
  const std::int64_t least = std::min({problem.m, problem.n, problem.k});
  std::size_t result = 0;
  for (std::size_t level = 0; level < tuning.pays_from.size(); ++level)
    if (tuning.pays_from[level] > 0 && least >= tuning.pays_from[level]) result = level + 1;
  return result;
}

void choose_levels(const GemmProblem& problem, const GemmTuning& tuning, GemmPlan& plan) {
  if (problem.algorithm == GemmAlgorithm::classical || !problem.multiplies()) return;
  const Levels levels(problem);
  const auto cap = [&](std::size_t otherwise) {
    return problem.max_levels < 0 ? otherwise
                                  : std::min(otherwise, static_cast<std::size_t>(problem.max_levels));
  };
  const std::size_t by_extent = levels_by_extent(problem, tuning);
  const auto pays = [&](const BilinearAlgorithm& level) {
    return plan.levels.size() < by_extent ||
           (tuning.least_block > 0 && fits(problem, plan, level, tuning.least_block));
  };
  if (problem.algorithm == GemmAlgorithm::automatic) {
    if (sums_16bit(problem) || is_complex(problem.in)) return;
    const std::size_t most = cap(static_cast<std::size_t>(std::max(tuning.most_levels, 0)));
    while (plan.levels.size() < most && pays(levels[0])) add_level(plan, levels[0]);
    return;
  }
  const bool listed = problem.algorithm == GemmAlgorithm::table;
  const bool exact = listed || problem.max_levels >= 0;
  const std::size_t most =
      listed ? cap(problem.tables.size()) : cap(static_cast<std::size_t>(std::max(tuning.most_levels, 1)));
  const std::size_t wanted = exact && !listed ? static_cast<std::size_t>(problem.max_levels) : most;
  while (plan.levels.size() < wanted && divisible(problem, plan)) {
    const BilinearAlgorithm& level = levels[plan.levels.size()];
    if (!exact && !plan.levels.empty() && !pays(level)) break;
    add_level(plan, level);
    if (plan.products > most_products) {
      throw_invalid_argument("gemm", "max_levels = ", problem.max_levels, " takes more than ", most_products,
                             " products");
    }
  }
}

double sum_of_sizes(const std::vector<std::int8_t>& table, int columns, int product) {
  double sum = 0;
  for (int c = 0; c < columns; ++c) sum += std::abs(table[static_cast<std::size_t>(product * columns + c)]);
  return sum;
}

/// Roundings of a sum of blocks: one an addition, one a coefficient other than ±1.
double roundings(const std::vector<std::int8_t>& table, int columns, int product) {
  double count = -1;
  for (int c = 0; c < columns; ++c) {
    const int entry = std::abs(table[static_cast<std::size_t>(product * columns + c)]);
    count += (entry != 0 ? 1 : 0) + (entry > 1 ? 1 : 0);
  }
  return std::max(count, 0.0);
}

double level_error(const BilinearAlgorithm& level, double inner_error, double inner_k) {
  double worst = 0;
  for (int block = 0; block < level.m * level.n; ++block) {
    double terms = 0, errors = 0, sizes = 0;
    for (int p = 0; p < level.rank; ++p) {
      const double w = std::abs(level.w[static_cast<std::size_t>(p * level.m * level.n + block)]);
      if (w == 0) continue;
      terms += w > 1 ? 2 : 1;
      const double a = sum_of_sizes(level.u, level.m * level.k, p);
      const double b = sum_of_sizes(level.v, level.k * level.n, p);
      const double added =
          roundings(level.u, level.m * level.k, p) + roundings(level.v, level.k * level.n, p);
      errors += w * a * b * (inner_error + inner_k * added);
      sizes += w * a * b * inner_k;
    }
    worst = std::max(worst, errors + std::max(terms - 1, 0.0) * sizes);
  }
  return worst;
}

/// Whether products by alpha are not rounded: it is a power of two.
bool scales_exactly(std::complex<double> alpha) {
  int exponent = 0;
  return alpha.imag() == 0 && std::abs(std::frexp(alpha.real(), &exponent)) == 0.5;
}

double nonzeros(const std::vector<std::int8_t>& table) {
  return static_cast<double>(table.size()) - static_cast<double>(std::ranges::count(table, 0));
}

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

/// Bytes that the sums of blocks read, and that the products read and write in C, of all levels.
double fused_bytes(const GemmProblem& problem, const GemmPlan& plan) {
  double a = elements(plan.block_m, plan.block_k), b = elements(plan.block_k, plan.block_n);
  double c = elements(plan.block_m, plan.block_n);
  for (const BilinearAlgorithm* level : plan.levels) {
    a *= nonzeros(level->u);
    b *= nonzeros(level->v);
    c *= nonzeros(level->w);
  }
  return (a + b) * static_cast<double>(size_of(problem.in)) +
         2.0 * c * static_cast<double>(size_of(problem.out));
}

struct Rounded {
  double value;
  friend std::ostream& operator<<(std::ostream& text, Rounded rounded) {
    const auto flags = text.flags();
    const auto precision = text.precision();
    text << std::defaultfloat << std::setprecision(4) << rounded.value;
    text.flags(flags);
    text.precision(precision);
    return text;
  }
};

}  // namespace

std::size_t GemmPlan::a_bytes(const GemmTuning& tuning) const {
  return matrix_bytes(packed_m, packed_k, tuning.sum_bytes);
}
std::size_t GemmPlan::b_bytes(const GemmTuning& tuning) const {
  return matrix_bytes(packed_k, packed_n, tuning.sum_bytes);
}
std::size_t GemmPlan::c_bytes(const GemmTuning& tuning) const {
  return matrix_bytes(packed_m, packed_n, tuning.product_bytes);
}

GemmPlan plan_gemm(const GemmProblem& problem, const GemmTuning& tuning) {
  GemmPlan plan;
  choose_levels(problem, tuning, plan);
  const auto block = [&](std::int64_t extent, std::int64_t grid) {
    const std::int64_t least = divide_up(extent, grid);
    return grid == 1 || least <= tuning.block_multiple ? least : round_up(least, tuning.block_multiple);
  };
  plan.block_m = block(problem.m, plan.grid_m);
  plan.block_k = block(problem.k, plan.grid_k);
  plan.block_n = block(problem.n, plan.grid_n);
  plan.packed_m = round_up(plan.block_m, tuning.alignment);
  plan.packed_k = round_up(plan.block_k, tuning.alignment);
  plan.packed_n = round_up(plan.block_n, tuning.alignment);
  if (plan.classical() || tuning.fused) return plan;
  const std::size_t each = plan.a_bytes(tuning) + plan.b_bytes(tuning) + plan.c_bytes(tuning);
  if (each > problem.max_workspace_bytes) {
    throw_invalid_argument("gemm", "max_workspace_bytes = ", problem.max_workspace_bytes,
                           " but one product of ", plan.block_m, " x ", plan.block_k, " and ", plan.block_k,
                           " x ", plan.block_n, " blocks takes ", each);
  }
  const std::size_t rounds_fit = problem.max_workspace_bytes / each;
  plan.round = rounds_fit >= static_cast<std::size_t>(plan.products) ? plan.products
                                                                     : static_cast<std::int64_t>(rounds_fit);
  plan.workspace_bytes = static_cast<std::size_t>(plan.round) * each;
  return plan;
}

BilinearAlgorithm composed(const GemmPlan& plan) {
  BilinearAlgorithm result = *plan.levels.front();
  for (std::size_t level = 1; level < plan.levels.size(); ++level)
    result = compose(result, *plan.levels[level]);
  return result;
}

double operations(const GemmProblem& problem, const GemmPlan& plan) {
  if (!problem.multiplies()) return 0;
  return 2.0 * elements(plan.block_m, plan.block_n) * static_cast<double>(plan.block_k) *
         static_cast<double>(plan.products) * static_cast<double>(problem.batch);
}

double moved_bytes(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning) {
  const double read = (elements(problem.m, problem.k) + elements(problem.k, problem.n)) *
                      static_cast<double>(size_of(problem.in));
  const double written = elements(problem.m, problem.n) * static_cast<double>(size_of(problem.out)) *
                         (problem.beta == 0.0 ? 1 : 2);
  if (tuning.fused && !plan.classical())
    return fused_bytes(problem, plan) * static_cast<double>(problem.batch);
  double packed = 0;
  if (!plan.classical()) {
    packed = 2.0 * static_cast<double>(plan.products) *
             static_cast<double>(plan.a_bytes(tuning) + plan.b_bytes(tuning) + plan.c_bytes(tuning));
  }
  return (read + written + packed) * static_cast<double>(problem.batch);
}

double predicted_seconds(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning) {
  const double arithmetic = operations(problem, plan) / tuning.operations_per_second;
  const double memory = moved_bytes(problem, plan, tuning) / tuning.bytes_per_second;
  // Products hide their own reading and writing; packing and combination stand before and after them.
  return plan.classical() ? std::max(arithmetic, memory) : arithmetic + memory;
}

double error_factor(const GemmProblem& problem, const GemmPlan& plan) {
  const double base_k = static_cast<double>(plan.classical() ? problem.k : plan.block_k);
  double error = base_k * base_k + (scales_exactly(problem.alpha) ? 0 : base_k);
  double inner_k = base_k;
  for (std::size_t level = plan.levels.size(); level-- > 0;) {
    error = level_error(*plan.levels[level], error, inner_k);
    inner_k *= plan.levels[level]->k;
  }
  return error;
}

std::string describe(const GemmProblem& problem, const GemmPlan& plan, const GemmTuning& tuning) {
  std::ostringstream text;
  text << problem.m << " x " << problem.k << " times " << problem.k << " x " << problem.n << ", "
       << name_of(problem.in);
  if (problem.out != problem.in) text << " to " << name_of(problem.out);
  if (problem.batch != 1) text << ", batch of " << problem.batch;
  text << "\n";
  if (!problem.multiplies()) return text.str() + "nothing to multiply\n";
  if (plan.classical()) {
    text << "algorithm: classical\n";
  } else {
    text << "algorithm: " << plan.levels.size() << (plan.levels.size() == 1 ? " level" : " levels") << ",";
    for (const BilinearAlgorithm* level : plan.levels)
      text << " " << level->name << " <" << level->m << "," << level->k << "," << level->n << "; "
           << level->rank << ">";
    text << "\nblocks: " << plan.block_m << " x " << plan.block_k << " times " << plan.block_k << " x "
         << plan.block_n << ", " << plan.products << " products, " << plan.round << " at a time\n";
  }
  text << "operations: " << Rounded{operations(problem, plan)} << ", of a classical product "
       << Rounded{2.0 * elements(problem.m, problem.n) * static_cast<double>(problem.k) *
                  static_cast<double>(problem.batch)}
       << "\n";
  text << "bytes moved: " << Rounded{moved_bytes(problem, plan, tuning)} << "\n";
  text << "workspace: " << plan.workspace_bytes << " bytes\n";
  text << "error bound: " << Rounded{error_factor(problem, plan)} << " u |alpha| max|A| max|B|\n";
  text << "predicted time: " << Rounded{predicted_seconds(problem, plan, tuning) * 1e6} << " us on "
       << tuning.hardware << "\n";
  return text.str();
}

}  // namespace papillon::detail
