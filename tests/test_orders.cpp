// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "papillon/core/construction/finite_field.hpp"
#include "papillon/core/construction/tables.hpp"
#include "papillon/orders.hpp"

namespace {

using papillon::HadamardFactorization;
using papillon::HadamardMatrix;

/// All entries ±1 and H Hᵀ = order * I, by counting the differing bits of every pair of rows.
bool is_hadamard(const HadamardMatrix& matrix) {
  const std::int64_t n = matrix.order, words = (n + 63) / 64;
  if (std::ssize(matrix.entries) != n * n) return false;
  std::vector<std::uint64_t> negative(static_cast<std::size_t>(n * words), 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      if (matrix(i, j) != 1 && matrix(i, j) != -1) return false;
      if (matrix(i, j) == -1)
        negative[static_cast<std::size_t>(i * words + j / 64)] |= std::uint64_t{1} << (j % 64);
    }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      std::int64_t differing = 0;
      for (std::int64_t word = 0; word < words; ++word)
        differing += std::popcount(negative[static_cast<std::size_t>(i * words + word)] ^
                                   negative[static_cast<std::size_t>(j * words + word)]);
      if (2 * differing != n) return false;
    }
  return true;
}

/// Sylvester's matrix by its block recursion [H H; H -H], as scipy.linalg.hadamard documents it.
HadamardMatrix sylvester_by_blocks(std::int64_t n) {
  HadamardMatrix matrix{1, {1}};
  while (matrix.order < n) {
    const std::int64_t half = matrix.order;
    HadamardMatrix twice{2 * half, std::vector<std::int8_t>(static_cast<std::size_t>(4 * half * half))};
    for (std::int64_t i = 0; i < 2 * half; ++i)
      for (std::int64_t j = 0; j < 2 * half; ++j) {
        const std::int8_t entry = matrix(i % half, j % half);
        twice.entries[static_cast<std::size_t>(i * 2 * half + j)] =
            static_cast<std::int8_t>(i >= half && j >= half ? -entry : entry);
      }
    matrix = std::move(twice);
  }
  return matrix;
}

/// The quadratic character of a prime field, found by squaring everything.
int character(std::int64_t a, std::int64_t p) {
  a = (a % p + p) % p;
  if (a == 0) return 0;
  for (std::int64_t x = 1; x < p; ++x)
    if (x * x % p == a) return 1;
  return -1;
}

/// FNV-1a over the row-major entries as '+' and '-'.
std::uint64_t fingerprint(const HadamardMatrix& matrix) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::int8_t entry : matrix.entries) hash = (hash ^ (entry == 1 ? '+' : '-')) * 0x100000001b3U;
  return hash;
}

template <class Call>
std::string error_text(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Sum over four sequences of weight * aperiodic (or periodic) autocorrelation, at one shift.
int autocorrelation(const std::array<std::string, 4>& sequences, const std::array<int, 4>& weight,
                    std::size_t shift, bool periodic) {
  int sum = 0;
  for (std::size_t s = 0; s < 4; ++s) {
    const std::size_t n = sequences[s].size();
    for (std::size_t i = 0; i < n; ++i) {
      if (!periodic && i + shift >= n) break;
      sum += sequences[s][i] == sequences[s][(i + shift) % n] ? weight[s] : -weight[s];
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("every Hadamard matrix up to order 1000 is one, and only the unknown orders are missing") {
  const auto& orders = papillon::hadamard_orders();
  CHECK(std::ranges::is_sorted(orders));
  const std::set<std::int64_t> offered(orders.begin(), orders.end());
  CHECK(offered.size() == orders.size());
  CHECK(offered.contains(papillon::max_listed_hadamard_order));
  CHECK(*offered.rbegin() == papillon::max_listed_hadamard_order);
  for (std::int64_t n = 1; n <= 1000; ++n) {
    const bool expected = n == 1 || n == 2 || (n % 4 == 0 && n != 668 && n != 716 && n != 892);
    CAPTURE(n);
    CHECK(offered.contains(n) == expected);
    CHECK(papillon::hadamard_order_exists(n) == expected);
    if (expected) CHECK(is_hadamard(papillon::hadamard_matrix(n)));
  }
}

TEST_CASE("a Hadamard matrix with one wrong entry is told from a right one") {
  for (const std::int64_t n : {2, 12, 172}) {
    HadamardMatrix matrix = papillon::hadamard_matrix(n);
    CHECK(is_hadamard(matrix));
    std::int8_t& entry = matrix.entries[static_cast<std::size_t>(n * n - 1)];
    entry = static_cast<std::int8_t>(-entry);
    CHECK_FALSE(is_hadamard(matrix));
    entry = 0;
    CHECK_FALSE(is_hadamard(matrix));
  }
}

TEST_CASE("Hadamard matrices of larger base orders") {
  // One of each family, and the difference sets that no order up to 1000 uses.
  for (const std::int64_t n : {1004, 1036, 1180, 1372, 1380, 2524}) {
    CAPTURE(n);
    CHECK(papillon::hadamard_factorization(n) == HadamardFactorization{n, 0});
    CHECK(is_hadamard(papillon::hadamard_matrix(n)));
  }
}

TEST_CASE("tabulated Williamson rows: periodic autocorrelations add up to zero") {
  for (const auto& [w, halves] : papillon::detail::williamson_table()) {
    CAPTURE(w);
    std::array<std::string, 4> rows;
    for (std::size_t r = 0; r < 4; ++r) {
      REQUIRE(std::ssize(halves[r]) == (w + 1) / 2);
      rows[r] = std::string(halves[r]) + std::string(halves[r].rbegin(), halves[r].rend() - 1);
      CHECK(rows[r].find_first_not_of("+-") == std::string::npos);
    }
    for (std::size_t shift = 1; shift < rows[0].size(); ++shift)
      CHECK(autocorrelation(rows, {1, 1, 1, 1}, shift, true) == 0);
  }
}

TEST_CASE("tabulated Turyn and Turyn-type sequences: weighted aperiodic autocorrelations add up to zero") {
  for (const bool turyn_type : {false, true}) {
    const auto table = turyn_type ? papillon::detail::turyn_type_table() : papillon::detail::turyn_table();
    const std::array<int, 4> weight = turyn_type ? std::array{1, 1, 2, 2} : std::array{1, 1, 1, 1};
    for (const auto& [length, views] : table) {
      CAPTURE(length);
      const auto n = static_cast<std::size_t>(length);
      std::array<std::string, 4> sequences;
      for (std::size_t s = 0; s < 4; ++s) sequences[s] = std::string(views[s]);
      const std::size_t third = turyn_type ? n : n - 1;
      CHECK((sequences[0].size() == n && sequences[1].size() == n));
      CHECK((sequences[2].size() == third && sequences[3].size() == n - 1));
      for (std::size_t shift = 1; shift < n; ++shift)
        CHECK(autocorrelation(sequences, weight, shift, false) == 0);
    }
  }
}

TEST_CASE("tabulated difference sets: every difference occurs lambda times") {
  for (const auto& [v, generator, representatives] : papillon::detail::difference_set_table()) {
    CAPTURE(v);
    std::vector<std::int64_t> occurrences(static_cast<std::size_t>(v), 0);
    std::int64_t elements = 0;
    for (const auto& list : representatives) {
      std::set<std::int64_t> members;
      for (const std::int64_t representative : list) {
        std::int64_t member = (representative % v + v) % v;
        while (members.insert(member).second) member = member * generator % v;
      }
      elements += std::ssize(members);
      for (const std::int64_t a : members)
        for (const std::int64_t b : members) ++occurrences[static_cast<std::size_t>((a - b + v) % v)];
    }
    for (std::int64_t d = 1; d < v; ++d) CHECK(occurrences[static_cast<std::size_t>(d)] == elements - v);
  }
}

TEST_CASE("powers of two are Sylvester's matrices") {
  for (std::int64_t n = 1; n <= 1024; n *= 2) {
    CAPTURE(n);
    const HadamardMatrix matrix = papillon::hadamard_matrix(n);
    CHECK(matrix.order == n);
    CHECK(matrix.entries == sylvester_by_blocks(n).entries);
    CHECK(papillon::detail::base_matrix(n) == matrix.entries);
  }
}

TEST_CASE("Paley I matrices by brute-force squares") {
  for (const std::int64_t n : {44, 60, 140, 684}) {
    CAPTURE(n);
    const std::int64_t p = n - 1;
    CHECK(papillon::hadamard_construction(n) == "Paley I, q = " + std::to_string(p));
    std::vector<int> chi;
    for (std::int64_t a = 0; a < p; ++a) chi.push_back(character(a, p));
    const HadamardMatrix matrix = papillon::hadamard_matrix(n);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        int expected = j == 0 ? 1 : -1;
        if (i > 0 && j > 0) expected = i == j ? 1 : chi[static_cast<std::size_t>((i - j + p) % p)];
        wrong += matrix(i, j) != expected;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Paley II matrices by brute-force squares") {
  for (const std::int64_t n : {12, 36, 76, 148}) {
    CAPTURE(n);
    const std::int64_t p = n / 2 - 1, half = n / 2;
    CHECK(papillon::hadamard_construction(n) == "Paley II, q = " + std::to_string(p));
    const HadamardMatrix matrix = papillon::hadamard_matrix(n);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < half; ++i)
      for (std::int64_t j = 0; j < half; ++j) {
        const int c = i == 0 || j == 0 ? (i == j ? 0 : 1) : character(i - j, p), d = i == j ? 1 : 0;
        const int block[2][2] = {{c + d, c - d}, {c - d, -c - d}};
        for (std::int64_t a = 0; a < 2; ++a)
          for (std::int64_t b = 0; b < 2; ++b)
            wrong +=
                (n == 12 ? matrix(2 * i + a, 2 * j + b) : matrix(a * half + i, b * half + j)) != block[a][b];
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("finite fields: Jacobsthal sums and character of prime powers") {
  for (const std::int64_t q : {3, 5, 9, 13, 25, 27, 49, 81, 121, 125, 169, 243, 343}) {
    CAPTURE(q);
    const papillon::detail::FiniteField field(q);
    std::int64_t squares = 0;
    for (std::int64_t a = 0; a < q; ++a) squares += field.quadratic_character(a) == 1;
    CHECK(squares == (q - 1) / 2);
    CHECK(field.quadratic_character(0) == 0);
    for (std::int64_t c = 1; c < q; ++c) {
      std::int64_t sum = 0;
      std::set<std::int64_t> differences;
      for (std::int64_t x = 0; x < q; ++x) {
        sum += field.quadratic_character(x) * field.quadratic_character(field.subtract(x, c));
        differences.insert(field.subtract(x, c));
      }
      CHECK(sum == -1);
      CHECK(std::ssize(differences) == q);
    }
  }
  CHECK(papillon::detail::as_prime_power(343).prime == 7);
  CHECK(papillon::detail::as_prime_power(343).degree == 3);
  for (const std::int64_t q : {0, 1, 6, 15, 667, 3375})
    CHECK(papillon::detail::as_prime_power(q).degree == 0);
}

TEST_CASE("sizes that are not base orders: Kronecker product, the power of two fastest") {
  for (const auto& [m, k] : {std::pair<std::int64_t, int>{12, 1}, {20, 2}, {92, 3}, {172, 1}, {28, 5}}) {
    const std::int64_t low = std::int64_t{1} << k, n = m << k;
    CAPTURE(n);
    const HadamardMatrix whole = papillon::hadamard_matrix(n), base = papillon::hadamard_matrix(m);
    const HadamardMatrix fast = sylvester_by_blocks(low);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        wrong += whole(i, j) != base(i / low, j / low) * fast(i % low, j % low);
    CHECK(wrong == 0);
  }
}

TEST_CASE("order 12 is the published Paley II matrix") {
  // As printed in the article "Paley construction" of Wikipedia, and in Dao's fast-hadamard-transform.
  const std::string_view published =
      "+-++++++++++--+-+-+-+-+-+++-++----+++---+--+-++-+++++-++----+-+---+--+-+"
      "++--+++-++--+--++---+--+++----+++-+++--+-++---+-++++----+++-+-+--+-++---";
  std::string ours;
  for (const std::int8_t entry : papillon::hadamard_matrix(12).entries) ours += entry == 1 ? '+' : '-';
  CHECK(ours == published);
}

TEST_CASE("matrices that published transforms fix") {
  // Fingerprints of the strings in Dao-AILab/fast-hadamard-transform csrc/code_gen.py (orders 12, 20, 28) and
  // of the matrices in spcl/QuaRot fake_quant/hadamard_utils.py (the others).
  const std::pair<std::int64_t, std::uint64_t> published[] = {
      {12, 0x6d27d4ef16d47d75U},  {20, 0x21413dcefa542c5U},   {28, 0x2b859142f8574c35U},
      {36, 0x3cbd584a619bdddU},   {52, 0x64547545b4660cc5U},  {60, 0x976dbe55c09a5eb5U},
      {108, 0x6391c059935eebb5U}, {140, 0x7e0d0c2c703d8685U}, {156, 0x1311bcd59e9c3ef5U},
      {172, 0xa0b3f25b06595585U}};
  for (const auto& [n, expected] : published) {
    CAPTURE(n);
    CHECK(fingerprint(papillon::hadamard_matrix(n)) == expected);
  }
}

TEST_CASE("factorization of model sizes") {
  const std::pair<std::int64_t, HadamardFactorization> sizes[] = {
      {1, {1, 0}},       {2, {1, 1}},       {4096, {1, 12}},   {80, {20, 2}},     {96, {12, 3}},
      {192, {12, 4}},    {3584, {28, 7}},   {5120, {20, 8}},   {6144, {12, 9}},   {7168, {28, 8}},
      {9728, {76, 7}},   {10944, {684, 4}}, {11008, {172, 6}}, {11264, {44, 8}},  {13696, {428, 5}},
      {13824, {108, 7}}, {14336, {28, 9}},  {18944, {148, 7}}, {22016, {172, 7}}, {25600, {100, 8}},
      {27648, {108, 8}}, {28672, {28, 10}}, {29568, {924, 5}}};
  for (const auto& [n, expected] : sizes) {
    CAPTURE(n);
    CHECK(papillon::hadamard_order_exists(n));
    CHECK(papillon::hadamard_factorization(n) == expected);
  }
  CHECK(papillon::hadamard_factorization(std::int64_t{1} << 62) == HadamardFactorization{1, 62});
  CHECK(papillon::hadamard_factorization(std::int64_t{3} << 41) == HadamardFactorization{12, 39});
  CHECK(papillon::hadamard_factorization(std::int64_t{1023} << 40).log2_power > 36);
}

TEST_CASE("factorization takes the smallest base order") {
  const auto& orders = papillon::hadamard_orders();
  for (std::int64_t n = 1; n <= 2 * papillon::max_listed_hadamard_order; ++n) {
    // By definition: try every listed order in ascending order.
    std::int64_t smallest = 0;
    for (const std::int64_t m : orders)
      if (m <= n && n % m == 0 && std::has_single_bit(static_cast<std::uint64_t>(n / m))) {
        smallest = m;
        break;
      }
    if (papillon::hadamard_order_exists(n) != (smallest != 0)) FAIL_CHECK("existence of order ", n);
    if (smallest == 0) continue;
    const auto [m, k] = papillon::hadamard_factorization(n);
    if (m != smallest || m << k != n) FAIL_CHECK("factorization of ", n, " as ", m, " * 2^", k);
  }
}

TEST_CASE("nearest orders") {
  std::int64_t below = 0;
  for (std::int64_t n = 1; n <= 6000; ++n) {
    std::int64_t above = n + 1;
    while (!papillon::hadamard_order_exists(above)) ++above;
    if (papillon::nearest_hadamard_orders(n) != std::pair(below, above)) FAIL_CHECK("nearest orders of ", n);
    if (papillon::hadamard_order_exists(n)) below = n;
  }
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-7}})
    CHECK(papillon::nearest_hadamard_orders(n) == std::pair<std::int64_t, std::int64_t>(0, 1));
  const auto [low, high] = papillon::nearest_hadamard_orders((std::int64_t{1} << 40) + 1);
  CHECK(low == std::int64_t{1} << 40);
  CHECK(high > low + 1);
  CHECK(papillon::hadamard_order_exists(high));
  CHECK(papillon::nearest_hadamard_orders(INT64_MAX).second == 0);
}

TEST_CASE("errors of Hadamard orders name the size and the nearest offered ones") {
  using papillon::hadamard_factorization;
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-4}, std::int64_t{3}, std::int64_t{6},
                               std::int64_t{668}, std::int64_t{10945}, std::int64_t{1} << 40 | 1}) {
    CAPTURE(n);
    CHECK_FALSE(papillon::hadamard_order_exists(n));
    const std::string text = error_text([&] { hadamard_factorization(n); });
    CHECK(contains(text, "hadamard_factorization"));
    CHECK(contains(text, "n = " + std::to_string(n) + " "));
    CHECK(contains(error_text([&] { papillon::hadamard_matrix(n); }),
                   "hadamard_matrix: no Hadamard matrix of order n"));
    CHECK(contains(error_text([&] { papillon::hadamard_construction(n); }),
                   "hadamard_construction: no Hadamard"));
  }
  CHECK(contains(error_text([] { hadamard_factorization(0); }), "the nearest offered order is 1"));
  CHECK(contains(error_text([] { hadamard_factorization(3); }), "the nearest offered orders are 2 and 4"));
  CHECK(contains(error_text([] { hadamard_factorization(6); }), "the nearest offered orders are 4 and 8"));
  CHECK(contains(error_text([] { hadamard_factorization(668); }),
                 "the nearest offered orders are 664 and 672"));
  CHECK(contains(error_text([] { hadamard_factorization(10945); }),
                 "the nearest offered orders are 10944 and "));
  const std::string large = error_text([] { papillon::hadamard_matrix(65536); });
  CHECK(contains(large, "n = 65536 is above 32768"));
  CHECK(contains(error_text([] { papillon::detail::base_matrix(8192); }),
                 "m = 8192 is not among hadamard_orders()"));
}

TEST_CASE("constructions in words") {
  using papillon::hadamard_construction;
  CHECK(hadamard_construction(1) == "Sylvester");
  CHECK(hadamard_construction(std::int64_t{1} << 40) == "Sylvester");
  CHECK(hadamard_construction(12) == "Paley II, q = 5");
  CHECK(hadamard_construction(20) == "Williamson, 4 x 5");
  CHECK(hadamard_construction(100) == "Paley II, q = 49");
  CHECK(hadamard_construction(172) == "Williamson, 4 x 43");
  CHECK(hadamard_construction(292) == "Miyamoto, q = 73");
  CHECK(hadamard_construction(428) == "Goethals-Seidel, T-sequences of length 107");
  CHECK(hadamard_construction(764) == "Goethals-Seidel, supplementary difference sets modulo 191");
  CHECK(hadamard_construction(940) ==
        "Goethals-Seidel, T-sequences of length 47 and Williamson matrices of order 5");
  CHECK(hadamard_construction(11008) == "Kronecker 172 x 64 (Williamson, 4 x 43)");
}

TEST_CASE("base matrices are made once, from any thread") {
  const std::vector<std::int8_t>* first = nullptr;
  const std::vector<std::int8_t>* second = nullptr;
  std::thread other([&] { first = &papillon::detail::base_matrix(932); });
  second = &papillon::detail::base_matrix(932);
  other.join();
  CHECK(first == second);
  CHECK(first == &papillon::detail::base_matrix(932));
}
