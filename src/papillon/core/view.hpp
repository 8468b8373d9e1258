// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>
#include <type_traits>

#include "papillon/core/tensor.hpp"

namespace papillon {

template <>
struct ScalarTraits<Kokkos::complex<float>> : ScalarTraitsBase<ScalarType::complex64> {};
template <>
struct ScalarTraits<Kokkos::complex<double>> : ScalarTraitsBase<ScalarType::complex128> {};

namespace detail {

// Kokkos' 16-bit types are float on a build without a device; there they need no mapping of their own.
struct NoSuchScalar;
template <class Kokkos16>
using DistinctHalf =
    std::conditional_t<std::is_class_v<Kokkos16> && sizeof(Kokkos16) == 2, Kokkos16, NoSuchScalar>;

}  // namespace detail

template <>
struct ScalarTraits<detail::DistinctHalf<Kokkos::Experimental::half_t>>
    : ScalarTraitsBase<ScalarType::float16> {};

template <class T>
concept KokkosView = Kokkos::is_view_v<std::remove_cvref_t<T>>;

/// The descriptor of a View of rank 1 to 8, any layout, managed or not; const elements give a read-only one.
template <KokkosView View>
auto describe_view(const View& view) {
  using Value = typename View::value_type;
  using Element = std::remove_const_t<Value>;
  static_assert(Scalar<Element>,
                "papillon: the View's element type is not one that Papillon transforms (see ScalarType)");
  static_assert(View::rank() >= 1 && View::rank() <= max_rank, "papillon: Views of rank 1 to 8 are taken");
  using Pointer = std::conditional_t<std::is_const_v<Value>, const void*, void*>;
  BasicTensorDescriptor<Pointer> tensor{
      view.data(), scalar_type_of<Element>, static_cast<int>(View::rank()), {}, {}};
  for (std::size_t d = 0; d < View::rank(); ++d) {
    tensor.extents[d] = static_cast<std::int64_t>(view.extent(d));
    tensor.strides[d] = static_cast<std::int64_t>(view.stride(d));
  }
  return tensor;
}

}  // namespace papillon
