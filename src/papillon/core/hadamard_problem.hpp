// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "papillon/core/fold.hpp"
#include "papillon/core/schedule.hpp"
#include "papillon/core/tensor.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::detail {

/// A checked call of `hadamard`, without types: what every backend starts from.
struct HadamardProblem {
  ScalarType scalar = ScalarType::float32;  ///< real: complex arrays have an inner index of extent 2
  const void* x = nullptr;
  void* y = nullptr;
  Fold fold;
  std::int64_t m = 1;  ///< n = m * 2^log2_power
  int log2_power = 0;
  bool transpose = false;  ///< of the order-m matrix; the rest is symmetric
  double factor = 1.0;     ///< normalisation times scale
  Ordering ordering = Ordering::natural;
  Signs signs;
  bool in_place = false;
  bool empty = false;  ///< nothing to do
  Workspace workspace;

  std::int64_t n() const { return fold.axis.extent; }
  std::int64_t outer() const { return fold.outer_count(); }
  bool has_signs() const { return signs.seed.has_value() || !signs.values.empty(); }
};

/// Checks every argument of a call and folds it. Throws std::invalid_argument naming the argument and its
/// value; touches no element. `signs_readable` says whether the host may read the sign vector.
HadamardProblem make_hadamard_problem(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const HadamardOptions& options, bool signs_readable);

/// The schedule of a problem on `architecture`.
Schedule schedule_of(const HadamardProblem& problem, Architecture architecture);

/// Whether intermediate results need memory beyond y: several passes with 16-bit scalars (sums stay in float
/// between passes) or with an order of outputs that only the last pass can write.
bool needs_workspace(const HadamardProblem& problem, const Schedule& schedule);

/// Inner columns that are worked on at once when a workspace is needed.
std::int64_t workspace_columns(const HadamardProblem& problem);

/// The memory that the caller gave, or null where none was given or none is needed. Throws
/// std::invalid_argument when it is smaller than `bytes` or not aligned to 16.
void* given_workspace(const Workspace& workspace, std::size_t bytes);

/// Bytes of workspace for a problem; 0 when none is needed. Independent of the batch.
std::size_t workspace_bytes(const HadamardProblem& problem, const Schedule& schedule);

}  // namespace papillon::detail
