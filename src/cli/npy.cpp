// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/npy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "cli/file_checks.hpp"
#include "papillon/core/errors.hpp"
#include "papillon/core/tensor.hpp"

namespace papillon::cli {

static_assert(std::endian::native == std::endian::little, "elements are mapped as they lie in the file");

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;
constexpr std::size_t max_header_bytes = std::size_t{1} << 20;
constexpr std::size_t max_rank = 64;  // NumPy's own limit since 2.0

struct TypeRow {
  NpyType type;
  std::string_view descr;
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<TypeRow, 9> type_table = {{
    {NpyType::float16, "<f2", "float16", 2},
    {NpyType::float32, "<f4", "float32", 4},
    {NpyType::float64, "<f8", "float64", 8},
    {NpyType::int8, "|i1", "int8", 1},
    {NpyType::int32, "<i4", "int32", 4},
    {NpyType::int64, "<i8", "int64", 8},
    {NpyType::complex64, "<c8", "complex64", 8},
    {NpyType::complex128, "<c16", "complex128", 16},
    {NpyType::void16, "|V2", "bfloat16", 2},
}};

const TypeRow& row_of(NpyType type) { return type_table[static_cast<std::size_t>(type)]; }

/// Reads the dict literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Keys come
/// in any order, each once; white space and a trailing comma are free; nothing else of Python is understood.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        header.type = element_type();
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = shape();
        has_shape = true;
      } else {
        malformed("an unknown or repeated key '" + shorten(key) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) malformed("text after the closing brace");
    if (!has_descr) malformed("no key 'descr'");
    if (!has_order) malformed("no key 'fortran_order'");
    if (!has_shape) malformed("no key 'shape'");
    return header;
  }

 private:
  [[noreturn]] void malformed(const std::string& what) const {
    refuse(file_name_, "malformed .npy header: ", what);
  }

  void skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n\f").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }

  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char wanted) {
    if (peek() != wanted || position_ >= text_.size()) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted))
      malformed(std::string("expected '") + wanted + "' at byte " + std::to_string(position_));
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("expected a string at byte " + std::to_string(position_));
    const std::size_t begin = position_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) malformed("a string without an end");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    malformed("'fortran_order' is neither True nor False");
  }

  NpyType element_type() {
    const char first = peek();
    if (first == '[' || first == '(') refuse(file_name_, "structured element types are not supported");
    const std::string_view descr = string();
    const bool has_prefix =
        !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
    const char order = has_prefix ? descr[0] : '=';
    const std::string_view code = descr.substr(has_prefix ? 1 : 0);
    if (order == '>') refuse(file_name_, "big-endian elements ('", shorten(descr), "') are not supported");
    if (code.starts_with('O')) {
      refuse(file_name_, "Python objects (element type '", shorten(descr),
             "', as in ragged arrays) are not supported");
    }
    for (const TypeRow& row : type_table) {
      // '|' says that byte order does not matter, which is so for one byte and for void only.
      const bool orderless = row.descr[0] == '|';
      if (code == row.descr.substr(1) && (order != '|' || orderless)) return row.type;
    }
    refuse(file_name_, "element type '", shorten(descr),
           "' is not supported (f2, f4, f8, i1, i4, i8, c8, c16 and V2 are)");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> extents;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) malformed("expected ',' or ')' at byte " + std::to_string(position_));
      if (extents.size() == max_rank) refuse(file_name_, "the array has more than ", max_rank, " axes");
      extents.push_back(extent());
      comma = accept(',');
    }
    if (extents.size() == 1 && !comma) malformed("'shape' is not a tuple");
    return extents;
  }

  std::int64_t extent() {
    if (peek() == '-') refuse(file_name_, "the shape has a negative extent");
    const std::size_t begin = position_;
    std::int64_t value = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      const std::int64_t digit = text_[position_] - '0';
      if (value > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
        refuse(file_name_, "the shape has an extent above 2^63 - 1");
      }
      value = value * 10 + digit;
      ++position_;
    }
    if (position_ == begin) malformed("expected an extent at byte " + std::to_string(position_));
    if (text_[begin] == '0' && position_ - begin > 1) malformed("an extent with leading zeros");
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  std::string_view file_name_;
  std::size_t position_ = 0;
};

void check_data(const NpyHeader& header, std::size_t file_bytes, std::string_view name) {
  const std::int64_t limit =
      (std::numeric_limits<std::int64_t>::max() - header.data_offset) / size_of(header.type);
  if (!count_fits(header.shape, limit)) {
    refuse(name, "an array of shape ", to_text(header.shape), " has more than 2^63 - 1 bytes");
  }
  const std::size_t needed = static_cast<std::size_t>(header.data_bytes());
  const std::size_t present = file_bytes - static_cast<std::size_t>(header.data_offset);
  if (present < needed) {
    refuse(name, "truncated data: ", describe(header), " needs ", needed, " bytes, the file has ", present);
  }
  if (present > needed) {
    refuse(name, present - needed, " extra bytes after the data: ", describe(header), " needs ", needed,
           " bytes, the file has ", present);
  }
}

}  // namespace

std::int64_t size_of(NpyType type) { return row_of(type).bytes; }

std::string_view descr_of(NpyType type) { return row_of(type).descr; }

std::optional<ScalarType> library_type(NpyType type) {
  switch (type) {
    case NpyType::float16:
      return ScalarType::float16;
    case NpyType::float32:
      return ScalarType::float32;
    case NpyType::float64:
      return ScalarType::float64;
    case NpyType::int8:
      return std::nullopt;
    case NpyType::int32:
      return ScalarType::int32;
    case NpyType::int64:
      return ScalarType::int64;
    case NpyType::complex64:
      return ScalarType::complex64;
    case NpyType::complex128:
      return ScalarType::complex128;
    case NpyType::void16:
      return ScalarType::bfloat16;
  }
  return std::nullopt;
}

NpyType npy_type(ScalarType type) {
  for (const TypeRow& row : type_table)
    if (library_type(row.type) == type) return row.type;
  throw std::invalid_argument("no .npy file holds elements of this type");
}

std::int64_t NpyHeader::element_count() const { return cli::element_count(shape); }

std::string describe(const NpyHeader& header) {
  return std::string(row_of(header.type).name) + " of shape " + to_text(header.shape);
}

NpyHeader read_npy_header(std::span<const std::byte> file, std::string_view name) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (!bytes.starts_with(magic)) refuse(name, "is not an .npy file (it does not start with \\x93NUMPY)");
  if (bytes.size() < magic.size() + 2)
    refuse(name, "truncated .npy header: the file has ", bytes.size(), " bytes");
  const int major = static_cast<unsigned char>(bytes[magic.size()]);
  const int minor = static_cast<unsigned char>(bytes[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(name, "unknown .npy format version ", major, ".", minor, " (1.0, 2.0 and 3.0 are known)");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = magic.size() + 2 + length_bytes;
  if (bytes.size() < begin) refuse(name, "truncated .npy header: the file has ", bytes.size(), " bytes");
  const std::size_t length = little_endian(bytes.substr(magic.size() + 2, length_bytes));
  if (length > max_header_bytes) {
    refuse(name, "oversized .npy header: ", length, " bytes, at most ", max_header_bytes, " are read");
  }
  if (bytes.size() - begin < length) {
    refuse(name, "truncated .npy header: ", length, " bytes announced, ", bytes.size() - begin, " present");
  }
  NpyHeader header = HeaderParser(bytes.substr(begin, length), name).parse();
  header.data_offset = static_cast<std::int64_t>(begin + length);
  check_data(header, bytes.size(), name);
  return header;
}

ScalarType require_library_type(const NpyHeader& header, std::string_view name) {
  const std::optional<ScalarType> type = library_type(header.type);
  if (!type) {
    refuse(name, describe(header), " cannot be transformed; convert it to int32 or another supported type");
  }
  return *type;
}

void require_library_rank(const NpyHeader& header, std::string_view name) {
  if (header.shape.empty() || header.shape.size() > static_cast<std::size_t>(papillon::max_rank)) {
    refuse(name, describe(header), " has rank ", header.shape.size(), "; ranks 1 to ", papillon::max_rank,
           " are transformed");
  }
}

std::string npy_header_bytes(NpyType type, bool fortran_order, std::span<const std::int64_t> shape) {
  std::ostringstream dict;
  dict << "{'descr': '" << descr_of(type) << "', 'fortran_order': " << (fortran_order ? "True" : "False")
       << ", 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) dict << (i == 0 ? "" : ", ") << shape[i];
  dict << (shape.size() == 1 ? ",), }" : "), }");
  std::string text = dict.str();

  const auto padded_length = [&](std::size_t preamble) {  // of the text with spaces and the final newline
    return (preamble + text.size() + 1 + alignment - 1) / alignment * alignment - preamble;
  };
  std::size_t length_bytes = 2;
  std::size_t length = padded_length(magic.size() + 2 + length_bytes);
  if (length > 0xffff) {
    length_bytes = 4;
    length = padded_length(magic.size() + 2 + length_bytes);
  }
  text.resize(length - 1, ' ');
  text += '\n';

  std::string bytes(magic);
  bytes += length_bytes == 2 ? '\1' : '\2';
  bytes += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + text;
}

}  // namespace papillon::cli
