// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include "papillon/core/pass.hpp"
#include "papillon/hadamard_options.hpp"

namespace papillon::generic {

/// The rotation of `quantize` on contiguous values that stay in the caches of a thread: I ⊗ H_g / √g with
/// signs before it, or, of `dequantize`, what undoes it. The bits are those of `hadamard`.
class HostRotation {
 public:
  /// None for `group` 0. The arguments have been checked.
  HostRotation(std::int64_t group, const Signs& signs, bool inverse);

  bool any() const { return group_ > 0; }
  bool has_signs() const { return signs_.any(); }

  /// Elements of `work` that `apply` needs.
  template <class In, class C>
  std::size_t work_elements() const;

  /// y = H x / √g for `count` values, a multiple of g; in place or apart. In is C, or a 16-bit type for
  /// float.
  template <class In, class C>
  void apply(const In* x, C* y, std::int64_t count, C* work) const;

  /// Signs as ±1, of a group or of some short ones: `sign_period()` of them, 0 if there are none.
  std::int64_t sign_period() const;
  template <class C>
  void make_signs(C* signs) const;

  /// values[i] *= signs[i mod period], for values from the first of a group on.
  template <class C>
  void apply_signs(const C* signs, C* values, std::int64_t count) const;

 private:
  std::int64_t group_ = 0;
  std::int64_t m_ = 1;  ///< group = m · 2^bits
  int bits_ = 0;
  bool transpose_ = false;
  double factor_ = 1.0;
  detail::SignVector signs_;
};

}  // namespace papillon::generic
