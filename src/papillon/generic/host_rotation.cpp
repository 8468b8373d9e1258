// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/generic/host_rotation.hpp"

#include <algorithm>
#include <type_traits>

#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/quantize_problem.hpp"
#include "papillon/generic/base_signs.hpp"
#include "papillon/generic/simd/kernels.hpp"

namespace papillon::generic {

HostRotation::HostRotation(std::int64_t group, const Signs& signs, bool inverse) : group_(group) {
  if (group == 0) return;
  float value = 0.0f;  // a length is all that counts: no element is touched
  const TensorDescriptor row = row_major(&value, {group});
  const detail::HadamardProblem problem =
      detail::make_hadamard_problem(row, row, detail::rotation_options(group, signs, inverse), false);
  m_ = problem.axes[0].m;
  bits_ = problem.axes[0].log2_power;
  transpose_ = problem.transpose;
  factor_ = problem.factor;
  signs_ = {signs.values.data(), signs.seed.value_or(0), signs.seed.has_value()};
}

template <class In, class C>
std::size_t HostRotation::work_elements() const {
  if (!any()) return 0;
  const std::size_t rows = simd::hadamard_rows_scratch_elements<In, C>(bits_);
  return m_ == 1 ? rows : std::max(rows, simd::signed_matrix_scratch_elements<C, C>(static_cast<int>(m_)));
}

template <class In, class C>
void HostRotation::apply(const In* x, C* y, std::int64_t count, C* work) const {
  const auto scale = static_cast<C>(factor_);
  if (m_ == 1) {
    simd::hadamard_rows<In, C>(x, group_, y, group_, count / group_, bits_, 0, scale, work);
    return;
  }
  const std::int64_t width = std::int64_t{1} << bits_;
  simd::hadamard_rows<In, C>(x, width, y, width, count / width, bits_, 0, C{1}, work);
  const C* matrix = base_signs<C>(m_, transpose_);
  for (std::int64_t first = 0; first < count; first += group_) {
    simd::signed_matrix_columns<C, C>(matrix, static_cast<int>(m_), y + first, width, y + first, width, width,
                                      scale, work);
  }
}

std::int64_t HostRotation::sign_period() const {
  constexpr std::int64_t enough = 256;  // for loops over a period to be worth their start
  return has_signs() ? group_ * std::max<std::int64_t>(1, enough / group_) : 0;
}

template <class C>
void HostRotation::make_signs(C* signs) const {
  for (std::int64_t first = 0; first < group_; first += 64) {
    const std::uint64_t word = signs_.seeded ? random_sign_word(signs_.seed, first / 64) : 0;
    const std::int64_t end = std::min<std::int64_t>(first + 64, group_);
    for (std::int64_t i = first; i < end; ++i) {
      const bool negative = signs_.seeded ? (word >> (i - first) & 1u) != 0 : signs_.values[i] < 0;
      signs[i] = negative ? C{-1} : C{1};
    }
  }
  for (std::int64_t i = group_; i < sign_period(); ++i) signs[i] = signs[i - group_];
}

template <class C>
void HostRotation::apply_signs(const C* signs, C* values, std::int64_t count) const {
  const std::int64_t period = sign_period();
  for (std::int64_t first = 0; first < count; first += period) {
    const std::int64_t some = std::min(period, count - first);
    for (std::int64_t i = 0; i < some; ++i) values[first + i] *= signs[i];
  }
}

#define PAPILLON_INSTANTIATE_ROTATION(In, C)                       \
  template std::size_t HostRotation::work_elements<In, C>() const; \
  template void HostRotation::apply(const In*, C*, std::int64_t, C*) const;
PAPILLON_INSTANTIATE_ROTATION(float, float)
PAPILLON_INSTANTIATE_ROTATION(half, float)
PAPILLON_INSTANTIATE_ROTATION(bfloat16, float)
PAPILLON_INSTANTIATE_ROTATION(double, double)
#undef PAPILLON_INSTANTIATE_ROTATION
template void HostRotation::make_signs(float*) const;
template void HostRotation::make_signs(double*) const;
template void HostRotation::apply_signs(const float*, float*, std::int64_t) const;
template void HostRotation::apply_signs(const double*, double*, std::int64_t) const;

}  // namespace papillon::generic
