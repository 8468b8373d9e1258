// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hadamard over several axes at once, and with results rounded between passes.
#include <complex>
#include <string>
#include <vector>

#include "papillon/core/errors.hpp"
#include "support/apply.hpp"
#include "support/reference_axes.hpp"

namespace {

using namespace papillon_test;
using papillon::Axes;
using papillon::HadamardOptions;
using papillon::Intermediate;
using papillon::Normalization;
using papillon::Ordering;
using papillon::SignSide;

template <class T>
constexpr Normalization usual = std::is_integral_v<T> ? Normalization::none : Normalization::ortho;

template <class T>
void check_axes(const auto& space, const Shape& shape, const HadamardOptions& options,
                Memory x_memory = Memory::row_major, Memory y_memory = Memory::row_major) {
  const auto values = random_values<T>(volume(shape), 41u, Data::smooth);
  const auto expected = reference_axes(shape, values, options);
  INFO("axes ", papillon::to_text(options.axes.values()), ", intermediate ",
       std::string(papillon::name_of(options.intermediate)));
  check_same(transform(space, shape, values, options, x_memory, y_memory), expected);
  check_same(transform_in_place(space, shape, values, options, y_memory), expected);
}

/// Every set of at least two axes.
std::vector<std::vector<int>> axis_sets(int rank) {
  std::vector<std::vector<int>> sets;
  for (unsigned set = 0; set < 1u << rank; ++set) {
    std::vector<int> axes;
    for (int d = 0; d < rank; ++d)
      if ((set >> d & 1u) != 0) axes.push_back(d);
    if (axes.size() > 1) sets.push_back(axes);
  }
  return sets;
}

Axes axes_of(const std::vector<int>& axes) { return Axes(std::span<const int>(axes)); }

template <class T>
std::string refusal(const Shape& shape, const HadamardOptions& options) {
  const Kokkos::DefaultHostExecutionSpace space;
  Guarded<T> x(shape), y(shape);
  try {
    papillon::hadamard(space, x.const_descriptor(), y.descriptor(), options);
  } catch (const std::invalid_argument& error) {
    CHECK(y.untouched());
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: every set of axes, every layout, bit for bit", T, PAPILLON_REAL_SCALARS,
                   PAPILLON_INTEGERS) {
  for_each_space([](const auto& space) {
    for (const Shape& shape : {Shape{8, 12, 4}, Shape{2, 16, 3, 8}, Shape{4, 2, 1, 20, 2}})
      for (const auto& axes : axis_sets(static_cast<int>(shape.size()))) {
        bool offered = true;
        for (const int axis : axes) offered = offered && shape[static_cast<std::size_t>(axis)] != 3;
        if (!offered) continue;
        const HadamardOptions options{.norm = usual<T>, .axes = axes_of(axes)};
        for (const auto x_memory : {Memory::row_major, Memory::column_major, Memory::strided})
          for (const auto y_memory : {Memory::row_major, Memory::column_major, Memory::reversed})
            check_axes<T>(space, shape, options, x_memory, y_memory);
      }
  });
}

TEST_CASE_TEMPLATE("hadamard: several axes with signs and orders, bit for bit", T, PAPILLON_REAL_SCALARS,
                   PAPILLON_INTEGERS) {
  for_each_space([](const auto& space) {
    std::vector<std::int8_t> vector;
    for (int i = 0; i < 8 * 16; ++i) vector.push_back(i * i % 7 < 3 ? -1 : 1);
    for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic})
      for (const auto side : {SignSide::input, SignSide::output})
        for (const auto memory : {Memory::row_major, Memory::column_major, Memory::strided}) {
          HadamardOptions options{.norm = usual<T>,
                                  .scale = -3,
                                  .axes = {2, 0},
                                  .ordering = ordering,
                                  .signs = {.seed = 5u, .side = side}};
          check_axes<T>(space, {8, 3, 16, 5}, options, memory, memory);
          options.axes = {-1, 0, 1};
          check_axes<T>(space, {4, 32, 16}, options, memory, Memory::row_major);
          options.axes = {0, 3};
          options.signs = {.values = vector, .side = side};
          check_axes<T>(space, {8, 2, 3, 16}, options, Memory::row_major, memory);
        }
    // With an order-m factor: 12 * 4 and 20.
    for (const auto side : {SignSide::input, SignSide::output})
      check_axes<T>(space, {48, 2, 20},
                    {.norm = usual<T>, .axes = {0, 2}, .signs = {.seed = 6u, .side = side}});
  });
}

TEST_CASE_TEMPLATE("hadamard: long axes among several, bit for bit", T, PAPILLON_REAL_SCALARS,
                   PAPILLON_INTEGERS) {
  for_each_space([](const auto& space) {
    for (const auto ordering : {Ordering::natural, Ordering::sequency}) {
      // The long axis last, first, and in the middle of a batch and inner columns.
      const HadamardOptions options{.norm = usual<T>, .axes = {0, 1}, .ordering = ordering};
      check_axes<T>(space, {4, 1 << 17}, options);
      check_axes<T>(space, {1 << 17, 4}, options);
      check_axes<T>(space, {1 << 14, 8, 3}, options);
      check_axes<T>(space, {5, 1 << 14, 4}, {.norm = usual<T>, .axes = {1, 2}, .ordering = ordering});
    }
    check_axes<T>(space, {3, 64, 5, 32, 70}, {.norm = usual<T>, .axes = {1, 3}});
    check_axes<T>(space, {12 << 9, 2, 64}, {.norm = usual<T>, .axes = {0, 2}});
    check_axes<T>(space, {40, 96, 128}, {.norm = usual<T>, .axes = {1, 2}}, Memory::strided);
  });
}

TEST_CASE_TEMPLATE("hadamard: neighbouring axes have the bits of one", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    const auto values = random_values<T>(3 << 12, 43u, Data::smooth);
    const auto one = transform(space, {3, 1 << 12}, values, {.norm = usual<T>});
    check_same(transform(space, {3, 8, 16, 32}, values, {.norm = usual<T>, .axes = {1, 2, 3}}), one);
    check_same(transform(space, {3, 8, 16, 32}, values, {.norm = usual<T>, .axes = {1, 2, 3}},
                         Memory::strided, Memory::column_major),
               one);
    // The axis alone, whichever way it is named.
    check_same(transform(space, {3, 1 << 12}, values, {.norm = usual<T>, .axes = {-1}}), one);
  });
}

TEST_CASE_TEMPLATE("hadamard: complex numbers over several axes are their parts", T, std::complex<float>,
                   std::complex<double>) {
  using Real = typename T::value_type;
  for_each_space([](const auto& space) {
    for (const auto& axes : axis_sets(3)) {
      const Shape shape{8, 12, 16};
      const auto values = random_values<T>(volume(shape), 47u, Data::smooth);
      const HadamardOptions options{.norm = usual<T>, .axes = axes_of(axes), .signs = {.seed = 3u}};
      std::vector<Real> re, im;
      for (const T& value : values) re.push_back(value.real()), im.push_back(value.imag());
      re = reference_axes(shape, re, options);
      im = reference_axes(shape, im, options);
      std::vector<T> expected;
      for (std::size_t i = 0; i < re.size(); ++i) expected.push_back({re[i], im[i]});
      check_same(transform(space, shape, values, options), expected);
      check_same(transform(space, shape, values, options, Memory::column_major, Memory::strided), expected);
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: results rounded between axes and parts, bit for bit", T, papillon::half,
                   papillon::bfloat16) {
  for_each_space([]<class Space>(const Space& space) {
    const auto check = [&](const Shape& shape, HadamardOptions options) {
      options.intermediate = Intermediate::storage;
      options.norm = Normalization::ortho;
      check_axes<T>(space, shape, options);
      check_axes<T>(space, shape, options, Memory::strided, Memory::column_major);
    };
    check({16, 12, 8}, {.axes = {0, 1, 2}});
    check({3, 32, 5, 16}, {.axes = {1, 3}, .signs = {.seed = 8u}});
    check({3, 32, 5, 16},
          {.axes = {1, 3}, .ordering = Ordering::dyadic, .signs = {.seed = 8u, .side = SignSide::output}});
    check({2, 1 << 17}, {.axes = {1}});
    check({1 << 20}, {.axes = {0}});
    check({2, 1 << 20}, {.axes = {0, 1}, .signs = {.seed = 9u}});
    check({1 << 20, 3}, {.axes = {0}, .signs = {.seed = 9u, .side = SignSide::output}});
    check({12 << 16}, {.axes = {0}});
    // Signs of a step that needs a workspace, over several sweeps: of outer indices, and of inner ones.
    for (const auto side : {SignSide::input, SignSide::output}) {
      check({3, 1 << 17}, {.axes = {1}, .signs = {.seed = 9u, .side = side}});
      check({8, 1 << 17}, {.axes = {0, 1}, .signs = {.seed = 9u, .side = side}});
      check({1 << 17, 4}, {.axes = {0, 1}, .signs = {.seed = 9u, .side = side}});
      check({2, 1 << 14, 128}, {.axes = {0, 1, 2}, .signs = {.seed = 9u, .side = side}});
      check({2, 1 << 14, 32},
            {.axes = {0, 1, 2}, .ordering = Ordering::sequency, .signs = {.seed = 9u, .side = side}});
    }
    check({4, 1 << 19}, {.axes = {0, 1}, .signs = {.seed = 9u}});

    // It is another result than that of one rounding, and needs no memory.
    const auto values = random_values<T>(1 << 20, 53u, Data::smooth);
    const auto rounded = transform(space, {1 << 20}, values, {.intermediate = Intermediate::storage});
    CHECK(first_difference(rounded, transform(space, {1 << 20}, values, {})) >= 0);
    Guarded<T, Space> x({1 << 20}), y({1 << 20});
    CHECK(papillon::hadamard_workspace_bytes(space, x.const_descriptor(), y.descriptor()) > 0);
    if (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible) {
      CHECK(papillon::hadamard_workspace_bytes(space, x.const_descriptor(), y.descriptor(),
                                               {.intermediate = Intermediate::storage}) == 0);
    }
  });
}

TEST_CASE_TEMPLATE("hadamard: rounding between passes is nothing where storage is what sums are formed in", T,
                   float, double, std::int32_t, std::complex<float>) {
  for_each_space([](const auto& space) {
    const auto values = random_values<T>(2 << 17, 59u, Data::smooth);
    for (const auto& options : {HadamardOptions{}, HadamardOptions{.ordering = Ordering::sequency}}) {
      HadamardOptions storage = options;
      storage.intermediate = Intermediate::storage;
      check_same(transform(space, {2, 1 << 17}, values, storage),
                 transform(space, {2, 1 << 17}, values, options));
    }
  });
}

TEST_CASE("hadamard: axes that are refused are named") {
  const auto contains = [](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.starts_with("papillon::hadamard: "));
    CHECK(text.find(part) != std::string::npos);
  };
  contains(refusal<float>({4, 8}, {.axes = {0, 2}}), "axes: an entry = 2 is outside -2 … 1 for shape (4, 8)");
  contains(refusal<float>({4, 8}, {.axes = {-3, 0}}), "axes: an entry = -3");
  contains(refusal<float>({4, 8}, {.axes = {1, -1}}), "axes = (1, -1) names axis 1 of shape (4, 8) twice");
  contains(refusal<float>({4, 8}, {.axis = 0, .axes = {0, 1}}), "axis = 0 and axes = (0, 1) are both given");
  contains(refusal<float>({4, 8}, {.axes = {0, 1}, .group = 4}), "group = 4 is for a transform of one axis");
  contains(refusal<float>({4, 7}, {.axes = {0, 1}}), "n = 7 (the length of axis 1 of shape (4, 7))");
  contains(refusal<float>({12, 8}, {.axes = {0, 1}, .ordering = Ordering::sequency}),
           "ordering = sequency exists for powers of two only, not for n = 12");
  const std::vector<std::int8_t> signs(8, 1);
  contains(refusal<float>({4, 8}, {.axes = {0, 1}, .signs = {.values = signs}}), "length n = 32");
  contains(refusal<std::int32_t>({4, 8}, {.norm = Normalization::ortho, .axes = {0, 1}}), "n = 32");
  contains(refusal<float>({4, 8}, {.intermediate = static_cast<Intermediate>(7)}),
           "intermediate has the unknown value 7");
  contains(refusal<papillon::half>({1 << 20},
                                   {.ordering = Ordering::dyadic, .intermediate = Intermediate::storage}),
           "intermediate = storage cannot be had with ordering = dyadic for n = 1048576");
  float none = 0;
  const auto huge = papillon::row_major(&none, {0, std::int64_t{1} << 40, std::int64_t{1} << 40});
  const Kokkos::DefaultHostExecutionSpace space;
  CHECK_THROWS_WITH_AS(
      papillon::hadamard(space, papillon::ConstTensorDescriptor(huge), huge, {.axes = {1, 2}}),
      doctest::Contains("have more than 2^63 points"), std::invalid_argument);
  CHECK_THROWS_WITH_AS((Axes{0, 1, 2, 3, 4, 5, 6, 7, 8}),
                       "papillon::hadamard: axes has 9 entries; arrays have at most 8 axes",
                       std::invalid_argument);
}

// A pass splits its axis in up to three indices; with all others there must be room for them.
TEST_CASE("hadamard: a fold has room for every index of the deepest problem") {
  alignas(16) std::byte memory[16];
  papillon::TensorDescriptor array{memory, papillon::ScalarType::complex128, papillon::max_rank, {}, {}};
  std::int64_t stride = 1;
  for (int d = papillon::max_rank - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    array.extents[i] = d == 4 ? std::int64_t{1} << 24 : 2;
    array.strides[i] = stride;
    stride *= array.extents[i] + 1;  // nothing merges
  }
  for (const auto architecture : {papillon::Architecture::cpu, papillon::Architecture::device})
    for (const auto& options : {HadamardOptions{.axis = 4, .group = std::int64_t{1} << 23},
                                HadamardOptions{.axes = {0, 2, 4, 7}, .signs = {.seed = 1u}}}) {
      const auto problem = papillon::detail::make_hadamard_problem(array, array, options, false);
      const auto plan = make_plan(problem, architecture);
      const auto passes = first_sweep(problem, plan, memory);
      CHECK(passes.size() >= (options.axes.empty() ? 2 : 5));
      for (const auto& pass : passes) CHECK(pass.fold.outer_rank <= papillon::Fold::max_outer);
    }
}
