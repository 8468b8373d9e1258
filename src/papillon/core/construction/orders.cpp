// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/orders.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>

#include "papillon/core/construction/catalogue.hpp"
#include "papillon/core/construction/families.hpp"
#include "papillon/core/construction/tables.hpp"
#include "papillon/core/errors.hpp"

namespace papillon {
namespace {

using detail::Family;
using detail::Plan;
using detail::SignMatrix;

int trailing_zeros(std::int64_t n) { return std::countr_zero(static_cast<std::uint64_t>(n)); }
/// floor(log2(ratio)) for ratio >= 1.
int floor_log2(std::int64_t ratio) { return std::bit_width(static_cast<std::uint64_t>(ratio)) - 1; }

/// The smallest listed order of every odd part, ascending: every offered size is one of them times a power of
/// two.
const std::vector<std::int64_t>& minimal_orders() {
  static const std::vector<std::int64_t> orders = [] {
    std::vector<std::int64_t> made = {1};
    for (const Plan& plan : detail::catalogue())
      if (plan.family != Family::doubled && plan.family != Family::sylvester) made.push_back(plan.order);
    return made;
  }();
  return orders;
}

/// The smallest listed m with n = m * 2^k, or 0.
std::int64_t minimal_order(std::int64_t n) {
  if (n < 1) return 0;
  const std::int64_t odd = n >> trailing_zeros(n);
  if (odd == 1) return 1;
  if (odd > max_listed_hadamard_order) return 0;
  for (std::int64_t m = odd; m <= std::min(n, max_listed_hadamard_order); m *= 2)
    if (detail::find_plan(m)) return m;
  return 0;
}

std::string nearest_text(std::int64_t n) {
  const auto [below, above] = nearest_hadamard_orders(n);
  if (below == 0) return "the nearest offered order is " + std::to_string(above);
  if (above == 0) return "the nearest offered order is " + std::to_string(below);
  return "the nearest offered orders are " + std::to_string(below) + " and " + std::to_string(above);
}

[[noreturn]] void refuse(std::string_view function, std::int64_t n) {
  throw_invalid_argument(function, "no Hadamard matrix of order n = ", n,
                         n < 1 ? " exists; " : " is constructed here; ", nearest_text(n));
}

HadamardFactorization factorize(std::string_view function, std::int64_t n) {
  const std::int64_t m = minimal_order(n);
  if (m == 0) refuse(function, n);
  return {m, trailing_zeros(n / m)};
}

SignMatrix construct(const Plan& plan) {
  const std::int64_t parameter = plan.parameter;
  const auto williamson_rows = [](std::int64_t w) {
    return detail::williamson_rows(
        *std::ranges::find(detail::williamson_table(), w, &detail::WilliamsonRows::order));
  };
  switch (plan.family) {
    case Family::sylvester:
      return detail::kronecker_sylvester({1}, 1, trailing_zeros(plan.order));
    case Family::doubled:
      return detail::kronecker_sylvester(detail::base_matrix(parameter), parameter,
                                         trailing_zeros(plan.order / parameter));
    case Family::paley_one:
      return detail::paley_one(parameter);
    // Interleaved in order 12 only, where that is the published choice; 36 is published in the other form.
    case Family::paley_two:
      return detail::paley_two(parameter, plan.order == 12);
    case Family::williamson:
      return detail::williamson(williamson_rows(parameter));
    case Family::t_sequences: {
      const std::int64_t w = plan.order / (4 * parameter);
      const detail::FourRows one = {{{1}, {1}, {1}, {1}}};
      return detail::goethals_seidel(
          detail::combine(detail::t_sequences(parameter), w == 1 ? one : williamson_rows(w)), parameter, w);
    }
    case Family::difference_sets: {
      const auto& table = detail::difference_set_table();
      const auto entry = std::ranges::find(table, parameter, &detail::DifferenceSets::modulus);
      return detail::goethals_seidel(detail::difference_set_rows(*entry), parameter, 1);
    }
    case Family::miyamoto:
      return detail::miyamoto(parameter, detail::base_matrix(parameter - 1));
  }
  return {};
}

}  // namespace

const std::vector<std::int64_t>& hadamard_orders() {
  static const std::vector<std::int64_t> orders = [] {
    std::vector<std::int64_t> made;
    for (const Plan& plan : detail::catalogue()) made.push_back(plan.order);
    return made;
  }();
  return orders;
}

bool hadamard_order_exists(std::int64_t n) { return minimal_order(n) != 0; }

HadamardFactorization hadamard_factorization(std::int64_t n) {
  return factorize("hadamard_factorization", n);
}

std::pair<std::int64_t, std::int64_t> nearest_hadamard_orders(std::int64_t n) {
  if (n < 1) return {0, 1};
  std::int64_t below = 0;
  std::int64_t above = 0;
  for (const std::int64_t m : minimal_orders()) {
    if (m < n) below = std::max(below, m << floor_log2((n - 1) / m));
    const int shift = m > n ? 0 : floor_log2(n / m) + 1;
    const bool fits = m <= (std::numeric_limits<std::int64_t>::max() >> shift);
    if (fits && (above == 0 || (m << shift) < above)) above = m << shift;
  }
  return {below, above};
}

HadamardMatrix hadamard_matrix(std::int64_t n) {
  const auto [m, log2_power] = factorize("hadamard_matrix", n);
  if (n > max_dense_hadamard_order)
    throw_invalid_argument("hadamard_matrix", "n = ", n, " is above ", max_dense_hadamard_order,
                           ", the largest order that is written out as a dense matrix");
  return {n, detail::kronecker_sylvester(detail::base_matrix(m), m, log2_power)};
}

std::string hadamard_construction(std::int64_t n) {
  const auto [m, log2_power] = factorize("hadamard_construction", n);
  if (m == 1 || log2_power == 0) return detail::describe(*detail::find_plan(m));
  return "Kronecker " + std::to_string(m) + " x " + std::to_string(std::int64_t{1} << log2_power) + " (" +
         detail::describe(*detail::find_plan(m)) + ")";
}

namespace detail {

const std::vector<std::int8_t>& base_matrix(std::int64_t m) {
  static std::mutex mutex;
  static std::map<std::int64_t, std::vector<std::int8_t>> matrices;  // nodes stay where they are
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = matrices.find(m); found != matrices.end()) return found->second;
  }
  const Plan* plan = find_plan(m);
  if (!plan)
    throw_invalid_argument("base_matrix", "m = ", m, " is not among hadamard_orders(); ", nearest_text(m));
  // Outside the lock, since it may ask for a smaller matrix; when two threads race, the first result is kept.
  auto matrix = construct(*plan);
  const std::scoped_lock lock(mutex);
  return matrices.try_emplace(m, std::move(matrix)).first->second;
}

}  // namespace detail
}  // namespace papillon
