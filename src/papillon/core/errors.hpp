// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace papillon {

/// Throws std::invalid_argument with "papillon::OPERATOR: MESSAGE", the message being the parts in a row.
/// Every check of an argument ends here, so that each error names the operator, the argument and its value.
template <class... Parts>
[[noreturn]] void throw_invalid_argument(std::string_view operator_name, const Parts&... parts) {
  std::ostringstream text;
  text << "papillon::" << operator_name << ": ";
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

/// "(3, 4, 5)": extents or strides as errors print them.
template <class Range>
std::string to_text(const Range& extents) {
  std::ostringstream text;
  text << '(';
  bool first = true;
  for (const auto extent : extents) {
    if (!first) text << ", ";
    text << extent;
    first = false;
  }
  text << ')';
  return text.str();
}

}  // namespace papillon
