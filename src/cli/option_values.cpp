// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "cli/commands.hpp"

namespace papillon::cli {

std::optional<ScalarType> scalar_type_from_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ScalarType>, 8> codes = {{
      {"f2", ScalarType::float16},
      {"bf16", ScalarType::bfloat16},
      {"f4", ScalarType::float32},
      {"f8", ScalarType::float64},
      {"i4", ScalarType::int32},
      {"i8", ScalarType::int64},
      {"c8", ScalarType::complex64},
      {"c16", ScalarType::complex128},
  }};
  for (const auto& [code, type] : codes) {
    if (name == code || name == name_of(type)) return type;
  }
  return std::nullopt;
}

CLI::Validator at_least_one() {
  return CLI::Validator(
      [](const std::string& text) {
        std::int64_t value = 0;
        if (!CLI::detail::lexical_cast(text, value)) return text + " is not an integer of 64 bits";
        return value >= 1 ? std::string() : text + " is less than 1";
      },
      "");
}

}  // namespace papillon::cli
