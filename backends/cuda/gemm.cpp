// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <type_traits>

#include "api.hpp"
#include "cublas.hpp"
#include "gemm_general.hpp"
#include "gemm_levels.hpp"
#include "gemm_route.hpp"
#include "stream_workspace.hpp"
#include "tuning/gemm.hpp"

namespace papillon::cuda {

using detail::GemmPlan;
using detail::GemmProblem;

namespace {

/// visit(In, Out), each a std::type_identity.
template <class Visit>
cudaError_t visit_scalars(ScalarType in, ScalarType out, const Visit& visit) {
  const auto narrow = [&]<class S>(std::type_identity<S> s) {
    return out == ScalarType::float32 ? visit(s, std::type_identity<float>{}) : visit(s, s);
  };
  switch (in) {
    case ScalarType::float64:
      return visit(std::type_identity<double>{}, std::type_identity<double>{});
    case ScalarType::float16:
      return narrow(std::type_identity<half>{});
    case ScalarType::bfloat16:
      return narrow(std::type_identity<bfloat16>{});
    default:
      return visit(std::type_identity<float>{}, std::type_identity<float>{});
  }
}

GeneralGemm general(const GemmProblem& problem) {
  return {problem.a.data,
          problem.b.data,
          problem.c,
          problem.m,
          problem.n,
          problem.k,
          problem.batch,
          problem.a.row_stride,
          problem.a.column_stride,
          problem.a.batch_stride,
          problem.b.row_stride,
          problem.b.column_stride,
          problem.b.batch_stride,
          problem.c_row_stride,
          problem.c_column_stride,
          problem.c_batch_stride,
          problem.alpha.real(),
          problem.beta.real()};
}

/// The same for a product whose operands are dense.
GeneralGemm general(const GemmProduct& product) {
  return {product.a,
          product.b,
          product.c,
          product.m,
          product.n,
          product.k,
          product.batch,
          product.a_k_fastest ? product.a_stride : 1,
          product.a_k_fastest ? 1 : product.a_stride,
          product.a_batch,
          product.b_k_fastest ? 1 : product.b_stride,
          product.b_k_fastest ? product.b_stride : 1,
          product.b_batch,
          product.c_stride,
          1,
          product.c_batch,
          product.alpha,
          product.beta};
}

template <class In, class Out>
cudaError_t launch_tuned(cudaStream_t stream, const Device& device, const GemmProduct& product) {
  if constexpr (std::is_same_v<In, double>) {
    return launch_gemm_double(stream, device, product, nullptr);
  } else if constexpr (std::is_same_v<In, float>) {
    return launch_gemm_float(stream, device, product, nullptr);
  } else {
    return launch_gemm_16bit<In, Out>(stream, device, product, nullptr);
  }
}

/// The batch without its first `count` matrices; `batch` is left as it is.
GemmProduct without_first(GemmProduct product, std::int64_t count, ScalarType in, ScalarType out) {
  const auto skip = [&](const void* data, std::int64_t elements, ScalarType type) {
    return static_cast<char*>(const_cast<void*>(data)) +
           count * elements * static_cast<std::int64_t>(size_of(type));
  };
  product.a = skip(product.a, product.a_batch, in);
  product.b = skip(product.b, product.b_batch, in);
  product.c = skip(product.c, product.c_batch, out);
  return product;
}

/// Runs a batch of products on the kernel of the route. What the tuned kernels do not run on this
/// architecture, the general one does.
void multiply(cudaStream_t stream, const Device& device, ScalarType in, ScalarType out, GemmKernel kernel,
              const GemmProduct& product, void* cublas_workspace) {
  if (kernel == GemmKernel::cublas) {
    GemmProduct part = product;
    const std::int64_t most = most_cublas_batch(in, std::min({product.m, product.n, product.k}));
    for (std::int64_t first = 0; first < product.batch; first += most) {
      part.batch = std::min(most, product.batch - first);
      cublas_gemm(stream, device, in, out, part, cublas_workspace);
      part = without_first(part, part.batch, in, out);
    }
    return;
  }
  const cudaError_t error =
      visit_scalars(in, out, [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
        if (kernel == GemmKernel::tuned) {
          const cudaError_t launched = launch_tuned<In, Out>(stream, device, product);
          if (launched != cudaErrorNotSupported) return launched;
        }
        return launch_gemm_general<In, Out>(stream, device, general(product));
      });
  check(error, "gemm: launching a kernel");
}

/// A matrix of a batch, cut into blocks of so many rows and columns.
BlockedMatrix blocked(const detail::GemmOperand& operand, ScalarType type, std::int64_t matrix,
                      std::int64_t rows, std::int64_t columns, std::int64_t block_rows,
                      std::int64_t block_columns, bool rows_fastest) {
  void* data = const_cast<char*>(static_cast<const char*>(operand.data)) +
               matrix * operand.batch_stride * static_cast<std::int64_t>(size_of(type));
  return rows_fastest
             ? BlockedMatrix{data,          columns,   rows, operand.column_stride, operand.row_stride,
                             block_columns, block_rows}
             : BlockedMatrix{data,       rows,         columns, operand.row_stride, operand.column_stride,
                             block_rows, block_columns};
}

BlockedMatrix blocked_c(const GemmProblem& problem, const GemmRoute& route, std::int64_t matrix,
                        std::int64_t block_rows, std::int64_t block_columns) {
  return blocked({problem.c, problem.c_row_stride, problem.c_column_stride, problem.c_batch_stride},
                 problem.out, matrix, problem.m, problem.n, block_rows, block_columns, !route.c_row_major);
}

/// C = alpha · (products added up by the table) + beta · C.
void combine_into_c(cudaStream_t stream, const Device& device, const GemmProblem& problem,
                    const PackedMatrices& products, const BlockedMatrix& c, const LevelTables& tables,
                    double beta) {
  check(visit_scalars(problem.out, problem.out,
                      [&]<class Out, class Same>(std::type_identity<Out>, std::type_identity<Same>) {
                        return launch_combine<compute_type<Out>, Out>(stream, device, products, c, tables,
                                                                      problem.alpha.real(), beta);
                      }),
        "gemm: launching the combining kernel");
}

/// One matrix of a batch, by levels.
class LevelsRun {
 public:
  LevelsRun(cudaStream_t stream, const Device& device, const GemmProblem& problem, const GemmRoute& route,
            char* memory)
      : stream_(stream),
        device_(device),
        problem_(problem),
        route_(route),
        u_(level_tables(route.plan, LevelTable::u, !route.a_k_fastest)),
        v_(level_tables(route.plan, LevelTable::v, route.b_k_fastest)),
        w_(level_tables(route.plan, LevelTable::w, !route.c_row_major)) {
    const GemmPlan& plan = route.plan;
    const auto round = static_cast<std::size_t>(plan.round);
    const std::size_t a_bytes = plan.a_bytes(route.tuning);
    const std::size_t b_bytes = plan.b_bytes(route.tuning);
    const std::size_t c_bytes = plan.c_bytes(route.tuning);
    a_ = {memory, route.packs_a_k_fastest() ? plan.packed_k : plan.packed_m,
          elements(a_bytes, route.tuning.sum_bytes)};
    b_ = {memory + round * a_bytes, route.packs_b_k_fastest() ? plan.packed_k : plan.packed_n,
          elements(b_bytes, route.tuning.sum_bytes)};
    a_.turned = route.turns_a;
    b_.turned = route.turns_b;
    c_ = {memory + round * (a_bytes + b_bytes), route.c_row_major ? plan.packed_n : plan.packed_m,
          elements(c_bytes, route.tuning.product_bytes)};
    sums_ = memory + plan.workspace_bytes;
    cublas_workspace_ = memory + plan.workspace_bytes + route.sum_bytes;
  }

  void run(std::int64_t matrix) {
    const GemmPlan& plan = route_.plan;
    for (std::int64_t first = 0; first < plan.products; first += plan.round) {
      const std::int64_t count = std::min(plan.round, plan.products - first);
      for (PackedMatrices* packed : {&a_, &b_, &c_}) packed->first = first, packed->count = count;
      pack(blocked(problem_.a, problem_.in, matrix, problem_.m, problem_.k, plan.block_m, plan.block_k,
                   !route_.a_k_fastest),
           a_, u_);
      pack(blocked(problem_.b, problem_.in, matrix, problem_.k, problem_.n, plan.block_k, plan.block_n,
                   route_.b_k_fastest),
           b_, v_);
      const ScalarType sums = compute_scalar(problem_.in);
      multiply(stream_, device_, problem_.in, sums, route_.kernel, product(count), cublas_workspace_);
      if (route_.sum_bytes > 0) {
        add_to_sums(first == 0 ? 0.0 : 1.0);
      } else {
        combine(matrix, first == 0 ? problem_.beta.real() : 1.0);
      }
    }
    if (route_.sum_bytes > 0) round_sums(matrix);
  }

 private:
  static std::int64_t elements(std::size_t bytes, std::size_t element) {
    return static_cast<std::int64_t>(bytes / element);
  }

  void pack(const BlockedMatrix& source, const PackedMatrices& packed, const LevelTables& tables) const {
    check(visit_scalars(problem_.in, problem_.in,
                        [&]<class S, class Out>(std::type_identity<S>, std::type_identity<Out>) {
                          return launch_pack_sums<S>(stream_, device_, source, packed, tables);
                        }),
          "gemm: launching the packing kernel");
  }

  GemmProduct product(std::int64_t count) const {
    GemmProduct product;
    product.a = a_.data;
    product.b = b_.data;
    product.c = c_.data;
    product.m = route_.plan.block_m;
    product.n = route_.plan.block_n;
    product.k = route_.plan.block_k;
    product.batch = count;
    product.a_k_fastest = route_.packs_a_k_fastest();
    product.b_k_fastest = route_.packs_b_k_fastest();
    product.a_stride = a_.stride;
    product.b_stride = b_.stride;
    product.c_stride = c_.stride;
    product.a_batch = a_.matrix;
    product.b_batch = b_.matrix;
    product.c_batch = c_.matrix;
    return route_.c_row_major ? product : turned(product);
  }

  void combine(std::int64_t matrix, double beta) const {
    combine_into_c(stream_, device_, problem_, c_,
                   blocked_c(problem_, route_, matrix, route_.plan.block_m, route_.plan.block_n), w_, beta);
  }

  /// Adds a round's products to the float sums of a 16-bit C.
  void add_to_sums(double beta) const {
    const GemmPlan& plan = route_.plan;
    const std::int64_t stride = part_products(problem_, route_).stride;
    const BlockedMatrix sums =
        route_.c_row_major
            ? BlockedMatrix{sums_, problem_.m, problem_.n, stride, 1, plan.block_m, plan.block_n}
            : BlockedMatrix{sums_, problem_.n, problem_.m, stride, 1, plan.block_n, plan.block_m};
    check(launch_combine<float, float>(stream_, device_, c_, sums, w_, 1.0, beta),
          "gemm: launching the combining kernel");
  }

  void round_sums(std::int64_t matrix) const {
    const PartProducts sums = part_products(problem_, route_);
    combine_into_c(stream_, device_, problem_, {sums_, sums.stride, sums.matrix, 0, 1},
                   blocked_c(problem_, route_, matrix, problem_.m, problem_.n), sum_of_products(1),
                   problem_.beta.real());
  }

  cudaStream_t stream_;
  const Device& device_;
  const GemmProblem& problem_;
  const GemmRoute& route_;
  LevelTables u_, v_, w_;
  PackedMatrices a_, b_, c_;
  void* sums_ = nullptr;
  void* cublas_workspace_ = nullptr;
};

/// A classical product as a batch of parts of k, which are added up.
void multiply_parts(cudaStream_t stream, const Device& device, const GemmProblem& problem,
                    const GemmRoute& route, void* memory) {
  const ScalarType sums = compute_scalar(problem.in);
  const PartProducts parts = part_products(problem, route);
  GemmProduct product = whole_product(problem, route);
  product.c = memory;
  product.c_stride = parts.stride;
  product.c_batch = parts.matrix;
  product.alpha = 1.0;
  product.beta = 0.0;
  product.k = route.k_part;
  product.a_batch = product.a_k_fastest ? route.k_part : route.k_part * product.a_stride;
  product.b_batch = product.b_k_fastest ? route.k_part : route.k_part * product.b_stride;
  const std::int64_t last_k = problem.k - (route.k_parts - 1) * route.k_part;
  product.batch = last_k == route.k_part ? route.k_parts : route.k_parts - 1;
  multiply(stream, device, problem.in, sums, route.kernel, product, nullptr);
  if (last_k != route.k_part) {
    product = without_first(product, product.batch, problem.in, sums);
    product.k = last_k;
    product.batch = 1;
    multiply(stream, device, problem.in, sums, route.kernel, product, nullptr);
  }
  const PackedMatrices products{memory, parts.stride, parts.matrix, 0, route.k_parts};
  combine_into_c(stream, device, problem, products, blocked_c(problem, route, 0, problem.m, problem.n),
                 sum_of_products(static_cast<int>(route.k_parts)), problem.beta.real());
}

/// That of an H200 where there is no GPU.
int major_of_current_device() { return why_unavailable().empty() ? current_device().major : 9; }

void scale(cudaStream_t stream, const Device& device, const GemmProblem& problem) {
  if (problem.beta == 1.0) return;
  check(visit_scalars(problem.out, problem.out,
                      [&]<class Out, class Same>(std::type_identity<Out>, std::type_identity<Same>) {
                        return launch_scale_matrix<Out>(stream, device, general(problem));
                      }),
        "gemm: launching a kernel");
}

}  // namespace

void gemm(cudaStream_t stream, const GemmProblem& problem) {
  const Device& device = current_device();
  const GemmRoute route = route_gemm(problem, device.major);
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  check_pointer("gemm", problem.c, "C", device);
  if (!problem.multiplies()) {
    scale(stream, device, problem);
    return;
  }
  check_pointer("gemm", problem.a.data, "A", device);
  check_pointer("gemm", problem.b.data, "B", device);
  if (route.plan.classical() && route.kernel == GemmKernel::general) {
    check(visit_scalars(problem.in, problem.out,
                        [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
                          return launch_gemm_general<In, Out>(stream, device, general(problem));
                        }),
          "gemm: launching a kernel");
    return;
  }
  const StreamWorkspace workspace(stream, "gemm", problem.workspace, route.workspace_bytes);
  if (route.k_parts > 1) {
    multiply_parts(stream, device, problem, route, workspace.data());
    return;
  }
  if (route.plan.classical()) {
    multiply(stream, device, problem.in, problem.out, route.kernel, whole_product(problem, route),
             workspace.data());
    return;
  }
  LevelsRun levels(stream, device, problem, route, static_cast<char*>(workspace.data()));
  for (std::int64_t matrix = 0; matrix < problem.batch; ++matrix) levels.run(matrix);
}

std::size_t workspace_bytes(const GemmProblem& problem) {
  return route_gemm(problem, major_of_current_device()).workspace_bytes;
}

std::string describe(const GemmProblem& problem) {
  const GemmRoute route = route_gemm(problem, major_of_current_device());
  std::ostringstream text;
  text << detail::describe(problem, route.plan, route.tuning);
  if (!problem.multiplies()) return text.str();
  text << "products by: ";
  switch (route.kernel) {
    case GemmKernel::tuned:
      if (route.k_parts > 1)
        text << route.k_parts << " parts of k, added up afterwards, " << route.workspace_bytes
             << " bytes of workspace, ";
      text << "Papillon, backends/cuda/gemm_"
           << (size_of(problem.in) == 2            ? "16bit"
               : problem.in == ScalarType::float64 ? "double"
                                                   : "float")
           << ".cu\n";
      break;
    case GemmKernel::general:
      text << "Papillon, backends/cuda/gemm_general.cu, since rows are not contiguous at multiples of 16 "
              "bytes\n";
      break;
    case GemmKernel::cublas:
      text << "cuBLAS"
           << (problem.base == GemmBase::cublas ? ", as asked" : ", measured faster than Papillon's kernel")
           << "; its workspace has " << cublas_workspace_bytes << " bytes\n";
      break;
  }
  return text.str();
}

}  // namespace papillon::cuda
