// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "papillon/core/half.hpp"

namespace papillon {

/// The element types that Papillon transforms.
enum class ScalarType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int32,
  int64,
  complex64,   ///< two float32: real, imaginary
  complex128,  ///< two float64: real, imaginary
};

inline constexpr std::array<ScalarType, 8> all_scalar_types = {
    ScalarType::float32, ScalarType::float64, ScalarType::float16,   ScalarType::bfloat16,
    ScalarType::int32,   ScalarType::int64,   ScalarType::complex64, ScalarType::complex128};

/// Bytes of one element.
constexpr std::size_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return 2;
    case ScalarType::float32:
    case ScalarType::int32:
      return 4;
    case ScalarType::float64:
    case ScalarType::int64:
    case ScalarType::complex64:
      return 8;
    case ScalarType::complex128:
      return 16;
  }
  return 0;
}

/// NumPy's name of the type ("bfloat16" where NumPy has none).
constexpr std::string_view name_of(ScalarType type) {
  switch (type) {
    case ScalarType::float32:
      return "float32";
    case ScalarType::float64:
      return "float64";
    case ScalarType::float16:
      return "float16";
    case ScalarType::bfloat16:
      return "bfloat16";
    case ScalarType::int32:
      return "int32";
    case ScalarType::int64:
      return "int64";
    case ScalarType::complex64:
      return "complex64";
    case ScalarType::complex128:
      return "complex128";
  }
  return "unknown";
}

constexpr bool is_complex(ScalarType type) {
  return type == ScalarType::complex64 || type == ScalarType::complex128;
}
constexpr bool is_integer(ScalarType type) { return type == ScalarType::int32 || type == ScalarType::int64; }

/// A complex element is two reals side by side; everything else is itself. Mode operators with real
/// coefficients treat a complex array as a real one with a trailing axis of length 2.
constexpr ScalarType real_of(ScalarType type) {
  if (type == ScalarType::complex64) return ScalarType::float32;
  if (type == ScalarType::complex128) return ScalarType::float64;
  return type;
}

/// The scalar that sums of `real` are formed in: float32 for 16-bit storage, `real` itself otherwise.
constexpr ScalarType compute_scalar(ScalarType real) {
  return real == ScalarType::float16 || real == ScalarType::bfloat16 ? ScalarType::float32 : real;
}

/// `compute_type<S>` is what sums of S are formed in: float for 16-bit storage, S itself otherwise.
template <class S>
struct ComputeType {
  using type = S;
};
template <>
struct ComputeType<half> {
  using type = float;
};
template <>
struct ComputeType<bfloat16> {
  using type = float;
};
template <class S>
using compute_type = typename ComputeType<S>::type;

/// Maps a C++ element type to its ScalarType; specialise `ScalarTraits` to add an alias (Kokkos::complex is).
template <class T>
struct ScalarTraits;  // not defined for types that Papillon does not transform

template <ScalarType V>
struct ScalarTraitsBase {
  static constexpr ScalarType value = V;
};
template <>
struct ScalarTraits<float> : ScalarTraitsBase<ScalarType::float32> {};
template <>
struct ScalarTraits<double> : ScalarTraitsBase<ScalarType::float64> {};
template <>
struct ScalarTraits<half> : ScalarTraitsBase<ScalarType::float16> {};
template <>
struct ScalarTraits<bfloat16> : ScalarTraitsBase<ScalarType::bfloat16> {};
template <>
struct ScalarTraits<int> : ScalarTraitsBase<ScalarType::int32> {};
template <>
struct ScalarTraits<long> : ScalarTraitsBase<sizeof(long) == 8 ? ScalarType::int64 : ScalarType::int32> {};
template <>
struct ScalarTraits<long long> : ScalarTraitsBase<ScalarType::int64> {};
template <>
struct ScalarTraits<std::complex<float>> : ScalarTraitsBase<ScalarType::complex64> {};
template <>
struct ScalarTraits<std::complex<double>> : ScalarTraitsBase<ScalarType::complex128> {};

template <class T>
concept Scalar = requires { ScalarTraits<T>::value; };

/// The ScalarType of a C++ element type.
template <Scalar T>
inline constexpr ScalarType scalar_type_of = ScalarTraits<T>::value;

}  // namespace papillon
