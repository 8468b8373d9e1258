// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

}  // namespace papillon::cuda
