// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// hadamard against matrices written down from the definition and against published tables.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "support/apply.hpp"

namespace {

using namespace papillon_test;
using papillon::HadamardOptions;
using papillon::Ordering;
using Matrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic>;

int changes(const auto& row) {
  int count = 0;
  for (std::ptrdiff_t j = 1; j < std::ssize(row); ++j) count += row[j] != row[j - 1] ? 1 : 0;
  return count;
}

/// H_n = H_m ⊗ H_{2^k}, H_{2^k}(i, j) = (-1)^popcount(i & j), rows in the order asked for. Sequency rows are
/// sorted by counting their sign changes, dyadic row p is the product of the Rademacher functions of p's
/// bits.
Matrix matrix_of(std::int64_t n, Ordering ordering) {
  const auto& [m, bits, base] = size_of_transform(n);
  const std::int64_t step = std::int64_t{1} << bits;
  Matrix matrix(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto common = static_cast<std::uint64_t>((i % step) & (j % step));
      matrix(i, j) = base(i / step, j / step) * (std::popcount(common) % 2 == 0 ? 1 : -1);
    }
  if (ordering == Ordering::sequency) {
    std::vector<std::vector<std::int64_t>> rows;
    for (std::int64_t i = 0; i < n; ++i) {
      rows.emplace_back();
      for (std::int64_t j = 0; j < n; ++j) rows.back().push_back(matrix(i, j));
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return changes(a) < changes(b); });
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        matrix(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  }
  if (ordering == Ordering::dyadic) {
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t j = 0; j < n; ++j) {
        // Rademacher function r_{b+1}(j/n) is the sign of the bit of j of weight n / 2^(b+1).
        int sign = 1;
        for (int b = 0; b < bits; ++b)
          if (((p >> b) & 1) != 0 && ((j >> (bits - 1 - b)) & 1) != 0) sign = -sign;
        matrix(p, j) = sign;
      }
  }
  return matrix;
}

/// The real parts of values as whole numbers.
template <class T>
std::int64_t whole(const T& value) {
  if constexpr (is_std_complex<T>)
    return static_cast<std::int64_t>(value.real());
  else if constexpr (std::is_integral_v<T>)
    return value;
  else
    return static_cast<std::int64_t>(static_cast<double>(value));
}

template <class T>
T from_whole(std::int64_t value) {
  if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>)
    return static_cast<T>(value);
  else
    return T(static_cast<float>(value));
}

constexpr std::int64_t dense_sizes[] = {1,  2,  4,  8,  12, 16, 20, 24, 28,  32, 36,
                                        40, 44, 52, 60, 64, 80, 92, 96, 128, 192};

}  // namespace

TEST_CASE_TEMPLATE("hadamard: equals the dense product, rows and columns", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const auto n : dense_sizes)
      for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
        if (ordering != Ordering::natural && !std::has_single_bit(static_cast<std::uint64_t>(n))) continue;
        const Matrix h = matrix_of(n, ordering);
        const std::int64_t batch = 5;
        // Whole numbers small enough that every sum is exact in every scalar, bfloat16 results included.
        Matrix x(n, batch);
        const auto values =
            random_values<std::int32_t>(static_cast<std::size_t>(n * batch), 7u, Data::integers);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t b = 0; b < batch; ++b)
            x(i, b) = values[static_cast<std::size_t>(i * batch + b)] % 2;
        const Matrix y = h * x;
        std::vector<T> columns, rows;
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t b = 0; b < batch; ++b) columns.push_back(from_whole<T>(x(i, b)));
        for (std::int64_t b = 0; b < batch; ++b)
          for (std::int64_t i = 0; i < n; ++i) rows.push_back(from_whole<T>(x(i, b)));

        HadamardOptions options{.axis = 0, .ordering = ordering};
        const auto by_columns = transform(space, Shape{n, batch}, columns, options);
        options.axis = 1;
        const auto by_rows = transform(space, Shape{batch, n}, rows, options);
        INFO("n = ", n, ", ordering ", std::string(papillon::name_of(ordering)));
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t b = 0; b < batch; ++b) {
            wrong += whole(by_columns[static_cast<std::size_t>(i * batch + b)]) != y(i, b);
            wrong += whole(by_rows[static_cast<std::size_t>(b * n + i)]) != y(i, b);
          }
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE_TEMPLATE("hadamard: unit vectors give the columns of hadamard_matrix", T, PAPILLON_ALL_SCALARS) {
  for_each_space([](const auto& space) {
    for (const std::int64_t n : {4, 12, 20, 28, 80, 96, 172, 192}) {
      std::vector<T> identity(static_cast<std::size_t>(n * n), from_whole<T>(0));
      for (std::int64_t i = 0; i < n; ++i) identity[static_cast<std::size_t>(i * n + i)] = from_whole<T>(1);
      const auto h = papillon::hadamard_matrix(n);
      const auto y = transform(space, Shape{n, n}, identity, HadamardOptions{.axis = 0});
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n * n; ++i)
        wrong += whole(y[static_cast<std::size_t>(i)]) != h.entries[static_cast<std::size_t>(i)];
      INFO("n = ", n);
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("hadamard: the published 8-point matrices") {
  using Table = std::array<std::array<int, 8>, 8>;
  // scipy.linalg.hadamard(8).
  const Table natural = {{{1, 1, 1, 1, 1, 1, 1, 1},
                          {1, -1, 1, -1, 1, -1, 1, -1},
                          {1, 1, -1, -1, 1, 1, -1, -1},
                          {1, -1, -1, 1, 1, -1, -1, 1},
                          {1, 1, 1, 1, -1, -1, -1, -1},
                          {1, -1, 1, -1, -1, 1, -1, 1},
                          {1, 1, -1, -1, -1, -1, 1, 1},
                          {1, -1, -1, 1, -1, 1, 1, -1}}};
  // The Walsh functions wal(0, t) … wal(7, t), as tabulated in textbooks (K. G. Beauchamp, Applications of
  // Walsh and Related Functions): row s has s sign changes.
  const Table sequency = {{{1, 1, 1, 1, 1, 1, 1, 1},
                           {1, 1, 1, 1, -1, -1, -1, -1},
                           {1, 1, -1, -1, -1, -1, 1, 1},
                           {1, 1, -1, -1, 1, 1, -1, -1},
                           {1, -1, -1, 1, 1, -1, -1, 1},
                           {1, -1, -1, 1, -1, 1, 1, -1},
                           {1, -1, 1, -1, -1, 1, -1, 1},
                           {1, -1, 1, -1, 1, -1, 1, -1}}};
  // Paley's order of the same functions: sign changes 0, 1, 3, 2, 7, 6, 4, 5.
  const Table dyadic = {{{1, 1, 1, 1, 1, 1, 1, 1},
                         {1, 1, 1, 1, -1, -1, -1, -1},
                         {1, 1, -1, -1, 1, 1, -1, -1},
                         {1, 1, -1, -1, -1, -1, 1, 1},
                         {1, -1, 1, -1, 1, -1, 1, -1},
                         {1, -1, 1, -1, -1, 1, -1, 1},
                         {1, -1, -1, 1, 1, -1, -1, 1},
                         {1, -1, -1, 1, -1, 1, 1, -1}}};
  const std::array<int, 8> natural_changes = {0, 7, 3, 4, 1, 6, 2, 5},
                           dyadic_changes = {0, 1, 3, 2, 7, 6, 4, 5};
  for (int i = 0; i < 8; ++i) {
    const auto row = static_cast<std::size_t>(i);
    CHECK(changes(natural[row]) == natural_changes[row]);
    CHECK(changes(sequency[row]) == i);
    CHECK(changes(dyadic[row]) == dyadic_changes[row]);
  }
  const std::pair<Ordering, Table> tables[] = {
      {Ordering::natural, natural}, {Ordering::sequency, sequency}, {Ordering::dyadic, dyadic}};
  for_each_space([&](const auto& space) {
    for (const auto& [ordering, table] : tables) {
      std::vector<float> identity(64, 0.0f);
      for (std::size_t i = 0; i < 8; ++i) identity[i * 8 + i] = 1.0f;
      const auto y =
          transform(space, Shape{8, 8}, identity, HadamardOptions{.axis = 0, .ordering = ordering});
      INFO("ordering ", std::string(papillon::name_of(ordering)));
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) CHECK(y[i * 8 + j] == static_cast<float>(table[i][j]));
    }
  });
}

TEST_CASE("reference: its orderings are those of the definition") {
  for (int bits = 0; bits <= 7; ++bits)
    for (const auto ordering : {Ordering::natural, Ordering::sequency, Ordering::dyadic}) {
      const std::int64_t n = std::int64_t{1} << bits;
      const Matrix ordered = matrix_of(n, ordering), natural = matrix_of(n, Ordering::natural);
      for (std::int64_t row = 0; row < n; ++row)
        CHECK(ordered.row(place_of_row(ordering, row, bits)) == natural.row(row));
    }
}

TEST_CASE("reference: SplitMix64 gives its published first outputs") {
  SplitMix64 words(1234567);
  CHECK(words.next() == 6457827717110365317u);
  CHECK(words.next() == 3203168211198807973u);
  CHECK(words.next() == 9817491932198370423u);
  CHECK(words.next() == 4593380528125082431u);
  CHECK(words.next() == 16408922859458223821u);
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1234567}, ~std::uint64_t{0}}) {
    const auto signs = signs_of_seed(seed, 1000);
    for (std::int64_t i = 0; i < 1000; ++i) {
      REQUIRE(papillon::random_sign(seed, i) == signs[static_cast<std::size_t>(i)]);
      REQUIRE(papillon::random_sign_is_negative(seed, i) == (signs[static_cast<std::size_t>(i)] < 0));
    }
  }
}
