// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <doctest/doctest.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "papillon/gemm.hpp"
#include "support/gemm_oracle.hpp"
#include "support/guarded.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// Every memory order whose strides are positive.
inline constexpr Memory product_memories[] = {Memory::row_major, Memory::column_major, Memory::padded,
                                              Memory::strided, Memory::permuted};
inline constexpr papillon::MatrixOperation all_operations[] = {
    papillon::MatrixOperation::none, papillon::MatrixOperation::transpose,
    papillon::MatrixOperation::conjugate_transpose, papillon::MatrixOperation::conjugate};

/// Calls body(space) for every space that takes products of T: complex ones run on the host alone.
template <class T, class Body>
void for_each_product_space(Body&& body) {
  for_each_space([&]<class Space>(const Space& space) {
    if constexpr (!is_std_complex<T> || Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible)
      body(space);
  });
}

/// One product of elements T into elements O, and its statement.
template <class T, class O = T>
struct GemmCase {
  ProductShape shape = {};
  std::complex<double> alpha = 1.0;
  std::complex<double> beta = 0.0;
  papillon::GemmOptions options = {};
  Memory a_memory = Memory::row_major;
  Memory b_memory = Memory::row_major;
  Memory c_memory = Memory::row_major;
  std::vector<T> a = {}, b = {};
  std::vector<O> c = {};

  Shape a_shape() const {
    return stored(turns(shape.op_a) ? Shape{shape.k, shape.m} : Shape{shape.m, shape.k}, shape.a_batched);
  }
  Shape b_shape() const {
    return stored(turns(shape.op_b) ? Shape{shape.n, shape.k} : Shape{shape.k, shape.n}, shape.b_batched);
  }
  Shape c_shape() const { return stored({shape.m, shape.n}, shape.batch != 1); }

  void draw(std::uint64_t seed, Data data = Data::smooth) {
    a = random_values<T>(volume(a_shape()), 3 * seed, data);
    b = random_values<T>(volume(b_shape()), 3 * seed + 1, data);
    c = random_values<O>(volume(c_shape()), 3 * seed + 2, data);
  }

  std::string text() const {
    return "m " + std::to_string(shape.m) + " n " + std::to_string(shape.n) + " k " +
           std::to_string(shape.k) + " batch " + std::to_string(shape.batch) +
           (shape.a_batched ? " of A" : "") + (shape.b_batched ? " of B" : "") + " op " +
           std::to_string(static_cast<int>(shape.op_a)) + " " + std::to_string(static_cast<int>(shape.op_b)) +
           " alpha " + std::to_string(alpha.real()) + " beta " + std::to_string(beta.real()) + " A " +
           to_string(a_memory) + " B " + to_string(b_memory) + " C " + to_string(c_memory) + " algorithm " +
           std::to_string(static_cast<int>(options.algorithm)) + " levels " +
           std::to_string(options.max_levels);
  }

  papillon::GemmOptions call_options() const {
    papillon::GemmOptions result = options;
    result.op_a = shape.op_a;
    result.op_b = shape.op_b;
    return result;
  }

  /// C of a call on guarded arrays, with a workspace of NaN of just the size that is needed.
  template <class Space>
  std::vector<O> run(const Space& space) const {
    INFO(text());
    Guarded<T, Space> from_a(a_shape(), a_memory, a), from_b(b_shape(), b_memory, b);
    Guarded<O, Space> to(c_shape(), c_memory, c);
    const auto a_before = from_a.bytes(), b_before = from_b.bytes();
    papillon::GemmOptions call = call_options();
    const std::size_t bytes = papillon::gemm_workspace_bytes(
        space, alpha, from_a.const_descriptor(), from_b.const_descriptor(), beta, to.descriptor(), call);
    CHECK(bytes <= call.max_workspace_bytes);
    const std::size_t doubles = bytes / sizeof(double) + 8;
    const Kokkos::View<double*, typename Space::memory_space> workspace("workspace", doubles);
    Kokkos::deep_copy(workspace, std::numeric_limits<double>::quiet_NaN());
    if (bytes > 0) call.workspace = {workspace.data(), bytes};
    papillon::gemm(space, alpha, from_a.const_descriptor(), from_b.const_descriptor(), beta, to.descriptor(),
                   call);
    space.fence();
    CHECK_MESSAGE(from_a.bytes() == a_before, "A was written");
    CHECK_MESSAGE(from_b.bytes() == b_before, "B was written");
    CHECK_MESSAGE(to.surroundings_intact(), "something beside C was written");
    const auto after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), workspace);
    for (std::size_t i = (bytes + sizeof(double) - 1) / sizeof(double); i < doubles; ++i)
      CHECK_MESSAGE(std::isnan(after(i)), "something behind the workspace was written");
    return to.get();
  }

  /// For whole numbers whose sums are exact: C is the sum, rounded to O once.
  void check_exact(const std::vector<O>& got) const {
    Parts<std::int64_t> wanted = oracle_product(shape, parts_of<std::int64_t>(a), parts_of<std::int64_t>(b));
    oracle_combine(wanted, alpha, beta, parts_of<std::int64_t>(c));
    REQUIRE(got.size() == wanted.re.size());
    std::ptrdiff_t wrong = -1;
    for (std::size_t i = 0; i < got.size() && wrong < 0; ++i)
      if (!(got[i] == as_output(wanted, i))) wrong = static_cast<std::ptrdiff_t>(i);
    INFO(text(), ", element ", wrong);
    CHECK(wrong == -1);
  }

  /// Element by element |C - exact| <= gamma (|alpha| |A| |B| + |beta| |C|), gamma of k + 2 roundings (of
  /// every term: one its product, k - 1 additions, alpha, and the addition of beta C), three times as much
  /// for complex numbers, and one rounding of a 16-bit C.
  void check_classical(const std::vector<O>& got) const {
    const auto la = parts_of<long double>(a), lb = parts_of<long double>(b), lc = parts_of<long double>(c);
    Parts<long double> wanted = oracle_product(shape, la, lb);
    oracle_combine(wanted, alpha, beta, lc);
    Parts<long double> size = oracle_product(shape, magnitudes(la), magnitudes(lb));
    oracle_combine(size, std::abs(alpha), std::abs(beta), magnitudes(lc));
    const long double depth = static_cast<long double>(shape.k + 2);
    const long double u = product_roundoff<T>();
    const long double gamma = (is_std_complex<T> ? 3 : 1) * depth * u / (1 - depth * u);
    // The oracle's own sums in long double.
    const long double oracle = 4 * depth * 0x1p-64L;
    check_within(got, wanted, [&](std::size_t i) { return (gamma + oracle) * size.re[i]; });
  }

  /// The bound of the whole matrix, E u |alpha| max|A| max|B|, for beta = 0.
  void check_normwise(const std::vector<O>& got, double error_factor) const {
    const auto la = parts_of<long double>(a), lb = parts_of<long double>(b);
    Parts<long double> wanted = oracle_product(shape, la, lb);
    oracle_combine(wanted, alpha, 0.0, {});
    const auto most = [](const Parts<long double>& values) {
      const auto sizes = magnitudes(values).re;
      return sizes.empty() ? 0.0L : *std::max_element(sizes.begin(), sizes.end());
    };
    const long double bound = (is_std_complex<T> ? 3 : 1) * static_cast<long double>(error_factor) *
                              product_roundoff<T>() *
                              std::abs(static_cast<std::complex<long double>>(alpha)) * most(la) * most(lb);
    check_within(got, wanted, [&](std::size_t) { return bound; });
  }

 private:
  Shape stored(Shape matrix, bool batched) const {
    if (batched) matrix.insert(matrix.begin(), shape.batch);
    return matrix;
  }

  static O as_output(const Parts<std::int64_t>& values, std::size_t i) {
    if constexpr (is_std_complex<O>) {
      using R = typename O::value_type;
      return {static_cast<R>(values.re[i]), static_cast<R>(values.im[i])};
    } else if constexpr (std::is_same_v<O, double>) {
      return static_cast<double>(values.re[i]);
    } else {
      return O(static_cast<float>(values.re[i]));
    }
  }

  template <class Bound>
  void check_within(const std::vector<O>& got, const Parts<long double>& wanted, const Bound& bound) const {
    const Parts<long double> values = parts_of<long double>(got);
    REQUIRE(values.re.size() == wanted.re.size());
    constexpr long double storage = storage_roundoff<O>();
    constexpr long double least = std::is_same_v<O, papillon::half> ? 0x1p-25L : 0;  // half's subnormals
    for (std::size_t i = 0; i < values.re.size(); ++i) {
      const long double re = values.re[i] - wanted.re[i];
      const long double im = values.complex ? values.im[i] - wanted.im[i] : 0;
      const long double allowed = bound(i) * (1 + storage) + storage * std::abs(wanted.re[i]) + least;
      if (std::hypot(re, im) <= allowed) continue;
      INFO(text());
      FAIL_CHECK("element ", i, " is ", static_cast<double>(values.re[i]), ", not ",
                 static_cast<double>(wanted.re[i]), " within ", static_cast<double>(allowed));
      return;
    }
  }
};

/// What a call's plan on the host says of its error.
template <class T, class O>
double planned_error_factor(const GemmCase<T, O>& problem) {
  Guarded<T> a(problem.a_shape()), b(problem.b_shape());
  Guarded<O> c(problem.c_shape());
  const auto checked =
      papillon::detail::make_gemm_problem(problem.alpha, a.const_descriptor(), b.const_descriptor(),
                                          problem.beta, c.descriptor(), problem.call_options());
  return papillon::detail::error_factor(
      checked, papillon::generic::make_gemm_plan<Kokkos::DefaultHostExecutionSpace>(checked));
}

/// A product of up to `most` rows, columns and terms, with everything else at random; values are not drawn.
template <class T, class O = T>
GemmCase<T, O> random_gemm(std::mt19937& random, int most) {
  const auto pick = [&](int least, int largest) {
    return least + static_cast<int>(random() % static_cast<unsigned>(largest - least + 1));
  };
  GemmCase<T, O> problem;
  ProductShape& shape = problem.shape;
  shape.m = pick(1, most);
  shape.n = pick(1, most);
  shape.k = pick(1, most);
  shape.batch = pick(0, 2) == 0 ? pick(2, 4) : 1;
  shape.a_batched = shape.batch > 1 && pick(0, 1) == 1;
  shape.b_batched = shape.batch > 1 && pick(0, 1) == 1;
  shape.op_a = all_operations[pick(0, 3)];
  shape.op_b = all_operations[pick(0, 3)];
  problem.a_memory = product_memories[pick(0, 4)];
  problem.b_memory = product_memories[pick(0, 4)];
  problem.c_memory = product_memories[pick(0, 4)];
  const double factors[] = {0.0, 1.0, -1.0, 2.0, -3.0};
  problem.alpha = factors[pick(1, 4)];
  problem.beta = factors[pick(0, 4)];
  if constexpr (is_std_complex<T>) {
    problem.alpha = {problem.alpha.real(), factors[pick(0, 4)]};
    problem.beta = {problem.beta.real(), factors[pick(0, 3)]};
  }
  return problem;
}

}  // namespace papillon_test
