// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hadamard called with Kokkos Views: every layout, ranks 1 to 8, subviews, padding, const, unmanaged.
#include <array>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;

template <class T, int rank>
struct PointerOf {
  using type = typename PointerOf<T, rank - 1>::type*;
};
template <class T>
struct PointerOf<T, 0> {
  using type = T;
};

/// Calls visit(i0, …, i7) with every index tuple of `shape`, last index fastest; unused indices stay 0.
template <class Visit>
void for_each_index(const Shape& shape, Visit&& visit) {
  std::array<std::size_t, 8> index{};
  for (std::size_t count = 0; count < volume(shape); ++count) {
    visit(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < static_cast<std::size_t>(shape[d])) break;
      index[d] = 0;
    }
  }
}

template <class View, std::size_t... d>
auto& element(const View& view, const std::array<std::size_t, 8>& index, std::index_sequence<d...>) {
  return view(index[d]...);
}

template <class View>
void assign(const View& view, const Shape& shape,
            const std::vector<typename View::non_const_value_type>& values) {
  const auto mirror = Kokkos::create_mirror_view(view);
  std::size_t i = 0;
  for_each_index(shape, [&](const auto& index) {
    element(mirror, index, std::make_index_sequence<View::rank()>{}) = values[i++];
  });
  Kokkos::deep_copy(view, mirror);
}

template <class View>
std::vector<typename View::non_const_value_type> contents(const View& view, const Shape& shape) {
  const auto mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  std::vector<typename View::non_const_value_type> values;
  for_each_index(shape, [&](const auto& index) {
    values.push_back(element(mirror, index, std::make_index_sequence<View::rank()>{}));
  });
  return values;
}

template <class Layout, std::size_t... d>
Layout layout_of(const Shape& shape, std::index_sequence<d...>) {
  return Layout(static_cast<std::size_t>(shape[d])...);
}

template <class View>
View make_view(const std::string& label, const Shape& shape) {
  using Layout = typename View::array_layout;
  return View(label, layout_of<Layout>(shape, std::make_index_sequence<View::rank()>{}));
}

template <class T, int rank, class XLayout, class YLayout, class Space>
void check_views(const Space& space, int axis, std::int64_t n) {
  using Pointer = typename PointerOf<T, rank>::type;
  using ConstPointer = typename PointerOf<const T, rank>::type;
  using Memory = typename Space::memory_space;
  Shape shape;
  for (int d = 0; d < rank; ++d) shape.push_back(rank <= 4 ? 3 + d % 2 : 1 + d % 3);
  shape[static_cast<std::size_t>(axis)] = n;
  const auto x = make_view<Kokkos::View<Pointer, XLayout, Memory>>("x", shape);
  const auto y = make_view<Kokkos::View<Pointer, YLayout, Memory>>("y", shape);
  const auto values = random_values<T>(volume(shape), 37u);
  assign(x, shape, values);
  const HadamardOptions options{.scale = 3, .axis = axis - (axis % 2 == 0 ? rank : 0)};
  const auto expected = reference(shape, values, options);
  INFO(describe_case(shape, options), ", rank ", rank);

  papillon::hadamard(space, x, y, options);
  space.fence();
  check_same(contents(y, shape), expected);
  check_same(contents(x, shape), values);

  assign(y, shape, random_values<T>(volume(shape), 2u));
  papillon::hadamard(space, Kokkos::View<ConstPointer, XLayout, Memory>(x), y, options);  // const input
  space.fence();
  check_same(contents(y, shape), expected);
  check_same(contents(x, shape), values);

  papillon::hadamard(space, Kokkos::View<ConstPointer, XLayout, Memory>(x), x,
                     options);  // in place through both
  space.fence();
  check_same(contents(x, shape), expected);
}

template <class T, int rank, class Space>
void check_rank(const Space& space) {
  for (int axis = 0; axis < rank; ++axis)
    for (const std::int64_t n : {1, 8, 12}) {
      check_views<T, rank, Kokkos::LayoutRight, Kokkos::LayoutRight>(space, axis, n);
      check_views<T, rank, Kokkos::LayoutLeft, Kokkos::LayoutLeft>(space, axis, n);
      check_views<T, rank, Kokkos::LayoutRight, Kokkos::LayoutLeft>(space, axis, n);
      check_views<T, rank, Kokkos::LayoutLeft, Kokkos::LayoutRight>(space, axis, n);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("hadamard: Views of ranks 1 to 8, LayoutRight and LayoutLeft", T, float, std::int64_t,
                   papillon::half) {
  for_each_space([](const auto& space) {
    check_rank<T, 1>(space);
    check_rank<T, 2>(space);
    check_rank<T, 3>(space);
    check_rank<T, 5>(space);
    check_rank<T, 8>(space);
  });
}

TEST_CASE("hadamard: Views of the ranks between, one scalar") {
  for_each_space([](const auto& space) {
    check_rank<double, 4>(space);
    check_rank<double, 6>(space);
    check_rank<double, 7>(space);
  });
}

TEST_CASE_TEMPLATE("hadamard: Views of complex numbers, of the library's and of Kokkos' type", T,
                   std::complex<float>, std::complex<double>) {
  using R = typename T::value_type;
  for_each_space([]<class Space>(const Space& space) {
    const Shape shape{3, 16, 5};
    const auto values = random_values<T>(volume(shape), 37u);
    const HadamardOptions options{.norm = Normalization::ortho, .axis = 1};
    const auto expected = reference(shape, values, options);
    std::vector<Kokkos::complex<R>> same;
    for (const T& value : values) same.push_back(value);
    const auto x =
        make_view<Kokkos::View<Kokkos::complex<R>***, Kokkos::LayoutRight, typename Space::memory_space>>(
            "x", shape);
    const auto y =
        make_view<Kokkos::View<Kokkos::complex<R>***, Kokkos::LayoutLeft, typename Space::memory_space>>(
            "y", shape);
    assign(x, shape, same);
    papillon::hadamard(space, x, y, options);
    space.fence();
    std::vector<T> actual;
    for (const auto& value : contents(y, shape)) actual.push_back(value);
    check_same(actual, expected);
    check_views<T, 2, Kokkos::LayoutRight, Kokkos::LayoutLeft>(space, 0, 8);
    check_views<T, 2, Kokkos::LayoutRight, Kokkos::LayoutLeft>(space, 1, 8);
  });
}

TEST_CASE_TEMPLATE("hadamard: subviews", T, float, papillon::bfloat16, std::int32_t) {
  for_each_space([]<class Space>(const Space& space) {
    using View = Kokkos::View<T***, Kokkos::LayoutRight, typename Space::memory_space>;
    const Shape whole{6, 40, 7};
    const View x("x", 6, 40, 7), y("y", 6, 40, 7);
    const auto values = random_values<T>(volume(whole), 43u), other = random_values<T>(volume(whole), 44u);
    const auto check = [&](const auto& part, const HadamardOptions& options) {
      assign(x, whole, values);
      assign(y, whole, other);
      const auto xs = part(x), ys = part(y);
      Shape shape;
      for (std::size_t d = 0; d < xs.rank(); ++d) shape.push_back(static_cast<std::int64_t>(xs.extent(d)));
      const auto expected = reference(shape, contents(xs, shape), options);
      papillon::hadamard(space, xs, ys, options);
      space.fence();
      check_same(contents(ys, shape), expected);
      check_same(contents(x, whole), values);
      // All else of y is as it was.
      assign(ys, shape, std::vector<T>(volume(shape), T(0)));
      const auto left = contents(y, whole);
      assign(y, whole, other);
      assign(ys, shape, std::vector<T>(volume(shape), T(0)));
      check_same(left, contents(y, whole));
      CHECK(first_difference(left, other) >= 0);  // the subview is not empty
    };
    const auto all = Kokkos::ALL;
    check([&](const View& v) { return Kokkos::subview(v, all, std::pair(3, 35), all); }, {.axis = 1});
    check([&](const View& v) { return Kokkos::subview(v, 2, std::pair(3, 35), all); }, {.axis = 0});
    check([&](const View& v) { return Kokkos::subview(v, 2, std::pair(8, 40), 3); }, {.axis = 0});
    check([&](const View& v) { return Kokkos::subview(v, all, all, std::pair(1, 5)); }, {.axis = 2});
    check([&](const View& v) { return Kokkos::subview(v, std::pair(1, 5), 7, all); }, {.axis = 0});
    check([&](const View& v) { return Kokkos::subview(v, all, all, 6); }, {.axis = 1});  // n = 40
    check([&](const View& v) { return Kokkos::subview(v, 5, all, all); }, {.axis = 0, .group = 20});
  });
}

TEST_CASE_TEMPLATE("hadamard: LayoutStride and padded Views", T, double, papillon::half) {
  for_each_space([]<class Space>(const Space& space) {
    const Shape shape{5, 64};
    const auto values = random_values<T>(volume(shape), 47u);
    for (const int axis : {0, 1}) {
      HadamardOptions options{.axis = axis};
      if (axis == 0) options.group = 1;
      const auto expected = reference(shape, values, options);
      for (const auto& [s0, s1] :
           {std::pair<std::size_t, std::size_t>{67, 1}, {1, 5}, {200, 3}, {64, 1}, {2, 11}}) {
        using View = Kokkos::View<T**, Kokkos::LayoutStride, typename Space::memory_space>;
        const View x("x", Kokkos::LayoutStride(5, s0, 64, s1)), y("y", Kokkos::LayoutStride(5, s0, 64, s1));
        assign(x, shape, values);
        papillon::hadamard(space, x, y, options);
        space.fence();
        check_same(contents(y, shape), expected);
        const Kokkos::View<T**, Kokkos::LayoutLeft, typename Space::memory_space> left("left", 5, 64);
        papillon::hadamard(space, x, left, options);
        space.fence();
        check_same(contents(left, shape), expected);
      }
      using Padded = Kokkos::View<T**, Kokkos::LayoutRight, typename Space::memory_space>;
      const Padded x(Kokkos::view_alloc("x", Kokkos::AllowPadding), 5, 64),
          y(Kokkos::view_alloc("y", Kokkos::AllowPadding), 5, 64);
      assign(x, shape, values);
      papillon::hadamard(space, x, y, options);
      space.fence();
      check_same(contents(y, shape), expected);
    }
  });
}

TEST_CASE("hadamard: unmanaged Views at pointers aligned to the scalar only") {
  for_each_space([]<class Space>(const Space& space) {
    for (std::size_t shift = 0; shift < 17; ++shift) {
      using View = Kokkos::View<float**, Kokkos::LayoutRight, typename Space::memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
      const Kokkos::View<float*, typename Space::memory_space> buffer("buffer", 2 * (7 * 128 + 32));
      const View x(buffer.data() + shift, 7, 128), y(buffer.data() + 7 * 128 + 32 + (16 - shift), 7, 128);
      const Shape shape{7, 128};
      const auto values = random_values<float>(volume(shape), shift);
      assign(x, shape, values);
      papillon::hadamard(space, x, y, {.norm = Normalization::ortho});
      space.fence();
      check_same(contents(y, shape), reference(shape, values, {.norm = Normalization::ortho}));
    }
  });
}
