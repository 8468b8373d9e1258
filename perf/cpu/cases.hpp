// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "papillon/core/scalar.hpp"

namespace papillon::perf {

/// One row of the table: an array of `bytes` bytes of `scalar` taken as rows of 2^log2_n.
struct Case {
  ScalarType scalar;
  std::int64_t bytes;
  int log2_n;

  std::int64_t elements() const { return bytes / static_cast<std::int64_t>(size_of(scalar)); }
  std::int64_t rows() const { return elements() >> log2_n; }
  std::string name() const;  ///< "float32/64KiB/2^10"
};

/// The cases of the CPU table; `quick` keeps the few that show a regression within a minute.
std::vector<Case> cpu_cases(bool quick);

}  // namespace papillon::perf
