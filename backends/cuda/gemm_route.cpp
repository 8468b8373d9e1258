// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_route.hpp"

#include <algorithm>
#include <utility>

#include "cublas.hpp"
#include "gemm_levels.hpp"
#include "papillon/core/errors.hpp"
#include "tuning/gemm.hpp"

namespace papillon::cuda {

using detail::GemmProblem;

namespace {

/// Whether index `fast` of a matrix is the contiguous one, the other having `stride`.
bool contiguous(std::int64_t fast_stride, std::int64_t fast_extent) {
  return fast_stride == 1 || fast_extent == 1;
}

/// The stride of the slower index: anything where it has one value.
std::int64_t slow_stride(std::int64_t stride, std::int64_t extent, std::int64_t fast_extent,
                         std::size_t bytes) {
  if (extent > 1) return stride;
  const std::int64_t word = 16 / static_cast<std::int64_t>(bytes);
  return (fast_extent + word - 1) / word * word;
}

bool has_contiguous_indices(const GemmProblem& problem) {
  return (contiguous(problem.a.column_stride, problem.k) || contiguous(problem.a.row_stride, problem.m)) &&
         (contiguous(problem.b.column_stride, problem.n) || contiguous(problem.b.row_stride, problem.k)) &&
         (contiguous(problem.c_column_stride, problem.n) || contiguous(problem.c_row_stride, problem.m));
}

/// Whether the rows of a matrix are the faster index: of two contiguous ones the longer.
bool rows_fastest(std::int64_t row_stride, std::int64_t column_stride, std::int64_t rows,
                  std::int64_t columns) {
  const bool by_rows = contiguous(row_stride, rows);
  const bool by_columns = contiguous(column_stride, columns);
  if (by_rows && by_columns) return rows > columns;
  return by_rows || (!by_columns && row_stride < column_stride);
}

/// Whether extents and tiles can be counted in 32 bits, as the tuned kernels do.
bool countable(const GemmProduct& product) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  if (std::max({product.m, product.n, product.k, product.batch}) > most) return false;
  return (product.m + 31) / 32 <= most / ((product.n + 63) / 64) / product.batch;
}

/// The kernel for products of blocks or of the whole, `aligned` saying whether the tuned ones take them and
/// `used` how much workspace they take besides cuBLAS's.
GemmKernel choose_kernel(const GemmProblem& problem, const GemmProduct& product, bool aligned,
                         std::size_t used, int major) {
  const GemmKernel own = aligned ? GemmKernel::tuned : GemmKernel::general;
  if (problem.base == GemmBase::own || !why_no_cublas().empty()) return own;
  const std::size_t room = problem.max_workspace_bytes - used;
  if (problem.base == GemmBase::cublas) {
    if (room < cublas_workspace_bytes) {
      throw_invalid_argument("gemm", "max_workspace_bytes = ", problem.max_workspace_bytes,
                             " but cuBLAS takes ", cublas_workspace_bytes, " besides ", used);
    }
    return GemmKernel::cublas;
  }
  if (problem.algorithm == GemmAlgorithm::classical || room < cublas_workspace_bytes) return own;
  return !aligned || cublas_is_faster(problem.in, product, major) ? GemmKernel::cublas : own;
}

/// Several rounds add to sums in the workspace, so that a 16-bit C is rounded once; they take their part of
/// what the rounds may use.
void keep_sums(const GemmProblem& problem, GemmRoute& route) {
  const std::size_t bytes =
      (static_cast<std::size_t>(part_products(problem, route).matrix) * sizeof(float) + 255) / 256 * 256;
  if (bytes >= problem.max_workspace_bytes) {
    throw_invalid_argument("gemm", "max_workspace_bytes = ", problem.max_workspace_bytes,
                           " but the sums of several rounds take ", bytes);
  }
  GemmProblem rest = problem;
  rest.max_workspace_bytes -= bytes;
  route.plan = detail::plan_gemm(rest, route.tuning);
  route.sum_bytes = bytes;
}

/// Cuts k into parts of whole 16 elements, so that rows of parts are aligned too.
void cut_k(const GemmProblem& problem, GemmRoute& route) {
  const std::int64_t parts = k_parts(problem.in, problem.m, problem.n, problem.k);
  if (parts == 1) return;
  const std::int64_t part = (problem.k + parts - 1) / parts;
  route.k_part = (part + 15) / 16 * 16;
  route.k_parts = (problem.k + route.k_part - 1) / route.k_part;
  const std::size_t bytes = static_cast<std::size_t>(route.k_parts * part_products(problem, route).matrix) *
                            size_of(compute_scalar(problem.in));
  if (route.k_parts == 1 || bytes > problem.max_workspace_bytes) {
    route.k_parts = 1;
    return;
  }
  route.workspace_bytes = bytes;
}

}  // namespace

PartProducts part_products(const GemmProblem& problem, const GemmRoute& route) {
  const std::int64_t rows = route.c_row_major ? problem.m : problem.n;
  const std::int64_t columns = route.c_row_major ? problem.n : problem.m;
  const std::int64_t stride = (columns + 15) / 16 * 16;
  return {stride, rows * stride};
}

std::string_view name_of(GemmKernel kernel) {
  switch (kernel) {
    case GemmKernel::tuned:
      return "tuned";
    case GemmKernel::general:
      return "general";
    case GemmKernel::cublas:
      return "cublas";
  }
  return "";
}

GemmRoute route_gemm(const GemmProblem& problem, int major) {
  if (is_complex(problem.in)) {
    throw_invalid_argument("gemm", "A holds ", name_of(problem.in),
                           "; the CUDA backend takes float64, float32, float16 and bfloat16");
  }
  if (problem.base == GemmBase::cublas && !why_no_cublas().empty())
    throw_invalid_argument("gemm", "base is cublas but ", why_no_cublas());
  GemmRoute route;
  route.tuning = gemm_tuning(problem.in);
  route.plan = detail::plan_gemm(problem, route.tuning);
  if (!problem.multiplies()) return route;
  route.a_k_fastest = !rows_fastest(problem.a.row_stride, problem.a.column_stride, problem.m, problem.k);
  route.b_k_fastest = rows_fastest(problem.b.row_stride, problem.b.column_stride, problem.k, problem.n);
  route.c_row_major = !rows_fastest(problem.c_row_stride, problem.c_column_stride, problem.m, problem.n);
  if (route.plan.round < route.plan.products && size_of(problem.out) == 2) keep_sums(problem, route);
  const detail::GemmPlan& plan = route.plan;
  if (!plan.classical()) {
    const bool turns =
        packs_k_slowest(problem.in) && packs_turned(level_tables(plan, LevelTable::u, !route.a_k_fastest));
    route.turns_a = turns && route.a_k_fastest;
    route.turns_b = turns && route.b_k_fastest;
    GemmProduct blocks;
    blocks.m = plan.block_m;
    blocks.n = plan.block_n;
    blocks.k = plan.block_k;
    blocks.batch = plan.round;
    blocks.a_k_fastest = route.packs_a_k_fastest();
    blocks.b_k_fastest = route.packs_b_k_fastest();
    route.kernel = choose_kernel(problem, route.c_row_major ? blocks : turned(blocks), true,
                                 plan.workspace_bytes, major);
  } else if (!has_contiguous_indices(problem)) {
    if (problem.base == GemmBase::cublas)
      throw_invalid_argument("gemm", "base is cublas, which takes no matrix without a contiguous index");
    route.kernel = GemmKernel::general;
  } else {
    const GemmProduct product = whole_product(problem, route);
    const bool aligned =
        aligned_rows_for_gemm(product, size_of(problem.in), size_of(problem.out)) && countable(product);
    route.kernel = choose_kernel(problem, product, aligned, 0, major);
    if (route.kernel == GemmKernel::tuned && problem.batch == 1) cut_k(problem, route);
  }
  route.workspace_bytes += plan.workspace_bytes + route.sum_bytes +
                           (route.kernel == GemmKernel::cublas ? cublas_workspace_bytes : 0);
  return route;
}

GemmProduct turned(const GemmProduct& product) {
  GemmProduct result = product;
  std::swap(result.m, result.n);
  std::swap(result.a, result.b);
  std::swap(result.a_stride, result.b_stride);
  std::swap(result.a_batch, result.b_batch);
  std::swap(result.a_k_fastest, result.b_k_fastest);
  return result;
}

GemmProduct whole_product(const GemmProblem& problem, const GemmRoute& route) {
  const std::size_t in = size_of(problem.in);
  GemmProduct product;
  product.a = problem.a.data;
  product.b = problem.b.data;
  product.c = problem.c;
  product.m = problem.m;
  product.n = problem.n;
  product.k = problem.k;
  product.batch = problem.batch;
  product.a_k_fastest = route.a_k_fastest;
  product.b_k_fastest = route.b_k_fastest;
  product.a_stride = route.a_k_fastest ? slow_stride(problem.a.row_stride, problem.m, problem.k, in)
                                       : slow_stride(problem.a.column_stride, problem.k, problem.m, in);
  product.b_stride = route.b_k_fastest ? slow_stride(problem.b.column_stride, problem.n, problem.k, in)
                                       : slow_stride(problem.b.row_stride, problem.k, problem.n, in);
  product.c_stride = route.c_row_major
                         ? slow_stride(problem.c_row_stride, problem.m, problem.n, size_of(problem.out))
                         : slow_stride(problem.c_column_stride, problem.n, problem.m, size_of(problem.out));
  product.a_batch = problem.a.batch_stride;
  product.b_batch = problem.b.batch_stride;
  product.c_batch = problem.c_batch_stride;
  product.alpha = problem.alpha.real();
  product.beta = problem.beta.real();
  return route.c_row_major ? product : turned(product);
}

}  // namespace papillon::cuda
