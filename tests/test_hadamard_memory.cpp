// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call may touch: interleaved and overlapping arguments, empty arrays, workspace, backends.
#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;
using papillon::Ordering;

/// `count` bytes of device memory between guards.
template <class Space>
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t count) : bytes_({static_cast<std::int64_t>((count + 15) / 16)}) {}
  papillon::Workspace workspace(std::size_t count, std::size_t shift = 0) const {
    return {static_cast<unsigned char*>(bytes_.descriptor().data) + shift, count};
  }
  bool surroundings_intact() { return bytes_.surroundings_intact(); }
  bool untouched() { return bytes_.untouched(); }

 private:
  Guarded<std::complex<double>, Space> bytes_;  // 16 bytes: the alignment that a workspace needs
};

/// What intermediate results may take, a single transform apart: on CPUs 4 MiB, on GPUs 32 MiB.
constexpr std::size_t most_workspace_bytes = std::size_t{32} << 20;

}  // namespace

TEST_CASE_TEMPLATE("hadamard: interleaved arguments are disjoint", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    // One array (16, 10): even columns into odd columns, and the rows likewise.
    for (const int axis : {0, 1}) {
      const Shape shape = axis == 0 ? Shape{16, 5} : Shape{8, 8};
      const std::int64_t width = axis == 0 ? 10 : 8, height = 16;
      Guarded<T, Space> array({height, width});
      const auto values = random_values<T>(static_cast<std::size_t>(height * width), 53u);
      array.set(values);
      auto even = array.descriptor(), odd = array.descriptor();
      even.extents[0] = odd.extents[0] = shape[0];
      even.extents[1] = odd.extents[1] = shape[1];
      if (axis == 0)
        even.strides[1] = odd.strides[1] = 2;
      else
        even.strides[0] = odd.strides[0] = 2 * width;
      odd.data = static_cast<T*>(odd.data) + (axis == 0 ? 1 : width);
      const HadamardOptions options{.scale = 3, .axis = axis};
      papillon::hadamard(space, even, odd, options);
      space.fence();
      std::vector<T> x, expected = values;
      std::vector<std::size_t> places;
      for (std::int64_t i = 0; i < shape[0]; ++i)
        for (std::int64_t j = 0; j < shape[1]; ++j) {
          const auto at = static_cast<std::size_t>(axis == 0 ? i * width + 2 * j : 2 * i * width + j);
          x.push_back(values[at]);
          places.push_back(at + static_cast<std::size_t>(axis == 0 ? 1 : width));
        }
      const auto y = reference(shape, x, options);
      for (std::size_t i = 0; i < y.size(); ++i) expected[places[i]] = y[i];
      check_same(array.get(), expected);
      CHECK(array.surroundings_intact());
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: partial overlap is refused and nothing is written", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    Guarded<T, Space> array({64, 64});
    array.set(random_values<T>(64 * 64, 59u));
    const auto before = array.bytes();
    const auto refused = [&](const papillon::TensorDescriptor& x, const papillon::TensorDescriptor& y,
                             const char* how) {
      INFO(std::string(how));
      std::string message;
      try {
        papillon::hadamard(space, x, y);
      } catch (const std::invalid_argument& error) {
        message = error.what();
      }
      space.fence();
      INFO(message);
      CHECK(message.find("hadamard") != std::string::npos);
      CHECK(message.find("overlap") != std::string::npos);
      CHECK(array.bytes() == before);
    };
    const auto part = [&](std::int64_t first, std::int64_t rows, std::int64_t columns, std::int64_t s0,
                          std::int64_t s1) {
      auto tensor = array.descriptor();
      tensor.data = static_cast<T*>(tensor.data) + first;
      tensor.extents[0] = rows, tensor.extents[1] = columns;
      tensor.strides[0] = s0, tensor.strides[1] = s1;
      return tensor;
    };
    refused(part(0, 32, 64, 64, 1), part(64, 32, 64, 64, 1), "one row further");
    refused(part(64, 32, 64, 64, 1), part(0, 32, 64, 64, 1), "one row before");
    refused(part(0, 16, 16, 64, 1), part(1, 16, 16, 64, 1), "one column further");
    refused(part(0, 64, 64, 64, 1), part(0, 64, 64, 1, 64), "the transpose");
    refused(part(0, 16, 64, 64, 1), part(0, 16, 64, 128, 1), "same pointer, other strides");
    refused(part(0, 64, 16, 64, 2), part(2, 64, 16, 64, 2), "even columns, two further");
    refused(part(63, 64, 64, 64, -1), part(0, 64, 64, 64, 1), "reversed");
    refused(part(0, 32, 64, 64, 1), part(31 * 64 + 63, 32, 64, 64, 1), "the last element only");
    // Neighbours are no overlap.
    papillon::hadamard(space, part(0, 32, 64, 64, 1), part(32 * 64, 32, 64, 64, 1));
    space.fence();
    CHECK(array.bytes() != before);
  });
}

TEST_CASE_TEMPLATE("hadamard: empty arrays are no-ops", T, PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    for (const Shape& shape : {Shape{0, 8}, Shape{8, 0, 3}, Shape{16, 2, 0}, Shape{16, 3, 0, 7}}) {
      const int axis = shape[0] == 0 ? -1 : 0;
      Guarded<T, Space> x(shape), y(shape);
      papillon::hadamard(space, x.const_descriptor(), y.descriptor(), {.axis = axis});
      CHECK(papillon::hadamard_workspace_bytes(space, x.const_descriptor(), y.descriptor(), {.axis = axis}) ==
            0);
      // Null pointers are allowed where there is nothing.
      auto null_x = x.const_descriptor();
      auto null_y = y.descriptor();
      null_x.data = nullptr;
      null_y.data = nullptr;
      papillon::hadamard(space, null_x, null_y, {.axis = axis});
      space.fence();
      CHECK(x.untouched());
      CHECK(y.untouched());
    }
    const Kokkos::View<float**, typename Space::memory_space> none("none", 0, 8), out("out", 0, 8);
    papillon::hadamard(space, none, out);
    space.fence();
  });
}

TEST_CASE_TEMPLATE("hadamard: one point is multiplied by the factor", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const Shape& shape : {Shape{1}, Shape{7, 1}, Shape{1, 7}, Shape{3, 1, 5}}) {
      int axis = 0;
      while (shape[static_cast<std::size_t>(axis)] != 1) ++axis;
      const auto values = random_values<T>(volume(shape), 61u);
      check_same(transform(space, shape, values, {.axis = axis}), values);
      const HadamardOptions options{.scale = -2, .axis = axis};
      check_same(transform(space, shape, values, options), reference(shape, values, options));
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: the workspace is as large as asked for, and only it is used", T,
                   PAPILLON_ALL_SCALARS) {
  for_each_space([]<class Space>(const Space& space) {
    const struct {
      Shape shape;
      int axis;
      Ordering ordering;
    } cases[] = {{{3, 1 << 17}, 1, Ordering::natural}, {{2, 1 << 17}, 1, Ordering::sequency},
                 {{1 << 14, 7}, 0, Ordering::natural}, {{1 << 14, 100}, 0, Ordering::dyadic},
                 {{64, 64}, 1, Ordering::natural},     {{64, 64}, 0, Ordering::sequency},
                 {{12 << 13, 2}, 0, Ordering::natural}};
    for (const auto& [shape, axis, ordering] : cases)
      for (const bool in_place : {false, true}) {
        HadamardOptions options{.axis = axis, .ordering = ordering};
        INFO(describe_case(shape, options), std::string(in_place ? ", in place" : ""));
        const auto values = random_values<T>(volume(shape), 67u);
        Guarded<T, Space> x(shape, Memory::row_major, values), other(shape);
        Guarded<T, Space>& y = in_place ? x : other;
        const std::size_t bytes =
            papillon::hadamard_workspace_bytes(space, x.const_descriptor(), y.descriptor(), options);
        constexpr bool is_16_bit = sizeof(T) == 2;
        if (!is_16_bit && ordering == Ordering::natural) CHECK(bytes == 0);
        if (shape[0] == 64) CHECK(bytes == 0);  // one pass
        // A transform of up to 64 columns in the compute type, or what fits the cache.
        const std::size_t compute = is_16_bit ? 4 : sizeof(T) / (is_std_complex<T> ? 2 : 1);
        const std::size_t one = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]) * compute;
        CHECK(bytes <= std::max(64 * one, most_workspace_bytes));
        if (bytes > 0) {
          CHECK(bytes >= one);
          GuardedBytes<Space> memory(bytes);
          const auto before = x.bytes();
          const auto refusal = [&] {
            try {
              papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
            } catch (const std::invalid_argument& error) {
              return std::string(error.what());
            }
            return std::string("not refused");
          };
          options.workspace = memory.workspace(bytes - 1);
          const auto too_small = refusal();
          INFO(too_small);
          CHECK(too_small.starts_with("papillon::hadamard: workspace"));
          CHECK(too_small.find(std::to_string(bytes - 1)) != std::string::npos);
          CHECK(too_small.find(std::to_string(bytes)) != std::string::npos);
          options.workspace = memory.workspace(bytes, 1);
          CHECK(refusal().starts_with("papillon::hadamard: workspace"));
          space.fence();
          CHECK(memory.untouched());
          CHECK(x.bytes() == before);
          CHECK((in_place || other.untouched()));
          options.workspace = memory.workspace(bytes);
          papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
          space.fence();
          CHECK(memory.surroundings_intact());
          CHECK(!memory.untouched());
        } else {
          papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
          space.fence();
        }
        check_same(y.get(), reference(shape, values, {.axis = axis, .ordering = ordering}));
        CHECK(y.surroundings_intact());
      }
    // As many of a batch as fit the cache; asking touches no element, so the arrays need not be there.
    const auto bytes_for = [&](std::int64_t rows, std::int64_t n) {
      alignas(2) static papillon::half placeholder{};
      const auto array = papillon::row_major(&placeholder, {rows, n});
      return papillon::hadamard_workspace_bytes(space, papillon::ConstTensorDescriptor(array), array);
    };
    CHECK(bytes_for(1, 1 << 17) == std::size_t{4} << 17);
    CHECK(bytes_for(3, 1 << 17) == std::size_t{12} << 17);
    CHECK(bytes_for(1 << 20, 1 << 17) <= most_workspace_bytes);
    CHECK(bytes_for(1 << 20, 1 << 17) > most_workspace_bytes / 64);
    CHECK(bytes_for(9, 1 << 24) == std::size_t{4} << 24);
  });
}

TEST_CASE("hadamard: selected_backend") {
  for_each_space([]<class Space>(const Space& space) {
    Guarded<float, Space> x({4, 16}), y({4, 16});
    const bool host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible;
    const auto expected = host ? papillon::Backend::host_vector : papillon::Backend::team;
    CHECK(papillon::selected_backend(space, x.const_descriptor(), y.descriptor()) == expected);
    const Kokkos::View<float**, typename Space::memory_space> view("view", 4, 16);
    CHECK(papillon::selected_backend(space, view, view) == expected);
    CHECK(papillon::name_of(expected) !=
          papillon::name_of(host ? papillon::Backend::team : papillon::Backend::host_vector));
    // Asking throws as calling does, and touches nothing.
    CHECK_THROWS_AS(papillon::selected_backend(space, x.const_descriptor(), y.descriptor(), {.axis = 2}),
                    std::invalid_argument);
    CHECK_THROWS_AS(
        papillon::hadamard_workspace_bytes(space, x.const_descriptor(), y.descriptor(), {.axis = 2}),
        std::invalid_argument);
    CHECK(x.untouched());
    CHECK(y.untouched());
  });
}
