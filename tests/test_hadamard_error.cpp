// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The error bound of hadamard's docstring, as derived there, against wider arithmetic.
#include <cmath>
#include <limits>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;

#if defined(__SIZEOF_FLOAT128__) && !defined(__CUDACC__)
__extension__ using Wide = __float128;  // 113 bits: its own error is below 2^-50 of any bound here
#else
using Wide = long double;
#endif

/// 1 / sqrt(n) to twice the digits of a double, by two steps of Newton's iteration from the double's value.
Wide wide_factor(const HadamardOptions& options, std::int64_t n) {
  Wide norm = 1;
  if (options.norm == Normalization::inverse) norm = Wide(1) / Wide(n);
  if (options.norm == Normalization::ortho) {
    norm = Wide(1 / std::sqrt(static_cast<double>(n)));
    for (int step = 0; step < 2; ++step) norm = norm * (Wide(3) - Wide(n) * norm * norm) / Wide(2);
  }
  return norm * Wide(options.scale);
}

Wide magnitude(Wide value) { return value < 0 ? -value : value; }

template <class T>
struct Format;  // unit roundoff of the storage type and half its smallest subnormal
template <>
struct Format<float> {
  static constexpr double unit = 0x1p-24, tiny = 0x1p-150;
};
template <>
struct Format<double> {
  static constexpr double unit = 0x1p-53, tiny = 0x1p-1074;  // half of it is not a double
};
template <>
struct Format<papillon::half> {
  static constexpr double unit = 0x1p-11, tiny = 0x1p-25;
};
template <>
struct Format<papillon::bfloat16> {
  static constexpr double unit = 0x1p-8, tiny = 0x1p-134;
};

/// The largest error of a call in units of the bound (at most 1 where it holds), and of the plain rounding.
template <class T>
double worst_ratio(const auto& space, std::int64_t n, const HadamardOptions& options, Data data,
                   bool& nonzero) {
  const auto x = random_values<T>(static_cast<std::size_t>(n), static_cast<std::uint64_t>(n) + 3u, data);
  const auto y = transform(space, Shape{n}, x, options);
  std::vector<Wide> wide;
  Wide sum = 0;
  for (const T& value : x) {
    wide.push_back(Wide(static_cast<papillon::compute_type<T>>(value)));
    sum += magnitude(wide.back());
  }
  const auto exact = transform_in(std::move(wide));
  const Wide factor = wide_factor(options, n);
  const auto& [m, bits, matrix] = size_of_transform(n);
  const Wide u = Format<papillon::compute_type<T>>::unit;
  const Wide d = Wide(bits + (m > 1 ? m - 1 : 0) + 2);
  const Wide bound = d * u / (1 - d * u) * magnitude(factor) * sum;
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Wide value = Wide(static_cast<papillon::compute_type<T>>(y[i]));
    const Wide target = factor * exact[i];
    Wide allowed = bound;
    if (sizeof(T) == 2) {  // one rounding to the storage type, of a value within the bound of the target
      const Wide relative = Wide(Format<T>::unit) * (magnitude(target) + bound);
      allowed += relative > Wide(Format<T>::tiny) ? relative : Wide(Format<T>::tiny);
    }
    const Wide error = magnitude(value - target);
    nonzero = nonzero || error > 0;
    const auto ratio = static_cast<double>(error / allowed);
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: errors stay within the derived bound", T, PAPILLON_REAL_SCALARS) {
  for_each_space([](const auto& space) {
    bool nonzero = false;
    for (const auto data : {Data::smooth, Data::cancelling, Data::scaled})
      for (const std::int64_t n : {1, 2, 8, 12, 64, 96, 684, 1024, 3584, 28672, 1 << 16})
        for (const auto norm : {Normalization::none, Normalization::ortho, Normalization::inverse}) {
          HadamardOptions options{.norm = norm, .scale = norm == Normalization::ortho ? 0.7 : 1.0};
          if (std::is_same_v<T, papillon::half> && norm == Normalization::none)
            options.scale = 0x1p-12;  // no overflow
          INFO(describe_case({n}, options), ", data ", static_cast<int>(data));
          CHECK(worst_ratio<T>(space, n, options, data, nonzero) <= 1.0);
        }
    CHECK(nonzero);  // else nothing was measured
  });
}
