// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/hadamard_problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "papillon/core/errors.hpp"
#include "papillon/core/overlap.hpp"
#include "papillon/orders.hpp"

namespace papillon::detail {
namespace {

constexpr std::string_view operator_name = "hadamard";

void check_tensor(const ConstTensorDescriptor& tensor, std::string_view name) {
  if (std::find(all_scalar_types.begin(), all_scalar_types.end(), tensor.type) == all_scalar_types.end()) {
    throw_invalid_argument(operator_name, name, " has the unknown scalar type ",
                           static_cast<int>(tensor.type));
  }
  if (tensor.rank < 1 || tensor.rank > max_rank) {
    throw_invalid_argument(operator_name, name, " has rank ", tensor.rank, "; ranks 1 to ", max_rank,
                           " are taken");
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape()) {
    if (extent < 0)
      throw_invalid_argument(operator_name, name, " has a negative extent: ", to_text(tensor.shape()));
    if (__builtin_mul_overflow(count, extent, &count)) {
      throw_invalid_argument(operator_name, name, " has more than 2^63 elements: ", to_text(tensor.shape()));
    }
  }
  if (count == 0) return;
  if (tensor.data == nullptr) {
    throw_invalid_argument(operator_name, name, " of shape ", to_text(tensor.shape()), " has a null pointer");
  }
  const std::size_t alignment = size_of(real_of(tensor.type));
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % alignment != 0) {
    throw_invalid_argument(operator_name, name, " at ", tensor.data, " is not aligned to its scalar, ",
                           name_of(tensor.type));
  }
  __int128 reach = 0;  // no address may leave 64 bits
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    reach += static_cast<__int128>(std::llabs(tensor.strides[i])) * (tensor.extents[i] - 1);
  }
  if (reach > std::numeric_limits<std::int64_t>::max() / 32) {
    throw_invalid_argument(operator_name, name, " has strides ",
                           to_text(std::span(tensor.strides.data(), static_cast<std::size_t>(tensor.rank))),
                           " that reach beyond the address space");
  }
}

double factor_of(const HadamardOptions& options, std::int64_t n, ScalarType type) {
  if (!std::isfinite(options.scale)) {
    throw_invalid_argument(operator_name, "scale = ", options.scale, " is not finite");
  }
  double factor = options.scale;
  const auto length = static_cast<double>(n);
  switch (options.norm) {
    case Normalization::none:
      break;
    case Normalization::ortho:
      factor = options.scale / std::sqrt(length);
      break;
    case Normalization::inverse:
      factor = options.scale / length;
      break;
    default:
      throw_invalid_argument(operator_name, "norm has the unknown value ", static_cast<int>(options.norm));
  }
  if (is_integer(type)) {
    const double bound = type == ScalarType::int32 ? 2147483648.0 : 9223372036854775808.0;
    if (factor != std::trunc(factor) || std::abs(factor) >= bound) {
      throw_invalid_argument(operator_name, "norm = ", name_of(options.norm), " and scale = ", options.scale,
                             " make the factor ", factor, " for n = ", n, "; ", name_of(type),
                             " needs an integer factor within its range (norm = none)");
    }
  }
  return factor;
}

void check_signs(const Signs& signs, std::int64_t n, bool readable) {
  if (signs.side != SignSide::input && signs.side != SignSide::output) {
    throw_invalid_argument(operator_name, "signs.side has the unknown value ", static_cast<int>(signs.side));
  }
  if (signs.values.data() == nullptr) return;
  if (signs.seed) throw_invalid_argument(operator_name, "signs has both values and a seed; give one");
  if (static_cast<std::int64_t>(signs.values.size()) != n) {
    throw_invalid_argument(operator_name, "signs has length ", signs.values.size(),
                           " but the transform has length n = ", n);
  }
  if (!readable) return;
  for (std::size_t i = 0; i < signs.values.size(); ++i) {
    if (signs.values[i] != 1 && signs.values[i] != -1) {
      throw_invalid_argument(operator_name, "signs[", i, "] = ", static_cast<int>(signs.values[i]),
                             " is neither +1 nor -1");
    }
  }
}

}  // namespace

HadamardProblem make_hadamard_problem(const ConstTensorDescriptor& x, const TensorDescriptor& y,
                                      const HadamardOptions& options, bool signs_readable) {
  check_tensor(x, "x");
  check_tensor(y, "y");
  if (x.type != y.type) {
    throw_invalid_argument(operator_name, "x holds ", name_of(x.type), " but y holds ", name_of(y.type));
  }
  if (x.rank != y.rank || !std::equal(x.shape().begin(), x.shape().end(), y.shape().begin())) {
    throw_invalid_argument(operator_name, "x has shape ", to_text(x.shape()), " but y has shape ",
                           to_text(y.shape()));
  }
  if (options.axis < -x.rank || options.axis >= x.rank) {
    throw_invalid_argument(operator_name, "axis = ", options.axis, " is outside -", x.rank, " … ", x.rank - 1,
                           " for shape ", to_text(x.shape()));
  }
  const int axis = options.axis < 0 ? options.axis + x.rank : options.axis;
  const std::int64_t length = x.extents[static_cast<std::size_t>(axis)];
  if (length == 0) {
    throw_invalid_argument(operator_name, "the transformed axis ", axis, " of shape ", to_text(x.shape()),
                           " has length n = 0");
  }
  if (options.group < 0 || (options.group > 0 && length % options.group != 0)) {
    throw_invalid_argument(operator_name, "group = ", options.group, " does not divide n = ", length,
                           " (axis ", axis, " of shape ", to_text(x.shape()), ")");
  }
  if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::butterfly) {
    throw_invalid_argument(operator_name, "algorithm has the unknown value ",
                           static_cast<int>(options.algorithm));
  }
  if (options.ordering != Ordering::natural && options.ordering != Ordering::sequency &&
      options.ordering != Ordering::dyadic) {
    throw_invalid_argument(operator_name, "ordering has the unknown value ",
                           static_cast<int>(options.ordering));
  }
  const std::int64_t n = options.group > 0 ? options.group : length;
  const bool power_of_two = std::has_single_bit(static_cast<std::uint64_t>(n));  // spares the look-up
  if (!power_of_two && !hadamard_order_exists(n)) {
    const auto [below, above] = nearest_hadamard_orders(n);
    throw_invalid_argument(operator_name, "no Hadamard matrix of order n = ", n, " (",
                           options.group > 0 ? "the group" : "the length", " of axis ", axis, " of shape ",
                           to_text(x.shape()), ") is constructed here; the nearest offered orders are ",
                           below, " and ", above);
  }

  HadamardProblem problem;
  const HadamardFactorization factorization =
      power_of_two ? HadamardFactorization{1, std::countr_zero(static_cast<std::uint64_t>(n))}
                   : hadamard_factorization(n);
  problem.m = factorization.order;
  problem.log2_power = factorization.log2_power;
  problem.transpose = options.transpose && problem.m > 1;
  if (options.ordering != Ordering::natural && problem.m != 1) {
    throw_invalid_argument(operator_name, "ordering = ", name_of(options.ordering),
                           " exists for powers of two only, not for n = ", n);
  }
  problem.ordering = options.ordering;
  problem.factor = factor_of(options, n, x.type);
  check_signs(options.signs, n, signs_readable);
  problem.signs = options.signs;

  problem.scalar = real_of(x.type);
  problem.x = x.data;
  problem.y = y.data;
  problem.workspace = options.workspace;
  const auto shape = x.shape();
  problem.empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (problem.empty) return problem;

  if (overlaps_itself(y)) {
    throw_invalid_argument(operator_name, "y of shape ", to_text(y.shape()), " and strides ",
                           to_text(std::span(y.strides.data(), static_cast<std::size_t>(y.rank))),
                           " has several indices for one element");
  }
  const Overlap kind = overlap(x, y);
  if (kind == Overlap::partial) {
    throw_invalid_argument(operator_name, "x at ", x.data, " and y at ", y.data, ", both of shape ",
                           to_text(x.shape()),
                           ", overlap without being the same array (same pointer, extents and strides)");
  }
  problem.in_place = kind == Overlap::same;
  problem.fold = fold(x, y, axis, options.group);
  return problem;
}

Schedule schedule_of(const HadamardProblem& problem, Architecture architecture) {
  return make_schedule(architecture, problem.scalar, problem.m, problem.log2_power, problem.outer(),
                       problem.fold.inner.extent);
}

bool needs_workspace(const HadamardProblem& problem, const Schedule& schedule) {
  const bool narrow = compute_scalar(problem.scalar) != problem.scalar;
  return schedule.pass_count > 1 && (narrow || problem.ordering != Ordering::natural);
}

std::int64_t workspace_columns(const HadamardProblem& problem) {
  constexpr std::int64_t most = 64;  // enough for whole cache lines, whatever the scalar
  return std::min(problem.fold.inner.extent, most);
}

void* given_workspace(const Workspace& workspace, std::size_t bytes) {
  if (bytes == 0 || workspace.data == nullptr) return nullptr;
  if (workspace.bytes < bytes) {
    throw_invalid_argument(operator_name, "workspace has ", workspace.bytes, " bytes but ", bytes,
                           " are needed");
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data) % 16 != 0) {
    throw_invalid_argument(operator_name, "workspace at ", workspace.data, " is not aligned to 16 bytes");
  }
  return workspace.data;
}

std::size_t workspace_bytes(const HadamardProblem& problem, const Schedule& schedule) {
  if (problem.empty || !needs_workspace(problem, schedule)) return 0;
  return static_cast<std::size_t>(problem.n() * workspace_columns(problem)) *
         compute_bytes_of(problem.scalar);
}

}  // namespace papillon::detail
