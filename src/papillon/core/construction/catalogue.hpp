// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace papillon::detail {

enum class Family {
  sylvester,
  paley_one,
  paley_two,
  williamson,
  t_sequences,
  difference_sets,
  miyamoto,
  doubled
};

/// How the matrix of one listed order is made. `parameter` is q of Paley and Miyamoto, w of Williamson, the
/// length t of T-sequences (then the Williamson order is order / 4t), and the modulus of difference sets. For
/// Family::doubled it is the base order m, of which order / m is a power of two.
struct Plan {
  std::int64_t order;
  Family family;
  std::int64_t parameter;
};

/// Plans of every listed order, ascending. Made once, in about a millisecond.
const std::vector<Plan>& catalogue();

/// The plan of a listed order, or null.
const Plan* find_plan(std::int64_t order);

/// "Paley I, q = 11" and so on; not for Family::doubled.
std::string describe(const Plan& plan);

}  // namespace papillon::detail
