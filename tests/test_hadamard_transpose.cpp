// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <vector>

#include "papillon/papillon.hpp"

namespace {

using papillon::row_major;

}  // namespace

TEST_CASE("hadamard: transpose applies the transposed matrix, and undoes the transform") {
  const Kokkos::DefaultHostExecutionSpace space;
  for (const std::int64_t n : {1, 2, 8, 12, 20, 24, 28, 80, 172, 344, 684}) {
    for (const std::int64_t inner : {1, 3, 32}) {
      CAPTURE(n);
      CAPTURE(inner);
      const std::int64_t rows = 3;
      std::vector<std::int64_t> x(static_cast<std::size_t>(rows * n * inner)), y(x.size()), z(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<std::int64_t>(i * 2654435761u % 2001u) - 1000;
      const auto dx = row_major(static_cast<const std::int64_t*>(x.data()), {rows, n, inner});
      const auto dy = row_major(y.data(), {rows, n, inner});
      papillon::hadamard(space, dx, dy, {.axis = 1, .transpose = true});
      const auto h = papillon::hadamard_matrix(n);
      bool equal = true;
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < inner; ++i) {
            std::int64_t sum = 0;
            for (std::int64_t q = 0; q < n; ++q)
              sum += h(q, j) * x[static_cast<std::size_t>((r * n + q) * inner + i)];
            equal = equal && sum == y[static_cast<std::size_t>((r * n + j) * inner + i)];
          }
        }
      }
      CHECK(equal);

      // The team kernel agrees, and H of the transposed result is n times the input.
      const auto dz = row_major(z.data(), {rows, n, inner});
      papillon::generic::run_hadamard<false>(
          space, papillon::detail::make_hadamard_problem(dx, dz, {.axis = 1, .transpose = true}, true));
      CHECK(y == z);
      papillon::hadamard(space, dy, dy, {.axis = 1});
      bool back = true;
      for (std::size_t i = 0; i < x.size(); ++i) back = back && y[i] == n * x[i];
      CHECK(back);
    }
  }
}

TEST_CASE("hadamard: out of place along the middle of a large cube") {
  // One tile's columns are wider than the kernel's own scratch here.
  const Kokkos::DefaultHostExecutionSpace space;
  const std::int64_t n = 256;
  std::vector<float> x(static_cast<std::size_t>(n * n * n)), y(x.size()), z(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 2654435761u % 2001u) - 1000);
  const auto dx = row_major(static_cast<const float*>(x.data()), {n, n, n});
  papillon::hadamard(space, dx, row_major(y.data(), {n, n, n}), {.axis = 1});
  // Integers below 2^24 are exact in float: one inner plane is checked against the definition.
  bool equal = true;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (std::int64_t q = 0; q < n; ++q) {
        const float value = x[static_cast<std::size_t>((n + q) * n + i)];  // outer index 1
        sum += __builtin_parityll(static_cast<unsigned long long>(q & j)) != 0 ? -value : value;
      }
      equal = equal && sum == y[static_cast<std::size_t>((n + j) * n + i)];
    }
  }
  CHECK(equal);
  papillon::hadamard(space, row_major(static_cast<const float*>(y.data()), {n, n, n}),
                     row_major(z.data(), {n, n, n}), {.norm = papillon::Normalization::inverse, .axis = 1});
  CHECK(x == z);
}
