// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/construction/catalogue.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "papillon/core/construction/families.hpp"
#include "papillon/core/construction/finite_field.hpp"
#include "papillon/core/construction/tables.hpp"
#include "papillon/orders.hpp"

namespace papillon::detail {
namespace {

bool is_prime_power(std::int64_t q) { return as_prime_power(q).degree > 0; }

bool has_williamson(std::int64_t w) {
  return std::ranges::find(williamson_table(), w, &WilliamsonRows::order) != williamson_table().end();
}

const Plan* find_in(std::span<const Plan> plans, std::int64_t order) {
  const auto found = std::ranges::lower_bound(plans, order, {}, &Plan::order);
  return found != plans.end() && found->order == order ? &*found : nullptr;
}

/// The smallest t for which T-sequences of length t and a Williamson quadruple of order quarter / t exist, or
/// 0.
std::int64_t find_t_sequences(std::int64_t quarter) {
  for (std::int64_t t = 3; t <= quarter; t += 2)
    if (quarter % t == 0 && t_sequence_source(t) != SequenceSource::none &&
        (t == quarter || has_williamson(quarter / t)))
      return t;
  return 0;
}

/// Appends the plan of `order`, a multiple of four, if there is one; `plans` holds those of the smaller
/// orders.
void add_plan(std::int64_t order, std::vector<Plan>& plans) {
  const auto add = [&](Family family, std::int64_t parameter) {
    plans.push_back({order, family, parameter});
  };
  const std::int64_t quarter = order / 4, q_one = order - 1, q_two = order / 2 - 1;
  if (std::has_single_bit(static_cast<std::uint64_t>(order))) return add(Family::sylvester, 0);
  // As few rows as possible in the dense base matrix.
  if (const Plan* half = find_in(plans, order / 2))
    return add(Family::doubled, half->family == Family::doubled ? half->parameter : half->order);
  // In these orders the first construction below is not the one that published transforms use
  // (docs/orders.md).
  if (order == 12) return add(Family::paley_two, q_two);
  if (order == 20 || order == 28 || order == 52) return add(Family::williamson, quarter);

  if (is_prime_power(q_one)) return add(Family::paley_one, q_one);
  if (q_two % 4 == 1 && is_prime_power(q_two)) return add(Family::paley_two, q_two);
  if (has_williamson(quarter)) return add(Family::williamson, quarter);
  if (const std::int64_t t = find_t_sequences(quarter)) return add(Family::t_sequences, t);
  if (std::ranges::find(difference_set_table(), quarter, &DifferenceSets::modulus) !=
      difference_set_table().end())
    return add(Family::difference_sets, quarter);
  if (quarter % 4 == 1 && is_prime_power(quarter) && find_in(plans, quarter - 1))
    return add(Family::miyamoto, quarter);
}

std::string text(std::int64_t number) { return std::to_string(number); }

}  // namespace

const std::vector<Plan>& catalogue() {
  static const std::vector<Plan> plans = [] {
    std::vector<Plan> made = {{1, Family::sylvester, 0}, {2, Family::sylvester, 0}};
    for (std::int64_t order = 4; order <= max_listed_hadamard_order; order += 4) add_plan(order, made);
    return made;
  }();
  return plans;
}

const Plan* find_plan(std::int64_t order) { return find_in(catalogue(), order); }

std::string describe(const Plan& plan) {
  const std::string parameter = text(plan.parameter);
  switch (plan.family) {
    case Family::sylvester:
      return "Sylvester";
    case Family::paley_one:
      return "Paley I, q = " + parameter;
    case Family::paley_two:
      return "Paley II, q = " + parameter;
    case Family::williamson:
      return "Williamson, 4 x " + parameter;
    case Family::t_sequences: {
      const std::int64_t w = plan.order / (4 * plan.parameter);
      return "Goethals-Seidel, T-sequences of length " + parameter +
             (w == 1 ? std::string() : " and Williamson matrices of order " + text(w));
    }
    case Family::difference_sets:
      return "Goethals-Seidel, supplementary difference sets modulo " + parameter;
    case Family::miyamoto:
      return "Miyamoto, q = " + parameter;
    case Family::doubled:
      break;
  }
  return "Kronecker " + parameter + " x " + text(plan.order / plan.parameter);
}

}  // namespace papillon::detail
