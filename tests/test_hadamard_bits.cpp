// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hadamard bit for bit against the contract executed stage by stage, over sizes, batches and memory layouts.
#include <complex>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;

/// Out of place and in place, both equal to the reference.
template <class T>
void check_bits(const auto& space, const Shape& shape, const HadamardOptions& options,
                Memory x_memory = Memory::row_major, Memory y_memory = Memory::row_major,
                Data data = Data::smooth) {
  const auto values = random_values<T>(volume(shape), 11u * volume(shape) + 1u, data);
  const auto expected = reference(shape, values, options);
  INFO(describe_case(shape, options), ", x ", to_string(x_memory), ", y ", to_string(y_memory));
  check_same(transform(space, shape, values, options, x_memory, y_memory), expected);
  check_same(transform_in_place(space, shape, values, options, x_memory), expected);
}

template <class T>
HadamardOptions ortho_unless_integer(int axis) {
  HadamardOptions options{.axis = axis};
  if (!std::is_integral_v<T>) options.norm = Normalization::ortho;
  return options;
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: every power of two to 2^16, rows, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (int k = 0; k <= 16; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const std::int64_t batch : {1, 3, 4, 7, 33}) {
        if (n * batch > (1 << 17)) continue;
        check_bits<T>(space, {batch, n}, ortho_unless_integer<T>(1));
      }
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: every power of two to 2^13, columns, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (int k = 0; k <= 13; ++k) {
      const std::int64_t n = std::int64_t{1} << k;
      for (const std::int64_t inner : {1, 2, 3, 5, 8, 17, 32, 65}) {
        if (n * inner > (1 << 16)) continue;
        check_bits<T>(space, {3, n, inner}, ortho_unless_integer<T>(1));
      }
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: sizes m 2^k of models, rows and columns, bit for bit", T,
                   PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {12, 20, 24, 28, 36, 40, 80, 96, 172, 192, 684, 688, 768, 1368, 3584}) {
      check_bits<T>(space, {3, n}, ortho_unless_integer<T>(-1));
      for (const std::int64_t inner : {1, 3, 16, 19}) {
        if (n * inner > 16384) continue;
        check_bits<T>(space, {2, n, inner}, ortho_unless_integer<T>(-2));
      }
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: long model sizes, rows, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {10944, 11008, 14336, 28672})
      check_bits<T>(space, {2, n}, ortho_unless_integer<T>(1));
  });
}

// Row counts that do not divide a tile, at lengths where many rows share a vector or a tile.
TEST_CASE_TEMPLATE("hadamard: odd batches of short rows, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {1, 2, 4, 8, 16, 32, 64, 128, 12, 20})
      for (const std::int64_t base : {0, 64, 1024})
        for (const std::int64_t rest : {1, 2, 3, 4, 5, 6, 7})
          check_bits<T>(space, {base + rest, n}, ortho_unless_integer<T>(1));
  });
}

TEST_CASE_TEMPLATE("hadamard: every pair of memory layouts, every axis, bit for bit", T,
                   PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const auto x_memory : all_memories)
      for (const auto y_memory : all_memories)
        for (const int axis : {0, 1, 2}) {
          check_bits<T>(space, {4, 16, 8}, ortho_unless_integer<T>(axis), x_memory, y_memory);
          Shape shape{3, 5, 2};
          shape[static_cast<std::size_t>(axis)] = 12;
          check_bits<T>(space, shape, ortho_unless_integer<T>(axis), x_memory, y_memory);
        }
    for (const auto memory : all_memories)
      for (const int axis : {0, 1}) {
        Shape shape{3, 3};
        shape[static_cast<std::size_t>(axis)] = 2048;
        check_bits<T>(space, shape, ortho_unless_integer<T>(axis), memory, Memory::row_major);
        check_bits<T>(space, shape, ortho_unless_integer<T>(axis), Memory::row_major, memory);
        shape[static_cast<std::size_t>(axis)] = 80;
        check_bits<T>(space, shape, ortho_unless_integer<T>(axis), memory, memory);
      }
  });
}

TEST_CASE_TEMPLATE("hadamard: ranks 1 to 8, every axis, bit for bit", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (int rank = 1; rank <= 8; ++rank)
      for (int axis = 0; axis < rank; ++axis)
        for (const int sign : {0, 1}) {
          Shape shape;
          for (int d = 0; d < rank; ++d) shape.push_back(d % 3 == 0 ? 2 : d % 3 == 1 ? 3 : 1);
          shape[static_cast<std::size_t>(axis)] = 8;
          const int named = sign == 0 ? axis : axis - rank;
          check_bits<T>(space, shape, ortho_unless_integer<T>(named), Memory::row_major,
                        Memory::column_major);
          check_bits<T>(space, shape, ortho_unless_integer<T>(named), Memory::strided, Memory::padded);
          check_bits<T>(space, shape, ortho_unless_integer<T>(named));
        }
  });
}

// A caller's axis may repeat one element or row: the input is only read.
TEST_CASE_TEMPLATE("hadamard: an input of stride 0", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    const Shape shape{5, 16, 3};
    for (const std::size_t repeated : {0u, 1u, 2u}) {
      Strides strides = make_strides(shape, Memory::row_major);
      strides[repeated] = 0;
      Guarded<T, Space> x(shape, strides), y(shape);
      x.set(random_values<T>(volume(shape), 3));
      const auto before = x.bytes();
      const HadamardOptions options = ortho_unless_integer<T>(1);
      papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
      space.fence();
      INFO("repeated index ", repeated);
      check_same(y.get(), reference(shape, x.get(), options));
      CHECK(x.bytes() == before);
      CHECK(y.surroundings_intact());
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: cancelling and badly scaled data, bit for bit", T, PAPILLON_REAL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const auto data : {Data::cancelling, Data::scaled})
      for (const std::int64_t n : {64, 96, 1024, 4096, 684}) {
        check_bits<T>(space, {5, n}, ortho_unless_integer<T>(1), Memory::row_major, Memory::row_major, data);
        check_bits<T>(space, {n, 5}, ortho_unless_integer<T>(0), Memory::row_major, Memory::row_major, data);
      }
  });
}
