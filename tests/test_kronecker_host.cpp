// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kronecker: the vector kernels of host spaces, with every instruction set, give the bits of the team kernel.
#include <numeric>
#include <random>

#include "support/apply.hpp"
#include "support/kronecker_case.hpp"
#include "support/targets.hpp"

namespace {

using namespace papillon_test;
using papillon::Factor;
using papillon::VectorSide;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

/// The same problem on the vector kernels and on the team kernel, out of place, with guards around both
/// results.
template <class T, class Space>
void compare(const Space& space, const KroneckerCase<T>& problem, Memory x_memory = Memory::row_major,
             Memory y_memory = Memory::row_major, Memory factor_memory = Memory::row_major) {
  Guarded<T, Space> x(problem.shape, x_memory, problem.x);
  Guarded<T, Space> team(problem.result_shape(), y_memory);
  std::vector<Guarded<T, Space>> stored;
  const std::vector<Factor> factors = problem.factors(stored, factor_memory);
  const auto before = x.bytes();
  const auto make = [&](const auto& y) {
    return papillon::detail::make_kronecker_problem(factors, x.const_descriptor(), y.descriptor(),
                                                    problem.options);
  };
  papillon::generic::run_kronecker<false>(space, make(team));
  space.fence();
  const std::vector<T> expected = team.get();
  on_every_target([&] {
    Guarded<T, Space> vector(problem.result_shape(), y_memory);
    papillon::generic::run_kronecker<true>(space, make(vector));
    space.fence();
    CHECK_MESSAGE(x.bytes() == before, "the input was written");
    CHECK_MESSAGE(vector.surroundings_intact(), "something beside the output was written");
    check_same(vector.get(), expected);
  });
}

template <class Body>
void for_each_host_space(const Body& body) {
  for_each_space([&](const auto& space) {
    if constexpr (papillon::generic::is_host_space<std::decay_t<decltype(space)>>) body(space);
  });
}

class Picker {
 public:
  explicit Picker(unsigned seed) : random_(seed) {}
  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  bool coin() { return between(0, 1) == 1; }
  Memory memory() { return all_memories[random_() % std::size(all_memories)]; }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE_TEMPLATE("kronecker on hosts: vector and team kernels agree on random problems", T,
                   PAPILLON_PRODUCT_SCALARS) {
  for_each_host_space([](const auto& space) {
    Picker pick(21);
    for (int round = 0; round < 250; ++round) {
      CAPTURE(round);
      KroneckerCase<T> problem;
      const int count = pick.between(1, 7);
      const int most = count < 3 ? 24 : count < 5 ? 6 : 3;
      const bool square = pick.coin();
      const int extent = pick.between(2, most);
      for (int i = 0; i < count; ++i) {
        if (square) {
          problem.matrices.push_back({extent, extent, pick.coin()});
        } else {
          problem.matrices.push_back({pick.between(1, most), pick.between(1, most), pick.coin()});
        }
      }
      problem.options.vectors = pick.coin() ? VectorSide::right : VectorSide::left;
      problem.options.adjoint = pick.coin();
      problem.options.scale = pick.coin() ? 1.0 : -0.3;
      const int rank = pick.between(1, 3);
      problem.axis = pick.between(-rank, rank - 1);
      problem.shape.assign(static_cast<std::size_t>(rank), 1);
      for (auto& size : problem.shape) size = pick.between(1, pick.coin() ? 40 : 5);
      problem.shape[problem.position(problem.axis)] = problem.length(false);
      if (rank > 1 && pick.between(0, 3) == 0)
        problem.options.batch_axis =
            (static_cast<int>(problem.position(problem.axis)) + pick.between(1, rank - 1)) % rank;
      problem.draw(pick.seed());
      const Memory x_memory = pick.memory(), y_memory = pick.memory(), factor_memory = pick.memory();
      compare(space, problem, x_memory, y_memory, factor_memory);
      if (round % 3 == 0) compare(space, problem);
    }
  });
}

TEST_CASE_TEMPLATE("kronecker on hosts: factors of every size, in every place, with tails", T,
                   PAPILLON_PRODUCT_SCALARS) {
  const Kokkos::DefaultHostExecutionSpace space;
  std::vector<int> extents(20);
  std::iota(extents.begin(), extents.end(), 1);
  extents.insert(extents.end(), {31, 32, 33, 63, 64, 65, 100, 128, 300});
  for (const int extent : extents) {
    CAPTURE(extent);
    for (const std::int64_t lines : {1, 3, 16, 37}) {
      CAPTURE(lines);
      for (int place = 0; place < 4; ++place) {
        CAPTURE(place);
        KroneckerCase<T> problem{{lines, 1}, -1, {{extent, extent}}};
        if (place == 1) problem.matrices.push_back({3, 2});
        if (place == 2) problem.matrices.insert(problem.matrices.begin(), {5, 3});
        if (place == 3) problem.matrices = {{2, 2}, {extent, extent + 1}, {17, 3}};
        problem.shape[1] = problem.length(false);
        problem.draw(static_cast<std::uint64_t>(extent));
        compare(space, problem);
        problem.shape = {problem.shape[1], lines};  // neighbouring lines are neighbours in memory
        problem.axis = 0;
        problem.draw(static_cast<std::uint64_t>(extent));
        compare(space, problem);
      }
    }
  }
}

TEST_CASE_TEMPLATE("kronecker on hosts: long products of small factors", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_host_space([](const auto& space) {
    const struct {
      int extent, most;
    } cases[] = {{2, 17}, {3, 10}, {4, 8}, {5, 6}, {8, 5}, {16, 4}};
    for (const auto& c : cases) {
      std::int64_t length = 1;
      for (int count = 1; count <= c.most; ++count) {
        length *= c.extent;
        CAPTURE(c.extent);
        CAPTURE(count);
        KroneckerCase<T> problem{{length > 4096 ? 3 : 35, length}, -1, {}};
        for (int i = 0; i < count; ++i) problem.matrices.push_back({c.extent, c.extent});
        problem.draw(static_cast<std::uint64_t>(count));
        compare(space, problem);
      }
    }
  });
}

TEST_CASE_TEMPLATE("kronecker on hosts: several passes, and inner lines", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_host_space([](const auto& space) {
    for (const int axis : {0, 1, 2}) {
      CAPTURE(axis);
      KroneckerCase<T> problem{{5, 3, 33}, axis, {{64, 64}, {63, 65}, {66, 64}}};
      problem.shape[static_cast<std::size_t>(axis)] = problem.length(false);
      problem.shape[static_cast<std::size_t>((axis + 1) % 3)] = 2;
      problem.shape[static_cast<std::size_t>((axis + 2) % 3)] = 5;
      problem.options.scale = 0.7;
      problem.draw(3);
      compare(space, problem);
    }
    KroneckerCase<T> batched{{5, 40 * 41 * 42, 2}, 1, {{41, 40}, {40, 41}, {2, 42}}};
    batched.options.batch_axis = 0;
    batched.draw(4);
    compare(space, batched);
    batched.options.batch_axis = 2;
    batched.draw(5);
    compare(space, batched);
  });
}

TEST_CASE_TEMPLATE("kronecker on hosts: in place", T, PAPILLON_PRODUCT_SCALARS) {
  for_each_host_space([](const auto& space) {
    using Space = std::decay_t<decltype(space)>;
    using Matrices = std::vector<typename KroneckerCase<T>::Matrix>;
    const std::vector<Matrices> products = {{{5, 5}},
                                            {{17, 17}},
                                            {{2, 2}},
                                            {{64, 64}},
                                            {{2, 3}, {3, 2}},
                                            {{16, 16}, {16, 16}},
                                            {{16, 12}, {12, 16}},
                                            {{4, 4}, {4, 4}},
                                            {{7, 7}, {9, 9}, {11, 11}},
                                            {{2, 2}, {2, 2}, {2, 2}, {2, 2}}};
    for (const auto& matrices : products) {
      for (const Memory memory : all_memories) {
        for (const int axis : {0, 1}) {
          KroneckerCase<T> problem{{23, 23}, axis, matrices};
          problem.shape[static_cast<std::size_t>(axis)] = problem.length(false);
          problem.draw(6);
          const auto expected = problem.run(space, memory, memory);
          Guarded<T, Space> x(problem.shape, memory, problem.x);
          std::vector<Guarded<T, Space>> stored;
          papillon::kronecker(space, problem.factors(stored, Memory::row_major), x.const_descriptor(),
                              x.descriptor(), problem.options);
          space.fence();
          INFO(to_string(memory), " axis ", axis, " length ", problem.length(false));
          CHECK(x.surroundings_intact());
          check_same(x.get(), expected);
        }
      }
    }
  });
}
