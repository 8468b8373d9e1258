// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the readers of file formats share.
#pragma once

#include <cstdint>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace papillon::cli {

/// Throws std::invalid_argument with "NAME: MESSAGE", the message being the parts in a row; `name` is the
/// file's.
template <class... Parts>
[[noreturn]] void refuse(std::string_view name, const Parts&... parts) {
  std::ostringstream text;
  text << name << ": ";
  (text << ... << parts);
  throw std::invalid_argument(text.str());
}

/// The first bytes of a text from a file, for messages.
inline std::string shorten(std::string_view text, std::size_t limit = 40) {
  return text.size() <= limit ? std::string(text) : std::string(text.substr(0, limit)) + "...";
}

/// The number that up to 8 bytes hold, the lowest byte first.
inline std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Number of elements: 1 for rank 0.
inline std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Whether the product of the extents (none is negative) that are not zero is at most `limit`. Strides are
/// computed from it even when the array is empty, so it must not overflow either.
inline bool count_fits(std::span<const std::int64_t> shape, std::int64_t limit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent == 0) continue;
    if (count > limit / extent) return false;
    count *= extent;
  }
  return true;
}

}  // namespace papillon::cli
