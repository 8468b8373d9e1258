// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include "papillon/core/scalar.hpp"

namespace papillon_test {

// Every enabled execution space, each once, as a tuple; a device space joins by being enabled.
#ifdef KOKKOS_ENABLE_SERIAL
using SerialOnly = std::conditional_t<std::is_same_v<Kokkos::Serial, Kokkos::DefaultHostExecutionSpace>,
                                      std::tuple<>, std::tuple<Kokkos::Serial>>;
#else
using SerialOnly = std::tuple<>;
#endif
using DeviceOnly =
    std::conditional_t<std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>,
                       std::tuple<>, std::tuple<Kokkos::DefaultExecutionSpace>>;
using Spaces =
    decltype(std::tuple_cat(std::tuple<Kokkos::DefaultHostExecutionSpace>{}, SerialOnly{}, DeviceOnly{}));

/// Calls body(space) with an instance of every enabled execution space.
template <class Body>
void for_each_space(Body&& body) {
  std::apply(
      [&](const auto&... spaces) {
        (
            [&] {
              INFO("execution space ", std::string(spaces.name()));
              body(spaces);
            }(),
            ...);
      },
      Spaces{});
}

}  // namespace papillon_test

#define PAPILLON_REAL_SCALARS float, double, papillon::half, papillon::bfloat16
#define PAPILLON_INTEGERS std::int32_t, std::int64_t
#define PAPILLON_ALL_SCALARS \
  PAPILLON_REAL_SCALARS, PAPILLON_INTEGERS, std::complex<float>, std::complex<double>

namespace doctest {
template <>
struct StringMaker<papillon::half> {
  static String convert(const papillon::half& value) { return toString(static_cast<float>(value)); }
};
template <>
struct StringMaker<papillon::bfloat16> {
  static String convert(const papillon::bfloat16& value) { return toString(static_cast<float>(value)); }
};
}  // namespace doctest

TYPE_TO_STRING(papillon::half);
TYPE_TO_STRING(papillon::bfloat16);
TYPE_TO_STRING(std::complex<float>);
TYPE_TO_STRING(std::complex<double>);
