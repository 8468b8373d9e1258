// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gemm.hpp"
#include "papillon/core/gemm_plan.hpp"
#include "papillon/core/gemm_problem.hpp"

namespace papillon::cuda {

/// Who multiplies matrices.
enum class GemmKernel {
  tuned,    ///< launch_gemm_float and its like
  general,  ///< launch_gemm_general
  cublas,
};
std::string_view name_of(GemmKernel kernel);

/// How a checked problem is carried out.
struct GemmRoute {
  detail::GemmTuning tuning;
  detail::GemmPlan plan;
  GemmKernel kernel = GemmKernel::tuned;  ///< of the whole, or of the products of blocks
  bool a_k_fastest = true;                ///< of A in memory
  bool b_k_fastest = false;
  bool turns_a = false;  ///< in packing: the other index is the fastest of packed sums
  bool turns_b = false;
  bool c_row_major = true;
  std::int64_t k_parts =
      1;  ///< of a classical product on the tuned kernels: batches of so many, added up afterwards
  std::int64_t k_part = 0;    ///< k of each part but the last, which may have less
  std::size_t sum_bytes = 0;  ///< of sums of 16-bit C, which several rounds add to before they are rounded
  std::size_t workspace_bytes = 0;  ///< of the plan or the parts, then of the sums, then of cuBLAS

  bool packs_a_k_fastest() const { return a_k_fastest && !turns_a; }
  bool packs_b_k_fastest() const { return b_k_fastest && !turns_b; }
};

/// On compute capability `major`.0. Pure but for looking whether cuBLAS is there. Throws
/// std::invalid_argument for what the backend does not take.
GemmRoute route_gemm(const detail::GemmProblem& problem, int major);

/// The whole problem as one batch of products; its operands have a contiguous index each.
GemmProduct whole_product(const detail::GemmProblem& problem, const GemmRoute& route);

/// How sums of the size of C lie in the workspace, a matrix for each part of k or one for all rounds, in C's
/// order: rows of `stride`, matrices of `matrix` elements of the type of sums.
struct PartProducts {
  std::int64_t stride = 0;
  std::int64_t matrix = 0;
};
PartProducts part_products(const detail::GemmProblem& problem, const GemmRoute& route);

/// The product of the route with A, B and C changing places where C is column-major, so that it is row-major.
GemmProduct turned(const GemmProduct& product);

}  // namespace papillon::cuda
