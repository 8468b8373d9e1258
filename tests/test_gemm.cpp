// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gemm, classical: every element within the bound of its own sum, against sums in long double.
#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <complex>
#include <random>
#include <type_traits>
#include <vector>

#include "support/apply.hpp"
#include "support/gemm_case.hpp"

namespace {

using namespace papillon_test;
using papillon::GemmAlgorithm;
using papillon::MatrixOperation;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

template <class T, class O>
void check_random(unsigned seed, int rounds, int most) {
  for_each_product_space<T>([&](const auto& space) {
    std::mt19937 random(seed);
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(round);
      auto problem = random_gemm<T, O>(random, most);
      problem.options.algorithm = GemmAlgorithm::classical;
      // Sums of the spread ones are more than half holds.
      const bool spread = round % 3 == 0 && !std::is_same_v<O, papillon::half>;
      problem.draw(random(), spread ? Data::scaled : Data::smooth);
      const auto c = problem.run(space);
      problem.check_classical(c);
      check_same(problem.run(space), c);
    }
  });
}

template <class T, class O = T>
void check_shape(std::int64_t m, std::int64_t n, std::int64_t k,
                 GemmAlgorithm algorithm = GemmAlgorithm::classical) {
  for_each_product_space<T>([&](const auto& space) {
    for (const Memory memory : {Memory::row_major, Memory::column_major, Memory::padded}) {
      GemmCase<T, O> problem{{m, n, k}};
      problem.a_memory = problem.b_memory = problem.c_memory = memory;
      problem.alpha = 0.75;
      problem.beta = -0.5;
      problem.options.algorithm = algorithm;
      problem.draw(static_cast<std::uint64_t>(m + n + k));
      problem.check_classical(problem.run(space));
    }
  });
}

/// C of Views against the definition, in whole numbers.
template <class A, class B, class C>
void check_views(const A& a, const B& b, const C& c) {
  using T = typename C::value_type;
  static_assert(A::rank() == 2 && B::rank() == 2 && C::rank() == 2);
  for (std::size_t i = 0; i < a.extent(0); ++i)
    for (std::size_t l = 0; l < a.extent(1); ++l) a(i, l) = T(static_cast<float>((3 * i + 5 * l) % 7) - 3);
  for (std::size_t l = 0; l < b.extent(0); ++l)
    for (std::size_t j = 0; j < b.extent(1); ++j) b(l, j) = T(static_cast<float>((2 * l + 3 * j) % 5) - 2);
  for (std::size_t i = 0; i < c.extent(0); ++i)
    for (std::size_t j = 0; j < c.extent(1); ++j) c(i, j) = T(1);
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::gemm(space, 2.0, a, b, -1.0, c);
  space.fence();
  for (std::size_t i = 0; i < c.extent(0); ++i) {
    for (std::size_t j = 0; j < c.extent(1); ++j) {
      long sum = 0;
      for (std::size_t l = 0; l < a.extent(1); ++l)
        sum += (static_cast<long>((3 * i + 5 * l) % 7) - 3) * (static_cast<long>((2 * l + 3 * j) % 5) - 2);
      CHECK(static_cast<float>(c(i, j)) == static_cast<float>(2 * sum - 1));
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("gemm: operations, layouts, batches, factors at random", T, PAPILLON_PRODUCT_SCALARS) {
  check_random<T, T>(1, 200, 40);
  check_random<T, T>(2, 12, 150);
}

TEST_CASE_TEMPLATE("gemm: 16-bit operands, float result", T, papillon::half, papillon::bfloat16) {
  check_random<T, float>(3, 200, 40);
  check_random<T, float>(4, 12, 150);
  check_shape<T, float>(65, 33, 1200);
}

TEST_CASE_TEMPLATE("gemm: skinny, long and ragged shapes", T, PAPILLON_PRODUCT_SCALARS) {
  check_shape<T>(1, 1, 1);
  check_shape<T>(1, 1, 5000);
  check_shape<T>(3000, 1, 2);
  check_shape<T>(1, 3000, 3);
  check_shape<T>(2, 3, 2100);
  check_shape<T>(301, 5, 67);
  check_shape<T>(5, 301, 67);
  check_shape<T>(129, 257, 65);
  check_shape<T>(129, 257, 65, GemmAlgorithm::automatic);
}

TEST_CASE_TEMPLATE("gemm: more rows and columns than are packed at a time", T, float, double,
                   papillon::bfloat16) {
  check_shape<T>(2077, 2, 3);
  check_shape<T>(3, 2077, 7);
  check_shape<T>(4100, 19, 2);
  check_shape<T>(7, 4100, 2);
}

TEST_CASE_TEMPLATE("gemm: factors that the sums' type does not hold are rounded to it", T,
                   PAPILLON_PRODUCT_SCALARS) {
  GemmCase<T> problem{{31, 17, 9}};
  problem.alpha = 0.1;
  problem.beta = 0.7;
  problem.draw(5);
  const auto c = problem.run(Kokkos::DefaultHostExecutionSpace{});
  if constexpr (product_roundoff<T>() > 0x1p-50L) {
    problem.alpha = static_cast<double>(0.1F);
    problem.beta = static_cast<double>(0.7F);
  }
  problem.check_classical(c);
}

TEST_CASE_TEMPLATE("gemm: the bound of the whole matrix holds for one term and a factor that rounds", T,
                   float, double, std::complex<float>) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const double alpha : {1.0, 0.75}) {
      GemmCase<T> problem{{1, 1, 1}};
      problem.alpha = alpha;
      problem.draw(seed);
      problem.check_normwise(problem.run(Kokkos::DefaultHostExecutionSpace{}), planned_error_factor(problem));
    }
  }
}

TEST_CASE_TEMPLATE("gemm: Views of every layout, whole and parts of others", T, float, double,
                   papillon::half) {
  using Kokkos::HostSpace;
  using Right = Kokkos::View<T**, Kokkos::LayoutRight, HostSpace>;
  using Left = Kokkos::View<T**, Kokkos::LayoutLeft, HostSpace>;
  using Strided = Kokkos::View<T**, Kokkos::LayoutStride, HostSpace>;
  constexpr std::size_t m = 23, n = 19, k = 31;
  const auto with_a = [&](const auto& a) {
    const auto with_b = [&](const auto& b) {
      check_views(a, b, Right("c", m, n));
      check_views(a, b, Left("c", m, n));
      check_views(a, b, Strided("c", Kokkos::LayoutStride(m, 3, n, 3 * m + 1)));
      const Right wide("c", m + 3, n + 5);
      check_views(a, b,
                  Kokkos::subview(wide, std::pair<std::size_t, std::size_t>(2, 2 + m),
                                  std::pair<std::size_t, std::size_t>(4, 4 + n)));
      CHECK(static_cast<float>(wide(1, 4)) == 0);
      CHECK(static_cast<float>(wide(2, 3)) == 0);
      CHECK(static_cast<float>(wide(2, 4 + n)) == 0);
      CHECK(static_cast<float>(wide(2 + m, 4)) == 0);
      const Right padded(Kokkos::view_alloc("c", Kokkos::AllowPadding), m, n);
      check_views(a, b, padded);
    };
    with_b(Right("b", k, n));
    with_b(Left("b", k, n));
    with_b(Strided("b", Kokkos::LayoutStride(k, 2, n, 2 * k + 3)));
  };
  with_a(Right("a", m, k));
  with_a(Left("a", m, k));
  with_a(Strided("a", Kokkos::LayoutStride(m, 5, k, 5 * m)));
  const Kokkos::View<T***, Kokkos::LayoutRight, HostSpace> deep("a", m, k, 3);
  with_a(Kokkos::subview(deep, Kokkos::ALL, Kokkos::ALL, 1));
}

TEST_CASE("gemm: Views of rank 3 are batches, one of rank 2 serves all") {
  const Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> a("a", 4, 3, 5), c("c", 4, 3, 2);
  const Kokkos::View<double***, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 4, 3, 2);
  const Kokkos::View<const double**, Kokkos::LayoutLeft, Kokkos::HostSpace> b = [] {
    const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> values("b", 5, 2);
    for (std::size_t l = 0; l < 5; ++l)
      for (std::size_t j = 0; j < 2; ++j)
        values(l, j) = static_cast<double>(l) - 3.0 * static_cast<double>(j);
    return values;
  }();
  for (std::size_t e = 0; e < 4; ++e)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t l = 0; l < 5; ++l) a(e, i, l) = static_cast<double>(e * 7 + i * i + 2 * l);
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::gemm(space, 1.0, a, b, 0.0, c);
  papillon::gemm(space, 1.0, a, b, 0.0, left);
  space.fence();
  for (std::size_t e = 0; e < 4; ++e) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < 5; ++l) sum += a(e, i, l) * b(l, j);
        CHECK(c(e, i, j) == sum);
        CHECK(left(e, i, j) == sum);
      }
    }
  }
}

TEST_CASE_TEMPLATE("gemm: a batch stride of 0 serves all of a batch", T, float, std::complex<double>) {
  GemmCase<T> problem{{7, 9, 11, 5, true, true}};
  problem.draw(8, Data::integers);
  GemmCase<T> broadcast = problem;
  broadcast.shape.a_batched = false;
  broadcast.a.resize(77);
  std::vector<T> c(problem.c.size());
  auto a = papillon::ConstTensorDescriptor(papillon::row_major(broadcast.a.data(), {5, 7, 11}));
  a.strides[0] = 0;
  const Kokkos::DefaultHostExecutionSpace space;
  papillon::gemm(space, 1.0, a, papillon::row_major(std::as_const(problem.b).data(), {5, 11, 9}), 0.0,
                 papillon::row_major(c.data(), {5, 7, 9}));
  space.fence();
  broadcast.check_exact(c);
}

TEST_CASE("gemm: large batches of small products") {
  GemmCase<float> problem{{3, 2, 5, 20011, true, false}};
  problem.draw(9, Data::integers);
  problem.check_exact(problem.run(Kokkos::DefaultHostExecutionSpace{}));
  problem.c_memory = problem.a_memory = Memory::column_major;
  problem.check_exact(problem.run(Kokkos::DefaultHostExecutionSpace{}));
}
