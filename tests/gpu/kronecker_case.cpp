// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kronecker_case.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <sstream>

#include "gpu_case.hpp"
#include "papillon/cuda.hpp"
#include "papillon/kronecker.hpp"

namespace papillon::test {
namespace {

using Bytes = std::vector<unsigned char>;

double value_at(ScalarType real, const unsigned char* data, std::size_t i) {
  switch (real) {
    case ScalarType::float64:
      return reinterpret_cast<const double*>(data)[i];
    case ScalarType::float16:
      return static_cast<double>(static_cast<float>(reinterpret_cast<const half*>(data)[i]));
    case ScalarType::bfloat16:
      return static_cast<double>(static_cast<float>(reinterpret_cast<const bfloat16*>(data)[i]));
    default:
      return static_cast<double>(reinterpret_cast<const float*>(data)[i]);
  }
}

void set_value(ScalarType real, unsigned char* data, std::size_t i, double value) {
  switch (real) {
    case ScalarType::float64:
      reinterpret_cast<double*>(data)[i] = value;
      return;
    case ScalarType::float16:
      reinterpret_cast<half*>(data)[i] = static_cast<half>(static_cast<float>(value));
      return;
    case ScalarType::bfloat16:
      reinterpret_cast<bfloat16*>(data)[i] = static_cast<bfloat16>(static_cast<float>(value));
      return;
    default:
      reinterpret_cast<float*>(data)[i] = static_cast<float>(value);
  }
}

/// An array's bytes and strides.
struct Stored {
  Bytes bytes;
  std::vector<std::int64_t> extents, strides;
  std::int64_t shift = 0;

  template <class Pointer>
  BasicTensorDescriptor<Pointer> describe(ScalarType type, Pointer start) const {
    using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, char, const char>;
    BasicTensorDescriptor<Pointer> result{
        static_cast<Byte*>(start) + shift * static_cast<std::int64_t>(size_of(type)),
        type,
        static_cast<int>(extents.size()),
        {},
        {}};
    for (std::size_t d = 0; d < extents.size(); ++d) {
      result.extents[d] = extents[d];
      result.strides[d] = strides[d];
    }
    return result;
  }
};

Bytes draw(ScalarType type, std::size_t count, bool whole, std::mt19937& random) {
  const std::size_t reals = count * (is_complex(type) ? 2 : 1);
  Bytes bytes(reals * size_of(real_of(type)));
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < reals; ++i) {
    const auto digit = static_cast<int>(random() % 16);
    set_value(real_of(type), bytes.data(), i,
              whole ? (digit == 0  ? -1.0
                       : digit < 3 ? 1.0
                                   : 0.0)
                    : normal(random));
  }
  return bytes;
}

Stored store(const ProductCase& problem, std::vector<std::int64_t> extents, std::mt19937& random) {
  Stored result;
  result.extents = std::move(extents);
  result.strides.resize(result.extents.size());
  result.shift = problem.shift;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < result.extents.size(); ++i) {
    const std::size_t d = problem.transposed ? i : result.extents.size() - 1 - i;
    result.strides[d] = stride;
    stride *= result.extents[d] + (i == 0 ? problem.gap : 0);
  }
  result.bytes =
      draw(problem.type, static_cast<std::size_t>(std::max<std::int64_t>(stride, 1) + problem.shift),
           problem.whole, random);
  return result;
}

/// The same values in the widest type, or their magnitudes.
Bytes widened(ScalarType type, const Bytes& bytes, bool magnitudes) {
  const ScalarType real = real_of(type);
  const std::size_t count = bytes.size() / size_of(real);
  Bytes result(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i) {
    double value = value_at(real, bytes.data(), i);
    if (magnitudes && is_complex(type)) {
      const double other = value_at(real, bytes.data(), i ^ 1u);
      value = i % 2 == 0 ? std::hypot(value, other) : 0.0;
    } else if (magnitudes) {
      value = std::fabs(value);
    }
    set_value(ScalarType::float64, result.data(), i, value);
  }
  return result;
}

}  // namespace

std::string compare(const ProductCase& problem) {
  std::mt19937 random(7);
  const bool turned = (problem.options.vectors == VectorSide::left) != problem.options.adjoint;
  const auto rank = static_cast<int>(problem.extents.size());
  const auto axis =
      static_cast<std::size_t>(problem.options.axis < 0 ? problem.options.axis + rank : problem.options.axis);
  std::vector<std::int64_t> x_extents = problem.extents, y_extents = problem.extents;
  x_extents[axis] = y_extents[axis] = 1;
  for (const auto& matrix : problem.matrices) {
    x_extents[axis] *= turned ? matrix.rows : matrix.columns;
    y_extents[axis] *= turned ? matrix.columns : matrix.rows;
  }
  const std::int64_t batches =
      problem.options.batch_axis ? x_extents[static_cast<std::size_t>(*problem.options.batch_axis)] : 1;
  const Stored x = store(problem, x_extents, random);
  const Stored y = problem.in_place ? x : store(problem, y_extents, random);
  std::vector<Bytes> values;
  for (const auto& matrix : problem.matrices)
    values.push_back(draw(
        problem.type, static_cast<std::size_t>(matrix.rows * matrix.columns * (matrix.batched ? batches : 1)),
        problem.whole, random));
  const auto factors_at = [&](ScalarType type, const auto& pointer_of) {
    std::vector<Factor> factors;
    for (std::size_t i = 0; i < problem.matrices.size(); ++i) {
      const auto& matrix = problem.matrices[i];
      factors.push_back({pointer_of(i), type, matrix.rows, matrix.columns,
                         matrix.column_major ? 1 : matrix.columns, matrix.column_major ? matrix.rows : 1,
                         matrix.batched ? matrix.rows * matrix.columns : 0, matrix.conjugate});
    }
    return factors;
  };

  DeviceBuffer device_x(x.bytes.size()), device_y(y.bytes.size());
  require_cuda(cudaMemcpy(device_x.as<>(), x.bytes.data(), x.bytes.size(), cudaMemcpyHostToDevice));
  require_cuda(cudaMemcpy(device_y.as<>(), y.bytes.data(), y.bytes.size(), cudaMemcpyHostToDevice));
  std::vector<std::unique_ptr<DeviceBuffer>> device_factors;
  for (const Bytes& bytes : values) {
    device_factors.push_back(std::make_unique<DeviceBuffer>(std::max<std::size_t>(bytes.size(), 1)));
    require_cuda(
        cudaMemcpy(device_factors.back()->as<>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  void* const source = problem.in_place ? device_y.as<>() : device_x.as<>();
  kronecker(cudaStream_t{},
            factors_at(problem.type, [&](std::size_t i) { return device_factors[i]->as<>(); }),
            ConstTensorDescriptor(x.describe(problem.type, source)),
            y.describe(problem.type, device_y.as<>()), problem.options);
  Bytes actual(y.bytes.size()), x_after(x.bytes.size());
  require_cuda(cudaMemcpy(actual.data(), device_y.as<>(), actual.size(), cudaMemcpyDeviceToHost));
  require_cuda(cudaMemcpy(x_after.data(), device_x.as<>(), x_after.size(), cudaMemcpyDeviceToHost));
  if (x_after != x.bytes) return "the input was written";

  const auto on_host = [&](ScalarType type, const Bytes& from, Bytes to, const std::vector<Bytes>& matrices) {
    const Kokkos::DefaultHostExecutionSpace space;
    kronecker(space, factors_at(type, [&](std::size_t i) { return matrices[i].data(); }),
              ConstTensorDescriptor(x.describe<const void*>(type, from.data())),
              y.describe<void*>(type, to.data()), problem.options);
    space.fence();
    return to;
  };
  const ScalarType real = real_of(problem.type);
  const std::size_t reals = actual.size() / size_of(real);
  std::ostringstream text;
  if (problem.whole) {
    const Bytes expected = on_host(problem.type, x.bytes, y.bytes, values);
    for (std::size_t i = 0; i < reals; ++i) {
      // The sign of a zero depends on the order of the factors.
      if (value_at(real, actual.data(), i) == value_at(real, expected.data(), i)) continue;
      text << "number " << i << " is " << value_at(real, actual.data(), i) << ", not "
           << value_at(real, expected.data(), i);
      return text.str();
    }
    return "";
  }

  const ScalarType wide = is_complex(problem.type) ? ScalarType::complex128 : ScalarType::float64;
  const auto run_wide = [&](bool magnitudes) {
    std::vector<Bytes> wide_values;
    for (const Bytes& bytes : values) wide_values.push_back(widened(problem.type, bytes, magnitudes));
    // Untouched elements of y are 0 in the bound, and what they were in the values.
    return on_host(wide, widened(problem.type, x.bytes, magnitudes),
                   widened(problem.type, y.bytes, magnitudes), wide_values);
  };
  const Bytes expected = run_wide(false), size = run_wide(true);
  const double u = real == ScalarType::float64 ? 0x1p-53 : 0x1p-24;
  const double storage = real == ScalarType::float16 ? 0x1p-11 : real == ScalarType::bfloat16 ? 0x1p-8 : u;
  double depth = 2;
  for (const auto& matrix : problem.matrices)
    depth += static_cast<double>((turned ? matrix.rows : matrix.columns) + 1);
  // On the matrix units, and between passes of their kernels, 16-bit values are rounded after each factor.
  bool of_one_size = true;
  for (const auto& matrix : problem.matrices)
    of_one_size = of_one_size && matrix.rows == problem.matrices[0].rows && matrix.columns == matrix.rows;
  const double roundings =
      size_of(real) == 2 && of_one_size ? static_cast<double>(problem.matrices.size() - 1) : 0.0;
  // Twice in float64, where the CPU layer errs as much.
  const double gamma = (is_complex(problem.type) ? 3 : 1) * depth * u * (real == ScalarType::float64 ? 2 : 1);
  for (std::size_t i = 0; i < reals; ++i) {
    const double got = value_at(real, actual.data(), i);
    const double wanted = value_at(ScalarType::float64, expected.data(), i);
    const double magnitude =
        value_at(ScalarType::float64, size.data(), is_complex(problem.type) ? i & ~std::size_t{1} : i);
    const double bound = (gamma + roundings * storage) * (1 + storage) * std::fabs(magnitude) +
                         storage * std::fabs(wanted) + (real == ScalarType::float16 ? 0x1p-25 : 0.0);
    if (std::fabs(got - wanted) <= bound) continue;
    text << "number " << i << " is " << got << ", not " << wanted << " within " << bound;
    return text.str();
  }
  return "";
}

}  // namespace papillon::test
