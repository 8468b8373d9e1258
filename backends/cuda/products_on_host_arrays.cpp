// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <complex>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "device.hpp"
#include "device_copy.hpp"

namespace papillon::cuda {
namespace {

/// The extent of the batch axis; 1 without one.
std::int64_t batches_of(const ConstTensorDescriptor& x, const std::optional<int>& batch_axis) {
  if (!batch_axis) return 1;
  return x.extents[static_cast<std::size_t>(*batch_axis < 0 ? *batch_axis + x.rank : *batch_axis)];
}

ConstTensorDescriptor as_tensor(const Factor& factor, std::int64_t batches) {
  return {factor.data,
          factor.type,
          3,
          {factor.batch_stride == 0 ? 1 : batches, factor.rows, factor.columns},
          {factor.batch_stride, factor.row_stride, factor.column_stride}};
}
ConstTensorDescriptor as_tensor(const ButterflyFactor& factor, std::int64_t batches) {
  return {factor.data,
          factor.type,
          5,
          {factor.batch_stride == 0 ? 1 : batches, factor.a, factor.b, factor.c, factor.d},
          {factor.batch_stride, factor.block_stride, factor.row_stride, factor.column_stride,
           factor.repeat_stride}};
}

/// Copies x, y and the factors to the GPU, calls run(factors, x, y) there, and copies y back.
template <class AnyFactor, class Run>
void run_on_copies(std::string_view operator_name, std::span<const AnyFactor> factors,
                   const ConstTensorDescriptor& x, const TensorDescriptor& y, std::int64_t batches,
                   const Run& run) {
  const DeviceCopy device_x(operator_name, "x", x);
  std::optional<DeviceCopy> device_y;
  if (x.data != static_cast<const void*>(y.data))
    device_y.emplace(operator_name, "y", ConstTensorDescriptor(y));
  const DeviceCopy& result = device_y ? *device_y : device_x;
  std::deque<DeviceCopy> copies;
  std::vector<AnyFactor> device_factors(factors.begin(), factors.end());
  for (AnyFactor& factor : device_factors) {
    const ConstTensorDescriptor tensor = as_tensor(factor, batches);
    factor.data = copies.emplace_back(operator_name, "a factor", tensor).descriptor(tensor).data;
  }
  run(std::span<const AnyFactor>(device_factors), device_x.descriptor(x), result.descriptor(y));
  result.copy_back(operator_name, "y", y);
}

}  // namespace

void kronecker_on_host_arrays(std::span<const Factor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const KroneckerOptions& options) {
  const bool empty = detail::make_kronecker_problem(factors, x, y, options).empty;
  current_device();
  if (empty) return;
  KroneckerOptions device_options = options;
  device_options.workspace = {};
  run_on_copies(
      "kronecker", factors, x, y, batches_of(x, options.batch_axis),
      [&](const auto& there, const ConstTensorDescriptor& x_there, const TensorDescriptor& y_there) {
        kronecker(nullptr, detail::make_kronecker_problem(there, x_there, y_there, device_options));
      });
}

void butterfly_on_host_arrays(std::span<const ButterflyFactor> factors, const ConstTensorDescriptor& x,
                              const TensorDescriptor& y, const ButterflyOptions& options) {
  const bool empty = detail::make_butterfly_problem(factors, x, y, options).empty;
  current_device();
  if (empty) return;
  ButterflyOptions device_options = options;
  device_options.workspace = {};
  const std::span<const std::int64_t> permutation = options.x_permutation;
  const DeviceCopy device_permutation("butterfly", "x_permutation", permutation.data(),
                                      permutation.size_bytes());
  if (!permutation.empty()) {
    device_options.x_permutation = {static_cast<const std::int64_t*>(device_permutation.data()),
                                    permutation.size()};
  }
  run_on_copies(
      "butterfly", factors, x, y, batches_of(x, options.batch_axis),
      [&](const auto& there, const ConstTensorDescriptor& x_there, const TensorDescriptor& y_there) {
        butterfly(nullptr, detail::make_butterfly_problem(there, x_there, y_there, device_options));
      });
}

void gemm_on_host_arrays(std::complex<double> alpha, const ConstTensorDescriptor& a,
                         const ConstTensorDescriptor& b, std::complex<double> beta, const TensorDescriptor& c,
                         const GemmOptions& options) {
  const detail::GemmProblem problem = detail::make_gemm_problem(alpha, a, b, beta, c, options);
  current_device();
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  GemmOptions device_options = options;
  device_options.workspace = {};
  // C is copied whatever beta is: what lies between its elements comes back as it was.
  const DeviceCopy device_a("gemm", "A", a);
  const DeviceCopy device_b("gemm", "B", b);
  const DeviceCopy device_c("gemm", "C", ConstTensorDescriptor(c));
  gemm(nullptr, detail::make_gemm_problem(alpha, device_a.descriptor(a), device_b.descriptor(b), beta,
                                          device_c.descriptor(c), device_options));
  device_c.copy_back("gemm", "C", c);
}

}  // namespace papillon::cuda
