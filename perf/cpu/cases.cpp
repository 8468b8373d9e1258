// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases.hpp"

#include <sstream>

namespace papillon::perf {

std::string Case::name() const {
  std::ostringstream text;
  text << name_of(scalar) << '/';
  if (bytes >= (1 << 20)) {
    text << (bytes >> 20) << "MiB";
  } else {
    text << (bytes >> 10) << "KiB";
  }
  text << "/2^" << log2_n;
  return text.str();
}

std::vector<Case> cpu_cases(bool quick) {
  constexpr std::int64_t kib = 1 << 10;
  constexpr std::int64_t mib = 1 << 20;
  std::vector<Case> cases;
  const auto add = [&](ScalarType scalar, std::int64_t bytes, std::initializer_list<int> lengths) {
    for (const int log2_n : lengths) cases.push_back({scalar, bytes, log2_n});
  };
  if (quick) {
    add(ScalarType::float32, 64 * kib, {10});
    add(ScalarType::float32, 64 * mib, {10, 20});
    return cases;
  }
  // 16-bit arrays have the elements of the f32 arrays beside them, so that element rates compare.
  add(ScalarType::float32, 64 * kib, {6, 10, 14});
  add(ScalarType::float32, 2 * mib, {6, 10, 14, 16});
  add(ScalarType::float32, 64 * mib, {6, 10, 14, 16, 20, 24});
  add(ScalarType::float64, 64 * kib, {6, 10, 13});
  add(ScalarType::float64, 64 * mib, {6, 10, 14, 20});
  for (const ScalarType narrow : {ScalarType::float16, ScalarType::bfloat16}) {
    add(narrow, 32 * kib, {6, 10, 14});
    add(narrow, 1 * mib, {6, 10, 14, 16});
    add(narrow, 32 * mib, {6, 10, 14, 16, 20, 24});
  }
  add(ScalarType::float32, 1024 * mib, {28});
  return cases;
}

}  // namespace papillon::perf
