// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad input to hadamard: one sentence that names operator, argument and value, and nothing written.
#include <cmath>
#include <complex>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "papillon/core/errors.hpp"
#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Normalization;
using papillon::Ordering;

/// The call, the workspace question and the backend question all refuse in the same words, which start with
/// the operator and hold every one of `parts`; no byte of x or y changes.
template <class T, class U, class Space>
void check_refused(const Space& space, Guarded<T, Space>& x, Guarded<U, Space>& y,
                   const papillon::ConstTensorDescriptor& dx, const papillon::TensorDescriptor& dy,
                   const HadamardOptions& options, const std::vector<std::string>& parts) {
  const auto x_before = x.bytes(), y_before = y.bytes();
  std::string message = "not refused";
  try {
    papillon::hadamard(space, dx, dy, options);
  } catch (const std::invalid_argument& error) {
    message = error.what();
  }
  space.fence();
  INFO("message: ", message);
  CHECK(message.starts_with("papillon::hadamard: "));
  for (const auto& part : parts) {
    INFO("part: ", part);
    CHECK(message.find(part) != std::string::npos);
  }
  CHECK(message.find('\n') == std::string::npos);
  CHECK(x.bytes() == x_before);
  CHECK(y.bytes() == y_before);
  CHECK_THROWS_WITH_AS(papillon::hadamard_workspace_bytes(space, dx, dy, options), message.c_str(),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(papillon::selected_backend(space, dx, dy, options), message.c_str(),
                       std::invalid_argument);
}

template <class T = float>
void check_options(const Shape& shape, const HadamardOptions& options,
                   const std::vector<std::string>& parts) {
  for_each_space([&]<class Space>(const Space& space) {
    INFO(describe_case(shape, options));
    Guarded<T, Space> x(shape, Memory::row_major, random_values<T>(volume(shape), 1u)), y(shape);
    check_refused(space, x, y, x.const_descriptor(), y.descriptor(), options, parts);
  });
}

}  // namespace

TEST_CASE("errors: the text of a thrown error") {
  CHECK_THROWS_WITH_AS(papillon::throw_invalid_argument("operator", "axis = ", 3, " of ",
                                                        papillon::to_text(std::vector{1, 2})),
                       "papillon::operator: axis = 3 of (1, 2)", std::invalid_argument);
  CHECK(papillon::to_text(std::vector<int>{}) == "()");
  CHECK(papillon::to_text(std::vector<std::int64_t>{std::int64_t{1} << 40}) == "(1099511627776)");
}

TEST_CASE("errors: sizes without a construction name the size and the nearest orders") {
  check_options({2, 3}, {}, {"3", "2", "4"});
  check_options({11}, {}, {"11", "8", "12"});
  check_options({6, 5}, {.axis = 0}, {"6", "4", "8"});
  check_options({668}, {}, {"668", "664", "672"});
  check_options({5, 14}, {}, {"14", "12", "16"});
  check_options({5, 14}, {.group = 7}, {"7", "4", "8"});
}

TEST_CASE("errors: n = 0") {
  check_options({3, 0}, {}, {"0"});
  check_options({0, 4}, {.axis = 0}, {"0"});
}

TEST_CASE("errors: the axis is out of range") {
  check_options({4, 8}, {.axis = 2}, {"axis", "2"});
  check_options({4, 8}, {.axis = -3}, {"axis", "-3", "2"});
  check_options({8}, {.axis = std::numeric_limits<int>::max()}, {"axis", "2147483647"});
  check_options({8}, {.axis = std::numeric_limits<int>::min()}, {"axis", "-2147483648"});
}

TEST_CASE("errors: the group does not divide, is negative, or has no construction") {
  check_options({4, 16}, {.group = 5}, {"group", "5", "16"});
  check_options({4, 16}, {.group = 32}, {"group", "32", "16"});
  check_options({4, 16}, {.group = -4}, {"group", "-4"});
  check_options({4, 18}, {.group = 6}, {"6"});
}

TEST_CASE("errors: the scale is not finite, or not whole for integers") {
  check_options({4, 16}, {.scale = std::nan("")}, {"scale", "nan"});
  check_options({4, 16}, {.scale = std::numeric_limits<double>::infinity()}, {"scale", "inf"});
  check_options({4, 16}, {.scale = -std::numeric_limits<double>::infinity()}, {"scale", "-inf"});
  check_options<std::int32_t>({4, 16}, {.scale = 0.5}, {"scale", "0.5", "int32"});
  check_options<std::int64_t>({4, 16}, {.scale = 1.25}, {"scale", "1.25", "int64"});
}

TEST_CASE("errors: integers cannot be divided by n") {
  check_options<std::int32_t>({4, 16}, {.norm = Normalization::ortho}, {"norm", "ortho", "int32"});
  check_options<std::int64_t>({4, 16}, {.norm = Normalization::inverse}, {"norm", "inverse", "int64"});
}

TEST_CASE("errors: sequency and dyadic orders exist for powers of two only") {
  check_options({4, 12}, {.ordering = Ordering::sequency}, {"ordering", "sequency", "12"});
  check_options({20, 2}, {.axis = 0, .ordering = Ordering::dyadic}, {"ordering", "dyadic", "20"});
  check_options({4, 24}, {.ordering = Ordering::dyadic, .group = 12}, {"ordering", "dyadic", "12"});
}

TEST_CASE("errors: values of an enumeration that are none") {
  check_options({4, 16}, {.norm = static_cast<Normalization>(7)}, {"norm"});
  check_options({4, 16}, {.ordering = static_cast<Ordering>(7)}, {"ordering"});
  check_options({4, 16}, {.algorithm = static_cast<papillon::Algorithm>(7)}, {"algorithm"});
  check_options({4, 16}, {.signs = {.seed = 1u, .side = static_cast<papillon::SignSide>(7)}}, {"sign"});
}

TEST_CASE("errors: sign vectors of the wrong length, both kinds at once, values other than one") {
  const std::vector<std::int8_t> signs(15, 1);
  check_options({4, 16}, {.signs = {.values = signs}}, {"signs", "15", "16"});
  check_options({4, 16}, {.signs = {.values = signs}, .group = 8}, {"signs", "15", "8"});
  const std::vector<std::int8_t> sixteen(16, 1);
  check_options({4, 16}, {.signs = {.values = sixteen}, .group = 8}, {"signs", "16", "8"});
  check_options({4, 16}, {.signs = {.values = sixteen, .seed = 1u}}, {"signs", "seed"});
  for_each_space([]<class Space>(const Space& space) {
    if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::accessible) {
      for (const std::int8_t wrong : {0, 2, -2, 127, -128}) {
        std::vector<std::int8_t> values(16, -1);
        values[9] = wrong;
        Guarded<float, Space> x({4, 16}, Memory::row_major, random_values<float>(64, 1u)), y({4, 16});
        const auto before = x.bytes();
        std::string message = "not refused";
        try {
          papillon::hadamard(space, x.const_descriptor(), y.descriptor(), {.signs = {.values = values}});
        } catch (const std::invalid_argument& error) {
          message = error.what();
        }
        INFO(message);
        CHECK(message.starts_with("papillon::hadamard: "));
        for (const auto& part : {std::string("signs"), std::to_string(wrong), std::string("9")})
          CHECK(message.find(part) != std::string::npos);
        CHECK(x.bytes() == before);
        CHECK(y.untouched());
      }
    }
  });
}

TEST_CASE("errors: x and y differ in extents, rank or type") {
  for_each_space([]<class Space>(const Space& space) {
    Guarded<float, Space> x({4, 16}, Memory::row_major, random_values<float>(64, 1u)), longer({4, 32}),
        fewer({3, 16}), flat({64}), deep({1, 4, 16});
    Guarded<double, Space> wide({4, 16});
    Guarded<papillon::half, Space> narrow({4, 16});
    Guarded<std::int32_t, Space> whole({4, 16});
    const auto dx = x.const_descriptor();
    check_refused(space, x, longer, dx, longer.descriptor(), {}, {"(4, 16)", "(4, 32)"});
    check_refused(space, x, fewer, dx, fewer.descriptor(), {}, {"(4, 16)", "(3, 16)"});
    check_refused(space, x, flat, dx, flat.descriptor(), {}, {"(4, 16)", "(64)"});
    check_refused(space, x, deep, dx, deep.descriptor(), {.axis = 1}, {"(4, 16)", "(1, 4, 16)"});
    check_refused(space, x, wide, dx, wide.descriptor(), {}, {"float32", "float64"});
    check_refused(space, x, narrow, dx, narrow.descriptor(), {}, {"float32", "float16"});
    check_refused(space, x, whole, dx, whole.descriptor(), {}, {"float32", "int32"});
  });
}

TEST_CASE("errors: descriptors that describe nothing") {
  for_each_space([]<class Space>(const Space& space) {
    Guarded<float, Space> x({4, 16}, Memory::row_major, random_values<float>(64, 1u)), y({4, 16});
    const auto refused = [&](auto change_x, auto change_y, const std::vector<std::string>& parts) {
      auto dx = x.const_descriptor();
      auto dy = y.descriptor();
      change_x(dx);
      change_y(dy);
      check_refused(space, x, y, dx, dy, {}, parts);
    };
    const auto keep = [](auto&) {};
    for (const int rank : {0, -1, 9}) {
      const auto change = [&](auto& tensor) { tensor.rank = rank; };
      refused(change, change, {"rank", std::to_string(rank)});
    }
    refused([](auto& tensor) { tensor.data = nullptr; }, keep, {"x", "null"});
    refused(keep, [](auto& tensor) { tensor.data = nullptr; }, {"y", "null"});
    const auto negative = [](auto& tensor) { tensor.extents[0] = -4; };
    refused(negative, negative, {"-4"});
    // Two outputs in one place.
    refused(keep, [](auto& tensor) { tensor.strides[0] = 0; }, {"y", "stride"});
    refused(keep, [](auto& tensor) { tensor.strides[0] = 8; }, {"y", "(8, 1)"});
    // Sizes whose product or byte count does not fit in 64 bits.
    const auto huge = [](auto& tensor) { tensor.extents[0] = std::int64_t{1} << 62; };
    refused(huge, huge, {"4611686018427387904"});
    const auto far = [](auto& tensor) { tensor.strides[0] = std::int64_t{1} << 61; };
    refused(keep, far, {"2305843009213693952"});
  });
}

TEST_CASE("errors: a scalar type that is none") {
  for_each_space([]<class Space>(const Space& space) {
    Guarded<float, Space> x({4, 16}, Memory::row_major, random_values<float>(64, 1u)), y({4, 16});
    auto dx = x.const_descriptor();
    auto dy = y.descriptor();
    dx.type = dy.type = static_cast<papillon::ScalarType>(99);
    check_refused(space, x, y, dx, dy, {}, {"x", "type"});
  });
}

TEST_CASE("errors: Views of different extents") {
  for_each_space([]<class Space>(const Space& space) {
    const Kokkos::View<float**, typename Space::memory_space> x("x", 4, 16), y("y", 4, 8);
    std::string message = "not refused";
    try {
      papillon::hadamard(space, x, y);
    } catch (const std::invalid_argument& error) {
      message = error.what();
    }
    INFO(message);
    CHECK(message.starts_with("papillon::hadamard: "));
    CHECK(message.find("(4, 16)") != std::string::npos);
    CHECK(message.find("(4, 8)") != std::string::npos);
  });
}
