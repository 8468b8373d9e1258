// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vector kernels against oracles that know nothing of vectors, passes or tiles, compared bit for bit, on
// every instruction set of the machine.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "papillon/generic/simd/kernels.hpp"
#include "support/targets.hpp"

namespace {

namespace simd = papillon::simd;
using papillon::bfloat16;
using papillon::compute_type;
using papillon::half;
using papillon_test::on_every_target;

/// A small generator of our own (splitmix64), so that every run tests the same values.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

template <class S>
S random_value(Random& random) {
  if constexpr (std::is_integral_v<S>) {
    return static_cast<S>(random());
  } else {
    // Signs and several binades, so that sums round and their order shows in the bits.
    const double mantissa = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
    const double value = std::ldexp(mantissa, static_cast<int>(random() % 7));
    return static_cast<S>(static_cast<compute_type<S>>(value));
  }
}

template <class S>
bool same_bits(S a, S b) {
  if constexpr (!std::is_integral_v<S>) {
    const auto u = static_cast<compute_type<S>>(a);
    const auto v = static_cast<compute_type<S>>(b);
    if (std::isnan(u) || std::isnan(v)) return std::isnan(u) && std::isnan(v);
  }
  return std::memcmp(&a, &b, sizeof(S)) == 0;
}

/// Whether no element changed, NaNs included.
template <class S>
bool same_memory(const std::vector<S>& a, const std::vector<S>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(S)) == 0);
}

template <class C>
C wrapping_add(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    using U = std::make_unsigned_t<C>;
    return static_cast<C>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <class C>
C wrapping_multiply(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    using U = std::make_unsigned_t<C>;
    return static_cast<C>(static_cast<U>(a) * static_cast<U>(b));
  } else {
    return a * b;
  }
}
template <class C>
C wrapping_negate(C a) {
  if constexpr (std::is_integral_v<C>) {
    return wrapping_multiply(a, C{-1});
  } else {
    return -a;
  }
}

/// v <- H v by its recursion: halves first, so the lowest index bit is summed first; blocks of `inner` move
/// as one.
template <class C>
void recurse(C* v, std::size_t size, std::size_t inner) {
  if (size <= inner) return;
  const std::size_t half_size = size / 2;
  recurse(v, half_size, inner);
  recurse(v + half_size, half_size, inner);
  for (std::size_t i = 0; i < half_size; ++i) {
    const C low = v[i];
    const C high = v[i + half_size];
    v[i] = wrapping_add(low, high);
    v[i + half_size] = wrapping_add(low, wrapping_negate(high));
  }
}
template <class C>
std::vector<C> recursive_hadamard(std::vector<C> v, std::size_t inner) {
  recurse(v.data(), v.size(), inner);
  return v;
}

/// A strided array of rows in a larger allocation, `guard` elements before and after it and between its rows.
template <class S>
struct Rows {
  std::int64_t rows, n, stride;
  std::size_t offset;
  std::vector<S> storage;

  Rows(std::int64_t rows_, std::int64_t n_, std::int64_t padding, std::size_t guard, Random& random)
      : rows(rows_), n(n_), stride(n_ + padding), offset(guard) {
    // Without a guard the allocation ends with the last element, where the address sanitiser watches.
    const std::int64_t span = rows == 0 ? 0 : (rows - 1) * stride + n;
    storage.resize(static_cast<std::size_t>(span) + 2 * guard);
    for (S& value : storage) value = random_value<S>(random);
  }
  S* data() { return storage.data() + offset; }
  S& at(std::int64_t r, std::int64_t i) { return data()[r * stride + i]; }
};

/// Whether `rows` holds `expected(r, i)` and the elements around it are those of `before`.
template <class S, class Expected>
std::int64_t differences(Rows<S>& rows, std::vector<S> before, const Expected& expected) {
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    for (std::int64_t i = 0; i < rows.n; ++i) {
      before[rows.offset + static_cast<std::size_t>(r * rows.stride + i)] = expected(r, i);
    }
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i < before.size(); ++i) count += same_bits(before[i], rows.storage[i]) ? 0 : 1;
  return count;
}

/// Scratch of just the size asked for, at an odd address.
template <class C>
struct Scratch {
  std::vector<C> storage;
  explicit Scratch(std::size_t elements) : storage(elements + 1) {}
  C* data() { return storage.data() + 1; }
};

struct RowCase {
  int log2_n;
  int first_bit;
  std::int64_t rows;
  std::int64_t x_padding, y_padding;
  std::size_t guard;
  bool unit_scale;
};

template <class In, class Out>
void check_rows(const RowCase& c) {
  using C = compute_type<In>;
  CAPTURE(c.log2_n);
  CAPTURE(c.first_bit);
  CAPTURE(c.rows);
  CAPTURE(c.x_padding);
  CAPTURE(c.y_padding);
  CAPTURE(c.guard);
  Random random{static_cast<std::uint64_t>(c.log2_n * 1000 + c.rows)};
  const std::int64_t n = std::int64_t{1} << c.log2_n;
  Rows<In> x(c.rows, n, c.x_padding, c.guard, random);
  Rows<Out> y(c.rows, n, c.y_padding, c.guard, random);
  C scale{1};
  if (!c.unit_scale) scale = std::is_integral_v<C> ? C{3} : static_cast<C>(0.7);

  std::vector<std::vector<C>> expected;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    std::vector<C> row;
    for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<C>(x.at(r, i)));
    expected.push_back(recursive_hadamard(row, std::size_t{1} << c.first_bit));
  }
  const auto value = [&](std::int64_t r, std::int64_t i) {
    return static_cast<Out>(
        wrapping_multiply(expected[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)], scale));
  };

  const auto x_before = x.storage;
  const auto y_before = y.storage;
  Scratch<C> scratch(simd::hadamard_rows_scratch_elements<In, Out>(c.log2_n, c.first_bit));
  simd::hadamard_rows(x.data(), x.stride, y.data(), y.stride, c.rows, c.log2_n, c.first_bit, scale,
                      scratch.data());
  CHECK(differences(y, y_before, value) == 0);
  CHECK(same_memory(x.storage, x_before));
  if constexpr (std::is_same_v<In, Out>) {
    simd::hadamard_rows(x.data(), x.stride, x.data(), x.stride, c.rows, c.log2_n, c.first_bit, scale,
                        scratch.data());
    CHECK(differences(x, x_before, value) == 0);
  }
}

template <class In, class Out>
void check_columns(int log2_n, std::int64_t columns, std::int64_t x_padding, std::int64_t y_padding,
                   std::size_t guard, bool unit_scale) {
  using C = compute_type<In>;
  CAPTURE(log2_n);
  CAPTURE(columns);
  CAPTURE(x_padding);
  Random random{static_cast<std::uint64_t>(log2_n * 1000 + columns)};
  const std::int64_t n = std::int64_t{1} << log2_n;
  Rows<In> x(n, columns, x_padding, guard, random);
  Rows<Out> y(n, columns, y_padding, guard, random);
  C scale{1};
  if (!unit_scale) scale = std::is_integral_v<C> ? C{-5} : static_cast<C>(1.3);

  std::vector<std::vector<C>> expected;
  for (std::int64_t i = 0; i < columns; ++i) {
    std::vector<C> column;
    for (std::int64_t j = 0; j < n; ++j) column.push_back(static_cast<C>(x.at(j, i)));
    expected.push_back(recursive_hadamard(column, 1));
  }
  const auto value = [&](std::int64_t j, std::int64_t i) {
    return static_cast<Out>(
        wrapping_multiply(expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)], scale));
  };

  const auto x_before = x.storage;
  const auto y_before = y.storage;
  Scratch<C> scratch(simd::hadamard_columns_scratch_elements<In, Out>(log2_n));
  simd::hadamard_columns(x.data(), x.stride, y.data(), y.stride, columns, log2_n, scale, scratch.data());
  CHECK(differences(y, y_before, value) == 0);
  CHECK(same_memory(x.storage, x_before));
  if constexpr (std::is_same_v<In, Out>) {
    simd::hadamard_columns(x.data(), x.stride, x.data(), x.stride, columns, log2_n, scale, scratch.data());
    CHECK(differences(x, x_before, value) == 0);
  }
}

template <class In, class Out>
void check_signed_matrix(int m, std::int64_t columns, std::int64_t padding, std::size_t guard,
                         bool unit_scale) {
  using C = compute_type<In>;
  CAPTURE(m);
  CAPTURE(columns);
  CAPTURE(padding);
  Random random{static_cast<std::uint64_t>(m * 1000 + columns)};
  Rows<In> x(m, columns, padding, guard, random);
  Rows<Out> y(m, columns, padding + 1, guard, random);
  std::vector<C> signs;
  for (int k = 0; k < m * m; ++k) signs.push_back((random() & 1) != 0 ? C{1} : C{-1});
  C scale{1};
  if (!unit_scale) scale = std::is_integral_v<C> ? C{7} : static_cast<C>(0.3);

  std::vector<std::vector<Out>> expected;
  for (int j = 0; j < m; ++j) {
    expected.emplace_back();
    for (std::int64_t i = 0; i < columns; ++i) {
      C sum{};
      for (int k = 0; k < m; ++k) {
        const C value = static_cast<C>(x.at(k, i));
        const C term = signs[static_cast<std::size_t>(j * m + k)] > C{0} ? value : wrapping_negate(value);
        sum = k == 0 ? term : wrapping_add(sum, term);
      }
      expected.back().push_back(static_cast<Out>(wrapping_multiply(sum, scale)));
    }
  }
  const auto value = [&](std::int64_t j, std::int64_t i) {
    return expected[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
  };

  const auto x_before = x.storage;
  const auto y_before = y.storage;
  Scratch<C> scratch(simd::signed_matrix_scratch_elements<In, Out>(m));
  simd::signed_matrix_columns(signs.data(), m, x.data(), x.stride, y.data(), y.stride, columns, scale,
                              scratch.data());
  CHECK(differences(y, y_before, value) == 0);
  CHECK(same_memory(x.storage, x_before));
  if constexpr (std::is_same_v<In, Out>) {
    simd::signed_matrix_columns(signs.data(), m, x.data(), x.stride, x.data(), x.stride, columns, scale,
                                scratch.data());
    CHECK(differences(x, x_before, value) == 0);
  }
}

template <class I, class O>
struct Pair {
  using In = I;
  using Out = O;
};
#define ALL_PAIRS                                                                               \
  Pair<float, float>, Pair<double, double>, Pair<std::int32_t, std::int32_t>,                   \
      Pair<std::int64_t, std::int64_t>, Pair<half, half>, Pair<half, float>, Pair<float, half>, \
      Pair<bfloat16, bfloat16>, Pair<bfloat16, float>, Pair<float, bfloat16>

}  // namespace

TEST_CASE_TEMPLATE("rows equal the recursion bit for bit", P, ALL_PAIRS) {
  using In = typename P::In;
  using Out = typename P::Out;
  on_every_target([] {
    for (int log2_n = 0; log2_n <= 12; ++log2_n) {
      for (const int first_bit : {0, 1, 2, 3, 5, 13}) {
        if (first_bit > 2 && log2_n > 8) continue;
        for (const std::int64_t rows : {0, 1, 2, 3, 5, 17}) {
          if (log2_n > 8 && rows > 3) continue;
          check_rows<In, Out>({log2_n, first_bit, rows, 0, 0, 0, true});
          check_rows<In, Out>({log2_n, first_bit, rows, 0, 0, 1, false});
          check_rows<In, Out>({log2_n, first_bit, rows, 1, 3, 0, false});
          check_rows<In, Out>({log2_n, first_bit, rows, 16, 16, 3, true});
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("many short rows share vectors", P, ALL_PAIRS) {
  on_every_target([] {
    for (int log2_n = 0; log2_n <= 6; ++log2_n) {
      for (std::int64_t rows = 30; rows < 300; rows += 13) {
        check_rows<typename P::In, typename P::Out>({log2_n, 0, rows, 0, 0, 1, false});
        check_rows<typename P::In, typename P::Out>({log2_n, 1, rows, 0, 0, 0, true});
      }
    }
  });
}

TEST_CASE_TEMPLATE("long rows equal the recursion bit for bit", P, ALL_PAIRS) {
  on_every_target([] {
    for (int log2_n = 13; log2_n <= 19; ++log2_n) {
      check_rows<typename P::In, typename P::Out>({log2_n, 0, log2_n < 17 ? 2 : 1, 1, 2, 1, false});
      check_rows<typename P::In, typename P::Out>({log2_n, 0, 1, 0, 0, 0, true});
      if (log2_n < 16) check_rows<typename P::In, typename P::Out>({log2_n, 1, 1, 0, 0, 0, false});
      if (log2_n == 18) check_rows<typename P::In, typename P::Out>({log2_n, 1, 1, 0, 0, 0, false});
      if (log2_n == 16) check_rows<typename P::In, typename P::Out>({log2_n, 4, 1, 0, 0, 0, false});
    }
  });
}

TEST_CASE_TEMPLATE("columns equal the recursion bit for bit", P, ALL_PAIRS) {
  using In = typename P::In;
  using Out = typename P::Out;
  on_every_target([] {
    for (int log2_n = 0; log2_n <= 7; ++log2_n) {
      for (std::int64_t columns = 1; columns <= 40; ++columns) {
        check_columns<In, Out>(log2_n, columns, 0, 0, 0, true);
        check_columns<In, Out>(log2_n, columns, 3, 1, 1, false);
      }
      check_columns<In, Out>(log2_n, 300, 0, 0, 0, false);
      check_columns<In, Out>(log2_n, 257, 5, 7, 1, true);
      check_columns<In, Out>(log2_n, 0, 5, 7, 1, true);
    }
    for (int log2_n = 8; log2_n <= 14; ++log2_n) {
      for (const std::int64_t columns : {1, 7, 16, 33}) {
        if (log2_n > 12 && columns > 16) continue;
        check_columns<In, Out>(log2_n, columns, 1, 2, 1, false);
      }
    }
  });
}

TEST_CASE_TEMPLATE("the signed matrix product sums in index order", P, ALL_PAIRS) {
  using In = typename P::In;
  using Out = typename P::Out;
  on_every_target([] {
    for (const int m : {1, 2, 3, 4, 12, 20, 28, 36}) {
      for (std::int64_t columns = 0; columns <= 40; ++columns) {
        check_signed_matrix<In, Out>(m, columns, 0, 0, true);
        check_signed_matrix<In, Out>(m, columns, 3, 1, false);
      }
      check_signed_matrix<In, Out>(m, 129, 0, 0, false);
      check_signed_matrix<In, Out>(m, 200, 2, 1, false);
    }
  });
}

TEST_CASE_TEMPLATE("entries are (-1)^popcount(i & j)", S, float, double, std::int32_t, std::int64_t, half,
                   bfloat16) {
  on_every_target([] {
    for (int log2_n = 0; log2_n <= 10; ++log2_n) {
      const std::int64_t n = std::int64_t{1} << log2_n;
      std::vector<S> row(static_cast<std::size_t>(n));
      std::vector<std::int64_t> values;
      Random random{static_cast<std::uint64_t>(log2_n)};
      for (S& value : row) {
        // Few enough ones that 16-bit results are exact.
        const auto v = static_cast<std::int64_t>(random() % 64) < 2 * 64 / n + 1 ? 1 : 0;
        values.push_back(v);
        value = static_cast<S>(static_cast<compute_type<S>>(v));
      }
      std::vector<compute_type<S>> scratch(simd::hadamard_rows_scratch_elements<S, S>(log2_n));
      simd::hadamard_rows(row.data(), n, row.data(), n, 1, log2_n, 0, compute_type<S>{1}, scratch.data());
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const std::int64_t v = values[static_cast<std::size_t>(j)];
          sum += std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? v : -v;
        }
        wrong +=
            static_cast<std::int64_t>(static_cast<compute_type<S>>(row[static_cast<std::size_t>(i)])) == sum
                ? 0
                : 1;
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE_TEMPLATE("NaN, infinities and signed zeros go where the sums carry them", S, float, double, half,
                   bfloat16) {
  using C = compute_type<S>;
  on_every_target([] {
    for (const int log2_n : {1, 2, 3, 4, 5, 7, 9, 11}) {
      const std::int64_t n = std::int64_t{1} << log2_n;
      for (const C special : {std::numeric_limits<C>::quiet_NaN(), std::numeric_limits<C>::infinity(),
                              -std::numeric_limits<C>::infinity(), C{-0.0}, C{0}}) {
        for (const C other : {C{-0.0}, C{0}, C{2}, std::numeric_limits<C>::infinity()}) {
          for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
            std::vector<C> values(static_cast<std::size_t>(n), other);
            values[static_cast<std::size_t>(at)] = special;
            std::vector<S> row;
            for (const C v : values) row.push_back(static_cast<S>(v));
            std::vector<S> columns;  // the same in each of three columns
            for (const S v : row) columns.insert(columns.end(), 3, v);
            const auto expected = recursive_hadamard(values, 1);
            std::vector<C> scratch(simd::hadamard_rows_scratch_elements<S, S>(log2_n) +
                                   simd::hadamard_columns_scratch_elements<S, S>(log2_n));
            simd::hadamard_rows(row.data(), n, row.data(), n, 1, log2_n, 0, C{1}, scratch.data());
            simd::hadamard_columns(columns.data(), 3, columns.data(), 3, 3, log2_n, C{1}, scratch.data());
            int wrong = 0;
            for (std::size_t i = 0; i < row.size(); ++i) {
              const S value = static_cast<S>(expected[i]);
              wrong += same_bits(row[i], value) && same_bits(columns[3 * i], value) &&
                               same_bits(columns[3 * i + 2], value)
                           ? 0
                           : 1;
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  });
}

TEST_CASE_TEMPLATE("conversions have the bits of the scalar ones", S, half, bfloat16) {
  on_every_target([] {
    // Every 16-bit value to float.
    std::vector<S> narrow;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
      narrow.push_back(S::from_bits(static_cast<std::uint16_t>(bits)));
    std::vector<float> wide(narrow.size());
    simd::convert(narrow.data(), wide.data(), static_cast<std::int64_t>(narrow.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      wrong +=
          std::bit_cast<std::uint32_t>(wide[i]) == std::bit_cast<std::uint32_t>(static_cast<float>(narrow[i]))
              ? 0
              : 1;
    }
    CHECK(wrong == 0);

    // Back from float: each of those values, its neighbours, the ties between them and random bits.
    std::vector<float> from;
    for (const float value : wide) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (const std::uint32_t offset : {0u, 1u, ~0u, 0x1000u, 0x0fffu, 0x1001u, 0x8000u, 0x7fffu, 0x8001u}) {
        from.push_back(std::bit_cast<float>(bits + offset));
      }
    }
    Random random{7};
    for (int i = 0; i < 1000003; ++i)
      from.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    std::vector<S> to(from.size());
    simd::convert(from.data(), to.data(), static_cast<std::int64_t>(from.size()));
    wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i) wrong += to[i].bits == S(from[i]).bits ? 0 : 1;
    CHECK(wrong == 0);

    // Short arrays: nothing beyond the count is touched.
    for (std::int64_t count = 0; count < 40; ++count) {
      std::vector<S> short_to(static_cast<std::size_t>(count) + 1, S::from_bits(0x1234));
      simd::convert(from.data(), short_to.data(), count);
      CHECK(short_to.back().bits == 0x1234);
    }
  });
}
