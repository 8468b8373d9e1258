// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "papillon/butterfly.hpp"
#include "support/guarded.hpp"
#include "support/mode_oracle.hpp"
#include "support/spaces.hpp"

namespace papillon_test {

/// A product of random Kronecker-sparse factors with a random array, and its plain statements: as a dense
/// matrix (the product of dense matrices) and, for long axes, factor by factor; both in long double.
template <class T>
struct ButterflyCase {
  /// What runs it: what the space would, or the team kernel.
  enum class Kernel { chosen, team };
  struct Sparse {
    std::int64_t a, b, c, d;
    bool shares_blocks = false;   ///< the same values for all i
    bool shares_repeats = false;  ///< for all j
    bool conjugate = false;
    std::vector<T> values = {};  ///< row-major, all batch entries one after the other

    Shape stored() const { return {shares_blocks ? 1 : a, b, c, shares_repeats ? 1 : d}; }
    Wide value(std::int64_t batch, std::int64_t i, std::int64_t p, std::int64_t q, std::int64_t j) const {
      const Shape extents = stored();
      const std::int64_t at =
          (((batch * extents[0] + (shares_blocks ? 0 : i)) * b + p) * c + q) * extents[3] +
          (shares_repeats ? 0 : j);
      const Wide entry = wide(values[static_cast<std::size_t>(at)]);
      return conjugate ? std::conj(entry) : entry;
    }
  };
  struct Dense {
    std::int64_t rows = 0, columns = 0;
    std::vector<DenseEntry> entries = {};

    DenseEntry& at(std::int64_t row, std::int64_t column) {
      return entries[static_cast<std::size_t>(row * columns + column)];
    }
  };

  Shape shape;  ///< of x
  int axis = -1;
  std::vector<Sparse> factors;
  papillon::ButterflyOptions options = {};
  std::vector<std::int64_t> permutation = {};
  std::vector<T> x = {};
  std::int64_t batches = 1;

  void draw(std::uint64_t seed, Data data = Data::smooth) {
    options.axis = axis;
    batches = options.batch_axis ? shape[mode().position(*options.batch_axis)] : 1;
    for (Sparse& factor : factors)
      factor.values =
          random_values<T>(static_cast<std::size_t>(batches) * volume(factor.stored()), ++seed, data);
    x = random_values<T>(volume(shape), ++seed, data);
  }

  ModeShape mode() const { return {shape, axis, options.batch_axis}; }
  std::int64_t rows() const { return factors.front().a * factors.front().b * factors.front().d; }
  std::int64_t columns() const { return factors.back().a * factors.back().c * factors.back().d; }
  std::int64_t source_length() const { return options.adjoint ? rows() : columns(); }
  std::int64_t target_length() const { return options.adjoint ? columns() : rows(); }
  Shape result_shape() const {
    Shape result = shape;
    result[mode().position(axis)] = target_length();
    return result;
  }

  /// One factor with all its zeros.
  static Dense dense(const Sparse& f, std::int64_t batch) {
    Dense matrix{f.a * f.b * f.d, f.a * f.c * f.d};
    matrix.entries.resize(static_cast<std::size_t>(matrix.rows * matrix.columns));
    for (std::int64_t row = 0; row < matrix.rows; ++row)
      for (std::int64_t column = 0; column < matrix.columns; ++column) {
        const std::int64_t i = row / (f.b * f.d), j = row % f.d;
        if (column / (f.c * f.d) != i || column % f.d != j) continue;
        const Wide value = f.value(batch, i, row / f.d % f.b, column / f.d % f.c, j);
        matrix.at(row, column) = {value, std::abs(value)};
      }
    return matrix;
  }

  /// The whole matrix, without the scale.
  Dense dense(std::int64_t batch) const {
    Dense product = dense(factors.front(), batch);
    for (std::size_t f = 1; f < factors.size(); ++f) {
      Dense right = dense(factors[f], batch);
      REQUIRE(product.columns == right.rows);
      Dense next{product.rows, right.columns};
      next.entries.resize(static_cast<std::size_t>(next.rows * next.columns));
      for (std::int64_t r = 0; r < product.rows; ++r)
        for (std::int64_t k = 0; k < product.columns; ++k) {
          if (product.at(r, k).magnitude == 0) continue;
          for (std::int64_t c = 0; c < right.columns; ++c) {
            next.at(r, c).value += product.at(r, k).value * right.at(k, c).value;
            next.at(r, c).magnitude += product.at(r, k).magnitude * right.at(k, c).magnitude;
          }
        }
      product = std::move(next);
    }
    if (!permutation.empty()) {
      Dense moved = product;
      for (std::int64_t r = 0; r < product.rows; ++r)
        for (std::int64_t c = 0; c < product.columns; ++c)
          moved.at(r, permutation[static_cast<std::size_t>(c)]) = product.at(r, c);
      product = std::move(moved);
    }
    if (!options.adjoint) return product;
    Dense adjoint{product.columns, product.rows};
    adjoint.entries.resize(product.entries.size());
    for (std::int64_t r = 0; r < product.rows; ++r)
      for (std::int64_t c = 0; c < product.columns; ++c)
        adjoint.at(c, r) = {std::conj(product.at(r, c).value), product.at(r, c).magnitude};
    return adjoint;
  }

  /// gamma of the docstring.
  long double gamma() const {
    long double sums = 0;
    for (const Sparse& factor : factors)
      sums += static_cast<long double>(options.adjoint ? factor.b : factor.c);
    const long double u = sum_roundoff<T>();
    const long double t = (is_std_complex<T> ? 2 * std::sqrt(2.0L) : 1) * sums + 2;
    return t * u / (1 - t * u);
  }

  /// Checks `y`, the result in row-major order, against the dense matrix.
  void check(const std::vector<T>& y) const {
    std::vector<Dense> matrices;
    for (std::int64_t batch = 0; batch < batches; ++batch) matrices.push_back(dense(batch));
    check_dense(mode(), target_length(), source_length(), x, y, options.scale, gamma(), {},
                [&](std::int64_t row, std::int64_t column, std::int64_t batch) {
                  return matrices[static_cast<std::size_t>(batch)].at(row, column);
                });
  }

  /// The same for an axis too long for that, factor after factor; no adjoint, no permutation.
  void check_long(const std::vector<T>& y) const {
    const ModeShape lines = mode();
    const std::int64_t n = columns(), m = rows(), outer = lines.outer(), inner = lines.inner();
    REQUIRE(y.size() == static_cast<std::size_t>(outer * m * inner));
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t k = 0; k < inner; ++k) {
        std::vector<DenseEntry> line;
        for (std::int64_t at = 0; at < n; ++at) {
          const Wide value = wide(x[static_cast<std::size_t>((o * n + at) * inner + k)]);
          line.push_back({value, std::abs(value)});
        }
        for (auto f = factors.rbegin(); f != factors.rend(); ++f)
          line = applied(*f, line, lines.batch_of(o, k));
        for (std::int64_t row = 0; row < m; ++row) {
          const DenseEntry& exact = line[static_cast<std::size_t>(row)];
          const long double scale = options.scale;
          const Wide actual = wide(y[static_cast<std::size_t>((o * m + row) * inner + k)]);
          const long double rounding = sizeof(T) == 2 ? result_roundoff<T>() : 0;
          const long double bound = std::abs(scale) * ((1 + rounding) * gamma() * exact.magnitude +
                                                       rounding * std::abs(exact.value)) +
                                    (std::is_same_v<T, papillon::half> ? 0x1p-25L : 0.0L);
          if (std::abs(actual - scale * exact.value) <= bound) continue;
          INFO("line ", o, ", ", k, " row ", row);
          REQUIRE(static_cast<double>(std::abs(actual - scale * exact.value)) <= static_cast<double>(bound));
        }
      }
    CHECK(true);
  }

  /// Runs the product on guarded arrays laid out as asked.
  template <class Space>
  std::vector<T> run(const Space& space, Memory x_memory = Memory::row_major,
                     Memory y_memory = Memory::row_major, Memory factor_memory = Memory::row_major,
                     Kernel kernel = Kernel::chosen) const {
    Guarded<T, Space> from(shape, x_memory, x);
    Guarded<T, Space> to(result_shape(), y_memory);
    const auto before = from.bytes();
    call(space, from.const_descriptor(), to.descriptor(), factor_memory, kernel);
    CHECK_MESSAGE(from.bytes() == before, "the input was written");
    CHECK_MESSAGE(to.surroundings_intact(), "something beside the output was written");
    return to.get();
  }
  template <class Space>
  std::vector<T> run_in_place(const Space& space) const {
    Guarded<T, Space> array(shape, Memory::row_major, x);
    call(space, array.const_descriptor(), array.descriptor(), Memory::row_major, Kernel::chosen);
    CHECK_MESSAGE(array.surroundings_intact(), "something beside the output was written");
    return array.get();
  }

  /// body(factors) with the factors in the memory of a space.
  template <class Space, class Body>
  void with_factors(Memory memory, const Body& body) const {
    std::vector<Guarded<T, Space>> stored;
    std::vector<papillon::ButterflyFactor> views;
    for (const Sparse& f : factors) {
      Shape extents = f.stored();
      extents.insert(extents.begin(), batches);
      stored.emplace_back(extents, memory, f.values);
      const auto tensor = stored.back().descriptor();
      const auto& s = tensor.strides;
      views.push_back({tensor.data, tensor.type, f.a, f.b, f.c, f.d, f.shares_blocks ? 0 : s[1], s[2], s[3],
                       f.shares_repeats ? 0 : s[4], options.batch_axis ? s[0] : 0, f.conjugate});
    }
    body(views);
  }

 private:
  static std::vector<DenseEntry> applied(const Sparse& f, const std::vector<DenseEntry>& from,
                                         std::int64_t batch) {
    std::vector<DenseEntry> to;
    for (std::int64_t i = 0; i < f.a; ++i)
      for (std::int64_t p = 0; p < f.b; ++p)
        for (std::int64_t j = 0; j < f.d; ++j) {
          DenseEntry sum{0, 0};
          for (std::int64_t q = 0; q < f.c; ++q) {
            const DenseEntry& point = from[static_cast<std::size_t>((i * f.c + q) * f.d + j)];
            const Wide value = f.value(batch, i, p, q, j);
            sum.value += value * point.value;
            sum.magnitude += std::abs(value) * point.magnitude;
          }
          to.push_back(sum);
        }
    return to;
  }

  template <class Space>
  void call(const Space& space, const papillon::ConstTensorDescriptor& from,
            const papillon::TensorDescriptor& to, Memory factor_memory, Kernel kernel) const {
    const Kokkos::View<std::int64_t*, typename Space::memory_space> moved("permutation", permutation.size());
    Kokkos::deep_copy(moved, Kokkos::View<const std::int64_t*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                                 permutation.data(), permutation.size()));
    papillon::ButterflyOptions all = options;
    all.x_permutation = {moved.data(), permutation.size()};
    with_factors<Space>(factor_memory, [&](const std::vector<papillon::ButterflyFactor>& views) {
      if (kernel == Kernel::team) {
        papillon::generic::run_butterfly<false>(
            space, papillon::detail::make_butterfly_problem(views, from, to, all));
      } else {
        papillon::butterfly(space, views, from, to, all);
      }
      space.fence();
    });
  }
};

/// 0 … n - 1 in a random order.
inline std::vector<std::int64_t> shuffled(std::int64_t n, std::mt19937& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

/// Patterns, sharing, adjoints, permutations, axes and batch axes at random.
template <class T>
ButterflyCase<T> random_butterfly(std::mt19937& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto divisor = [&](std::int64_t n) {
    std::int64_t result = 0;
    do result = pick(1, n);
    while (n % result != 0);
    return result;
  };
  ButterflyCase<T> problem;
  // From the first factor on: the columns of one are the rows a·b·d of the next.
  std::int64_t rows = pick(1, 36);
  for (std::int64_t k = pick(1, 5); k > 0; --k) {
    const std::int64_t b = divisor(rows), a = divisor(rows / b), d = rows / b / a;
    const std::int64_t c = pick(1, std::max<std::int64_t>(1, std::min<std::int64_t>(6, 40 / (a * d))));
    problem.factors.push_back({a, b, c, d, pick(0, 2) == 0, pick(0, 2) == 0, pick(0, 1) == 0});
    rows = a * c * d;
  }
  problem.options.adjoint = pick(0, 1) == 1;
  problem.options.scale = pick(0, 1) == 0 ? 1.0 : -0.3;
  if (pick(0, 2) == 0) problem.permutation = shuffled(problem.columns(), random);
  const auto rank = static_cast<int>(pick(1, 4));
  problem.axis = static_cast<int>(pick(-rank, rank - 1));
  problem.shape.assign(static_cast<std::size_t>(rank), 1);
  for (auto& extent : problem.shape) extent = pick(1, 5);
  problem.shape[problem.mode().position(problem.axis)] = problem.source_length();
  if (rank > 1 && pick(0, 1) == 1) {
    problem.options.batch_axis =
        (static_cast<int>(problem.mode().position(problem.axis)) + static_cast<int>(pick(1, rank - 1))) %
        rank;
  }
  problem.draw(random());
  return problem;
}

/// log2_n factors of 2 × 2 blocks with values of their own, as a fast transform has them.
template <class T>
ButterflyCase<T> butterfly_stages(Shape shape, int axis, int log2_n) {
  ButterflyCase<T> problem{std::move(shape), axis, {}};
  for (int s = log2_n; s-- > 0;)
    problem.factors.push_back({std::int64_t{1} << (log2_n - 1 - s), 2, 2, std::int64_t{1} << s});
  return problem;
}

}  // namespace papillon_test
