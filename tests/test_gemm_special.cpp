// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gemm where nothing is multiplied, where NaN and infinities are, and where strides leave 32 bits.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "support/apply.hpp"
#include "support/gemm_case.hpp"
#include "support/gemm_tables.hpp"

namespace {

using namespace papillon_test;
using papillon::GemmAlgorithm;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

constexpr GemmAlgorithm algorithms[] = {GemmAlgorithm::automatic, GemmAlgorithm::classical,
                                        GemmAlgorithm::strassen, GemmAlgorithm::winograd};

template <class T>
T nan_of() {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  if constexpr (is_std_complex<T>) {
    return {static_cast<typename T::value_type>(nan), static_cast<typename T::value_type>(nan)};
  } else {
    return T(nan);
  }
}

template <class T>
void fill(std::vector<T>& values, const T& value) {
  for (T& at : values) at = value;
}

/// What a number is, of what IEEE arithmetic tells apart here.
enum class Kind { finite, nan, plus_infinity, minus_infinity };

Kind kind_of(double value) {
  if (std::isnan(value)) return Kind::nan;
  if (std::isinf(value)) return value > 0 ? Kind::plus_infinity : Kind::minus_infinity;
  return Kind::finite;
}

/// Kinds of the elements of alpha A B + beta C: those of sums of small numbers, NaN and infinities do not
/// depend on the order, and long double has the rules of all others.
template <class T>
std::vector<Kind> kinds(const GemmCase<T>& problem) {
  Parts<long double> wanted =
      oracle_product(problem.shape, parts_of<long double>(problem.a), parts_of<long double>(problem.b));
  oracle_combine(wanted, problem.alpha, problem.beta, parts_of<long double>(problem.c));
  std::vector<Kind> result;
  for (const long double value : wanted.re) result.push_back(kind_of(static_cast<double>(value)));
  return result;
}

/// Puts some of NaN, ±Inf and zeros into an operand.
template <class T>
void spoil(std::vector<T>& values, std::mt19937& random, int count) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float marks[] = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 0.0F, -0.0F};
  for (int i = 0; i < count; ++i) values[random() % values.size()] = T(marks[random() % 5]);
}

/// Address space without memory behind it until it is written; read, it is zeros.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(data_ != MAP_FAILED);
  }
  ~SparseMemory() { munmap(data_, bytes_); }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace

TEST_CASE_TEMPLATE("gemm: beta = 0 does not read C", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    for (const GemmAlgorithm algorithm : algorithms) {
      for (const Memory memory : product_memories) {
        GemmCase<T> problem{{21, 18, 33, 2, true, false}};
        problem.options.algorithm = algorithm;
        problem.c_memory = memory;
        problem.draw(1, Data::integers);
        fill(problem.c, nan_of<T>());
        GemmCase<T> clean = problem;
        fill(clean.c, T{});
        clean.check_exact(problem.run(space));
        problem.beta = {-0.0, 0.0};
        clean.check_exact(problem.run(space));
      }
    }
  });
}

TEST_CASE_TEMPLATE("gemm: beta = 0 does not read C by any table either", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    for_each_algorithm([&](const papillon::GemmOptions& options) {
      // Blocks of C whose first product has fewer rows or columns than they, or none.
      for (std::int64_t i = 2; i <= 20; ++i) {
        GemmCase<T> problem{{i, 2 + 7 * i % 19, 2 + 11 * i % 19}};
        problem.options = options;
        problem.draw(1, Data::integers);
        fill(problem.c, nan_of<T>());
        GemmCase<T> clean = problem;
        fill(clean.c, T{});
        clean.check_exact(problem.run(space));
      }
    });
  });
}

TEST_CASE_TEMPLATE("gemm: without terms C is beta C", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    for (const GemmAlgorithm algorithm : algorithms) {
      for (const double beta : {0.0, 1.0, -2.0}) {
        GemmCase<T> problem{{13, 6, 0, 3, false, true}};
        problem.options.algorithm = algorithm;
        problem.beta = beta;
        problem.c_memory = Memory::padded;
        problem.draw(2, Data::integers);
        problem.check_exact(problem.run(space));
        if (beta != 0) continue;
        GemmCase<T> dirty = problem;
        fill(dirty.c, nan_of<T>());
        check_same(dirty.run(space), std::vector<T>(problem.c.size(), T{}));
      }
    }
  });
}

TEST_CASE_TEMPLATE("gemm: alpha = 0 reads neither A nor B", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    for (const GemmAlgorithm algorithm : algorithms) {
      for (const double beta : {0.0, 1.0, -2.0}) {
        GemmCase<T> problem{{9, 14, 5}};
        problem.options.algorithm = algorithm;
        problem.alpha = 0.0;
        problem.beta = beta;
        problem.c_memory = Memory::strided;
        problem.draw(3, Data::integers);
        GemmCase<T> dirty = problem;
        fill(dirty.a, nan_of<T>());
        fill(dirty.b, nan_of<T>());
        problem.check_exact(dirty.run(space));
      }
    }
  });
}

TEST_CASE_TEMPLATE("gemm: beta C alone keeps NaN and infinities, unless beta is 0", T, float, double,
                   papillon::half, papillon::bfloat16) {
  std::mt19937 random(4);
  for (const double beta : {1.0, -2.0}) {
    for (const std::int64_t k : {0, 3}) {
      GemmCase<T> problem{{8, 9, k}};
      problem.alpha = k == 0 ? 1.0 : 0.0;
      problem.beta = beta;
      problem.draw(4);
      spoil(problem.c, random, 20);
      const auto c = problem.run(Kokkos::DefaultHostExecutionSpace{});
      for (std::size_t i = 0; i < c.size(); ++i)
        CHECK(kind_of(part_as<double>(c[i])) == kind_of(beta * part_as<double>(problem.c[i])));
    }
  }
}

TEST_CASE_TEMPLATE("gemm: no rows, no columns, no matrices", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    for (const GemmAlgorithm algorithm : algorithms) {
      for (const ProductShape& shape : {ProductShape{0, 4, 3},
                                        {4, 0, 3},
                                        {0, 0, 0},
                                        {0, 4, 3, 2, true, true},
                                        {3, 4, 5, 0, true, true},
                                        {3, 4, 5, 0, false, false}}) {
        GemmCase<T> problem{shape};
        problem.options.algorithm = algorithm;
        problem.beta = 1.0;
        problem.draw(5);
        CHECK(problem.run(space).empty());
      }
    }
    // Null pointers are right where there is no element.
    papillon::gemm(space, 1.0, papillon::row_major(static_cast<const T*>(nullptr), {0, 3}),
                   papillon::row_major(static_cast<const T*>(nullptr), {3, 0}), 0.0,
                   papillon::row_major(static_cast<T*>(nullptr), {0, 0}));
  });
}

TEST_CASE_TEMPLATE("gemm, classical: NaN and infinities are where the definition puts them", T,
                   PAPILLON_REAL_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    std::mt19937 random(6);
    for (int round = 0; round < 120; ++round) {
      auto problem = random_gemm<T>(random, 50);
      problem.options.algorithm = GemmAlgorithm::classical;
      problem.draw(random());
      spoil(problem.a, random, 3);
      spoil(problem.b, random, 3);
      if (round % 2 == 0) spoil(problem.c, random, 3);
      INFO(problem.text());
      const auto c = problem.run(space);
      const auto wanted = kinds(problem);
      std::ptrdiff_t wrong = -1;
      for (std::size_t i = 0; i < c.size() && wrong < 0; ++i)
        if (kind_of(part_as<double>(c[i])) != wanted[i]) wrong = static_cast<std::ptrdiff_t>(i);
      CHECK(wrong == -1);
    }
  });
}

TEST_CASE_TEMPLATE("gemm, levels: NaN and infinities reach at least what depends on them", T,
                   PAPILLON_REAL_SCALARS) {
  for_each_product_space<T>([](const auto& space) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
      auto problem = random_gemm<T>(random, 50);
      problem.options.algorithm = round % 2 == 0 ? GemmAlgorithm::strassen : GemmAlgorithm::winograd;
      problem.options.max_levels = 1 + round % 3;
      problem.draw(random());
      spoil(problem.a, random, 2);
      spoil(problem.c, random, 2);
      INFO(problem.text());
      const auto c = problem.run(space);
      const auto wanted = kinds(problem);
      for (std::size_t i = 0; i < c.size(); ++i) {
        if (wanted[i] == Kind::finite) continue;
        const Kind got = kind_of(part_as<double>(c[i]));
        CHECK(got != Kind::finite);
        if (wanted[i] == Kind::nan) CHECK(got == Kind::nan);
      }
    }
  });
}

TEST_CASE_TEMPLATE("gemm, classical: a NaN in a complex operand spoils its row alone", T, std::complex<float>,
                   std::complex<double>) {
  GemmCase<T> problem{{19, 23, 31}};
  problem.options.algorithm = GemmAlgorithm::classical;
  problem.draw(8);
  const Kokkos::DefaultHostExecutionSpace space;
  const auto clean = problem.run(space);
  problem.a[7 * 31 + 30] = nan_of<T>();
  const auto dirty = problem.run(space);
  for (std::size_t i = 0; i < clean.size(); ++i)
    CHECK(same_bits(dirty[i], i / 23 == 7 ? nan_of<T>() : clean[i]));
}

TEST_CASE_TEMPLATE("gemm: strides that leave 32 bits", T, float, double, papillon::half,
                   std::complex<float>) {
  constexpr std::int64_t m = 5, n = 6, k = 7;
  constexpr std::int64_t far = (std::int64_t{1} << 31) + 11;  // elements between rows
  const SparseMemory a(static_cast<std::size_t>(m * far) * sizeof(T)),
      b(static_cast<std::size_t>(k * far) * sizeof(T)), c(static_cast<std::size_t>(m * far) * sizeof(T));
  GemmCase<T> problem{{m, n, k}};
  problem.alpha = 2.0;
  problem.beta = -1.0;
  const Kokkos::DefaultHostExecutionSpace space;
  for (const bool row_major : {true, false}) {
    for (const GemmAlgorithm algorithm : algorithms) {
      problem.draw(9, Data::integers);
      const auto put = [&](T* at, const std::vector<T>& values, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            at[i * far + j] = values[static_cast<std::size_t>(i * columns + j)];
      };
      put(a.as<T>(), problem.a, m, k);
      put(b.as<T>(), problem.b, k, n);
      put(c.as<T>(), problem.c, m, n);
      const auto describe = [&](T* data, std::int64_t rows, std::int64_t columns) {
        return papillon::row_major_matrix(static_cast<void*>(data), papillon::scalar_type_of<T>, rows,
                                          columns, far);
      };
      const auto turned = [&](T* data, std::int64_t rows, std::int64_t columns) {
        return papillon::column_major_matrix(static_cast<void*>(data), papillon::scalar_type_of<T>, columns,
                                             rows, far);
      };
      papillon::GemmOptions options;
      options.algorithm = algorithm;
      if (row_major) {
        papillon::gemm(space, problem.alpha, describe(a.as<T>(), m, k), describe(b.as<T>(), k, n),
                       problem.beta, describe(c.as<T>(), m, n), options);
      } else {  // the transposed product of the same arrays
        papillon::gemm(space, problem.alpha, turned(b.as<T>(), k, n), turned(a.as<T>(), m, k), problem.beta,
                       turned(c.as<T>(), m, n), options);
      }
      space.fence();
      std::vector<T> got;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) got.push_back(c.as<T>()[i * far + j]);
      problem.check_exact(got);
    }
  }
}

#ifdef KOKKOS_ENABLE_SERIAL  // no team is started for each of the many short steps
TEST_CASE("gemm: extents near half of INT_MAX") {
  // A and B are address space alone but for a few elements; sums of 16-bit integers are exact.
  constexpr std::int64_t k = (std::int64_t{1} << 30) + 3;
  using T = papillon::half;
  const SparseMemory a(static_cast<std::size_t>(k) * sizeof(T)), b(static_cast<std::size_t>(k) * sizeof(T));
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1} << 20, k / 2, k - 1}) {
    a.as<T>()[i] = T(3.0F);
    b.as<T>()[i] = T(5.0F);
  }
  a.as<T>()[k - 2] = T(1.0F);
  float c = 7;
  const Kokkos::Serial space;
  papillon::gemm(space, 1.0, papillon::row_major(a.as<const T>(), {1, k}),
                 papillon::row_major(b.as<const T>(), {k, 1}), 1.0, papillon::row_major(&c, {1, 1}));
  space.fence();
  CHECK(c == 67);
}
#endif
