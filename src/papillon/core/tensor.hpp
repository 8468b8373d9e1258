// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "papillon/core/scalar.hpp"

namespace papillon {

/// The largest rank that Papillon takes.
inline constexpr int max_rank = 8;

/// A strided array without its C++ type: what every operator works on after the caller's View or mdspan has
/// been taken apart, so that nothing is instantiated per rank, layout or element type.
///
/// `Pointer` is `void*` (writable) or `const void*`. Extents and strides count elements, slowest index first
/// as the caller has them; strides may be 0 (an input that repeats) or negative.
template <class Pointer>
struct BasicTensorDescriptor {
  Pointer data = nullptr;
  ScalarType type = ScalarType::float32;
  int rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};

  std::span<const std::int64_t> shape() const { return {extents.data(), static_cast<std::size_t>(rank)}; }

  /// A writable array is a readable one.
  template <class Other>
    requires(std::is_same_v<Other, const void*> && !std::is_same_v<Pointer, Other>)
  operator BasicTensorDescriptor<Other>() const {
    return {data, type, rank, extents, strides};
  }
};

using TensorDescriptor = BasicTensorDescriptor<void*>;
using ConstTensorDescriptor = BasicTensorDescriptor<const void*>;

namespace detail {

template <class Pointer>
BasicTensorDescriptor<Pointer> make_row_major(Pointer data, ScalarType type,
                                              std::span<const std::int64_t> extents) {
  BasicTensorDescriptor<Pointer> tensor{data, type, static_cast<int>(extents.size()), {}, {}};
  std::int64_t stride = 1;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    tensor.extents[i] = extents[i];
    tensor.strides[i] = stride;
    // Wraps where no such array exists, or an empty one: operators refuse the first by its extents.
    const std::uint64_t extent = extents[i] > 0 ? static_cast<std::uint64_t>(extents[i]) : 1u;
    stride = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * extent);
  }
  return tensor;
}

}  // namespace detail

/// A contiguous array whose last index varies fastest.
template <Scalar T>
TensorDescriptor row_major(T* data, std::initializer_list<std::int64_t> extents)
  requires(!std::is_const_v<T>)
{
  return detail::make_row_major<void*>(data, scalar_type_of<T>, {extents.begin(), extents.size()});
}
template <Scalar T>
ConstTensorDescriptor row_major(const T* data, std::initializer_list<std::int64_t> extents) {
  return detail::make_row_major<const void*>(data, scalar_type_of<T>, {extents.begin(), extents.size()});
}

}  // namespace papillon
