// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// butterfly: the vector kernels of host spaces give the bits of the team kernel, on every instruction set.
#include "support/apply.hpp"
#include "support/butterfly_case.hpp"
#include "support/targets.hpp"

namespace {

using namespace papillon_test;

#define PAPILLON_PRODUCT_SCALARS PAPILLON_REAL_SCALARS, std::complex<float>, std::complex<double>

template <class T>
void compare(const ButterflyCase<T>& problem, Memory x_memory = Memory::row_major,
             Memory y_memory = Memory::row_major, Memory factor_memory = Memory::row_major) {
  const Kokkos::DefaultHostExecutionSpace space;
  check_same(problem.run(space, x_memory, y_memory, factor_memory),
             problem.run(space, x_memory, y_memory, factor_memory, ButterflyCase<T>::Kernel::team));
}

}  // namespace

TEST_CASE_TEMPLATE("butterfly on vectors: patterns, layouts and numbers of lines at random", T,
                   PAPILLON_PRODUCT_SCALARS) {
  on_every_target([] {
    std::mt19937 random(21);
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      auto problem = random_butterfly<T>(random);
      // From one line to several tiles of them.
      const std::size_t other = problem.mode().position(problem.axis) == 0 ? problem.shape.size() - 1 : 0;
      if (problem.shape.size() > 1) problem.shape[other] = 1 + static_cast<std::int64_t>(random() % 70);
      problem.draw(random(), Data::scaled);
      const auto memory = [&] { return all_memories[random() % std::size(all_memories)]; };
      const Memory x_memory = memory(), y_memory = memory();
      compare(problem, x_memory, y_memory, memory());
    }
  });
}

TEST_CASE_TEMPLATE("butterfly on vectors: every size of a block, shared values and values of their own", T,
                   PAPILLON_PRODUCT_SCALARS) {
  on_every_target([] {
    std::uint64_t seed = 1;
    for (std::int64_t rows = 1; rows <= 18; ++rows)
      for (const std::int64_t columns : {rows, rows + 1, std::int64_t{1}}) {
        CAPTURE(rows);
        // Blocks of neighbours, of one column, and copies whose values lie side by side.
        for (const auto& [a, d] : {std::pair<std::int64_t, std::int64_t>{3, 1}, {1, 40}, {2, 5}}) {
          ButterflyCase<T> problem{{35, a * columns * d}, -1, {{a, rows, columns, d}}};
          problem.draw(++seed, Data::scaled);
          compare(problem);
          problem.options.batch_axis = 0;
          problem.options.adjoint = true;
          problem.shape[1] = a * rows * d;
          problem.draw(++seed, Data::scaled);
          compare(problem);
        }
      }
  });
}

TEST_CASE_TEMPLATE("butterfly on vectors: several passes, permuted", T, PAPILLON_PRODUCT_SCALARS) {
  on_every_target([] {
    std::mt19937 random(2);
    for (const bool adjoint : {false, true}) {
      for (const std::int64_t columns : {1, 21}) {
        auto rows = butterfly_stages<T>({columns, 1 << 14}, -1, 14);
        rows.permutation = shuffled(1 << 14, random);
        rows.options.adjoint = adjoint;
        rows.draw(random());
        compare(rows);
        auto across = butterfly_stages<T>({1 << 14, columns}, 0, 14);
        across.draw(random());
        compare(across);
        auto whole = butterfly_stages<T>({columns, 256}, -1, 8);  // one line is the whole column
        whole.permutation = shuffled(256, random);
        whole.options.adjoint = adjoint;
        whole.draw(random());
        compare(whole);
      }
    }
    ButterflyCase<T> blocks{{37, 600 * 4 * 6}, -1, {{600, 3, 4, 6}}};  // several small products in one line
    blocks.draw(5);
    compare(blocks);
    ButterflyCase<T> tall{{1, 3}, -1, {{1, 1 << 18, 3, 1}}};  // too tall for a line in each lane
    tall.draw(1);
    compare(tall);
  });
}
