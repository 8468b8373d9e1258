// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
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

CLI::Validator scalar_type_name() {
  return CLI::Validator(
      [](const std::string& name) {
        return scalar_type_from_name(name) ? std::string() : name + " is none of f2 bf16 f4 f8 i4 i8 c8 c16";
      },
      "");
}

void add_ordering_option(CLI::App& command, std::string& name) {
  command.add_option("--ordering", name, "order of the outputs; all but natural need a power of two")
      ->check(CLI::IsMember({"natural", "sequency", "dyadic"}))
      ->capture_default_str();
}

void add_intermediate_option(CLI::App& command, std::string& name) {
  command
      .add_option("--intermediate", name,
                  "what 16-bit elements are between passes: FP32, or rounded to their own type")
      ->check(CLI::IsMember({"compute", "storage"}))
      ->capture_default_str();
}

Ordering ordering_from_name(const std::string& name) {
  return name == "sequency" ? Ordering::sequency : name == "dyadic" ? Ordering::dyadic : Ordering::natural;
}

Intermediate intermediate_from_name(const std::string& name) {
  return name == "storage" ? Intermediate::storage : Intermediate::compute;
}

std::vector<int> ascending_axes(std::vector<int> axes, std::size_t rank) {
  for (int& axis : axes) axis += axis < 0 ? static_cast<int>(rank) : 0;
  std::sort(axes.begin(), axes.end());
  return axes;
}

CLI::Validator integer() {
  return CLI::Validator(
      [](const std::string& text) {
        // Decimal, as one writes it: the parser alone would take 010 as 8, 0x1, true, and nothing as 0.
        const std::string digits = text.starts_with('-') ? text.substr(1) : text;
        const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos &&
                           (digits.size() == 1 || digits[0] != '0');
        std::int64_t value = 0;
        if (plain && CLI::detail::lexical_cast(text, value)) return std::string();
        return "'" + text + "' is not an integer of 64 bits";
      },
      "");
}

CLI::Validator not_negative() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string wrong = integer()(text);
        if (!wrong.empty()) return wrong;
        return text.starts_with('-') ? text + " is less than 0" : std::string();
      },
      "");
}

CLI::Validator at_least_one() {
  return CLI::Validator(
      [](const std::string& text) {
        const std::string wrong = integer()(text);
        if (!wrong.empty()) return wrong;
        return text.starts_with('-') || text == "0" ? text + " is less than 1" : std::string();
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("is empty") : std::string(); }, "");
}

}  // namespace papillon::cli
