// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

#include "cli/file_checks.hpp"
#include "papillon/core/errors.hpp"

namespace papillon::cli {

static_assert(std::endian::native == std::endian::little, "elements are mapped as they lie in the file");

namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::size_t alignment = 8;
constexpr std::uint64_t max_header_bytes = 100'000'000;  // the reference implementation's
constexpr std::size_t max_rank = 64;                     // NumPy's and PyTorch's
constexpr std::int64_t max_int64 = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view metadata_key = "__metadata__";

struct DtypeRow {
  SafetensorsDtype dtype;
  std::string_view name;
  std::int64_t bits;
  std::optional<ScalarType> library;
};

constexpr std::array<DtypeRow, 22> dtype_table = {{
    {SafetensorsDtype::boolean, "BOOL", 8, {}},
    {SafetensorsDtype::f4, "F4", 4, {}},
    {SafetensorsDtype::f6_e2m3, "F6_E2M3", 6, {}},
    {SafetensorsDtype::f6_e3m2, "F6_E3M2", 6, {}},
    {SafetensorsDtype::u8, "U8", 8, {}},
    {SafetensorsDtype::i8, "I8", 8, {}},
    {SafetensorsDtype::f8_e5m2, "F8_E5M2", 8, {}},
    {SafetensorsDtype::f8_e4m3, "F8_E4M3", 8, {}},
    {SafetensorsDtype::f8_e8m0, "F8_E8M0", 8, {}},
    {SafetensorsDtype::f8_e4m3fnuz, "F8_E4M3FNUZ", 8, {}},
    {SafetensorsDtype::f8_e5m2fnuz, "F8_E5M2FNUZ", 8, {}},
    {SafetensorsDtype::i16, "I16", 16, {}},
    {SafetensorsDtype::u16, "U16", 16, {}},
    {SafetensorsDtype::f16, "F16", 16, ScalarType::float16},
    {SafetensorsDtype::bf16, "BF16", 16, ScalarType::bfloat16},
    {SafetensorsDtype::i32, "I32", 32, ScalarType::int32},
    {SafetensorsDtype::u32, "U32", 32, {}},
    {SafetensorsDtype::f32, "F32", 32, ScalarType::float32},
    {SafetensorsDtype::c64, "C64", 64, ScalarType::complex64},
    {SafetensorsDtype::f64, "F64", 64, ScalarType::float64},
    {SafetensorsDtype::i64, "I64", 64, ScalarType::int64},
    {SafetensorsDtype::u64, "U64", 64, {}},
}};

const DtypeRow& row_of(SafetensorsDtype dtype) { return dtype_table[static_cast<std::size_t>(dtype)]; }

/// A text of a file as messages show it: short, in quotes, without control characters.
std::string in_quotes(std::string_view text) {
  return nlohmann::json(shorten(text, 100))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);  // shorten may cut a character
}

std::string label(const SafetensorsTensor& tensor) { return "tensor " + in_quotes(tensor.name); }

/// The number of bytes that the shape and the dtype make; refuses when there is none.
std::int64_t needed_bytes(const SafetensorsTensor& tensor, std::string_view file_name) {
  const std::int64_t bits = bits_of(tensor.dtype);
  if (!count_fits(tensor.shape, max_int64 / bits)) {
    refuse(file_name, label(tensor), ": ", describe(tensor), " has more than 2^63 - 1 bits");
  }
  const std::int64_t total = element_count(tensor.shape) * bits;
  if (total % 8 != 0) {
    refuse(file_name, label(tensor), ": ", describe(tensor), " has ", total,
           " bits, which are no whole bytes");
  }
  return total / 8;
}

void index_names(SafetensorsHeader& header, std::string_view file_name) {
  const auto name = [&](std::size_t i) -> const std::string& { return header.tensors[i].name; };
  header.by_name.resize(header.tensors.size());
  std::iota(header.by_name.begin(), header.by_name.end(), std::size_t{0});
  std::sort(header.by_name.begin(), header.by_name.end(),
            [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  const auto twice = std::adjacent_find(header.by_name.begin(), header.by_name.end(),
                                        [&](std::size_t a, std::size_t b) { return name(a) == name(b); });
  if (twice != header.by_name.end()) {
    refuse(file_name, label(header.tensors[*twice]), " comes twice");
  }
}

/// Takes the events of the JSON parser, of which every one that does not fit the format is refused at once:
/// nothing is kept of what is nested deeper or repeated, and no key overrides another.
class HeaderEvents {
 public:
  HeaderEvents(SafetensorsHeader& header, std::string_view file_name)
      : header_(header), file_name_(file_name) {}

  bool null() { misplaced("null"); }
  bool boolean(bool) { misplaced("a truth value"); }
  bool binary(nlohmann::json::binary_t&) { misplaced("binary data"); }

  bool number_integer(nlohmann::json::number_integer_t value) {  // only those with a minus sign
    number_out_of_range(value == 0 ? "-0" : std::to_string(value));
  }

  bool number_float(nlohmann::json::number_float_t, const std::string& text) { number_out_of_range(text); }

  bool number_unsigned(nlohmann::json::number_unsigned_t value) {
    if (value > static_cast<std::uint64_t>(max_int64)) number_out_of_range(std::to_string(value));
    const auto number = static_cast<std::int64_t>(value);
    if (place_ == Place::shape) {
      if (tensor_.shape.size() == max_rank) refuse_tensor("has more than ", max_rank, " axes");
      tensor_.shape.push_back(number);
    } else if (place_ == Place::offsets) {
      if (offset_count_ == 0) tensor_.begin = number;
      if (offset_count_ == 1) tensor_.end = number;
      ++offset_count_;
    } else {
      misplaced("a number");
    }
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata) {
      header_.metadata[metadata_name_] = text;
    } else if (place_ == Place::tensor && field_ == "dtype") {
      const auto row = std::find_if(dtype_table.begin(), dtype_table.end(),
                                    [&](const DtypeRow& candidate) { return candidate.name == text; });
      if (row == dtype_table.end()) refuse_tensor("has the unknown dtype ", in_quotes(text));
      tensor_.dtype = row->dtype;
    } else {
      misplaced("a string");
    }
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::file) {
      place_ = Place::header;
    } else if (place_ == Place::header) {
      place_ = tensor_.name == metadata_key ? Place::metadata : Place::tensor;
    } else {
      misplaced("an object");
    }
    return true;
  }

  bool key(std::string& text) {
    if (place_ == Place::header) {
      start_entry(std::move(text));
    } else if (place_ == Place::metadata) {
      if (header_.metadata.contains(text)) {
        refuse(file_name_, "the metadata entry ", in_quotes(text), " comes twice");
      }
      metadata_name_ = std::move(text);
    } else {
      bool& has = text == "dtype" ? has_dtype_ : text == "shape" ? has_shape_ : has_offsets_;
      if (text != "dtype" && text != "shape" && text != "data_offsets") {
        refuse_tensor("has the unknown key ", in_quotes(text));
      }
      if (has) refuse_tensor("has ", text, " twice");
      has = true;
      field_ = std::move(text);
    }
    return true;
  }

  bool end_object() {
    if (place_ == Place::tensor) {
      if (!has_dtype_) refuse_tensor("has no dtype");
      if (!has_shape_) refuse_tensor("has no shape");
      if (!has_offsets_) refuse_tensor("has no data_offsets");
      header_.tensors.push_back(std::move(tensor_));
      place_ = Place::header;
    } else {
      place_ = place_ == Place::metadata ? Place::header : Place::file;
    }
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::tensor || field_ == "dtype") misplaced("an array");
    place_ = field_ == "shape" ? Place::shape : Place::offsets;
    return true;
  }

  bool end_array() {
    if (place_ == Place::offsets && offset_count_ != 2) {
      refuse_tensor("has data_offsets of ", offset_count_, " numbers, not 2");
    }
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …; last read: …"
    std::string_view text = error.what();
    if (const std::size_t column = text.find(", column "); column != std::string_view::npos) {
      text.remove_prefix(std::min(text.find(": ", column), text.size() - 2) + 2);
    }
    refuse(file_name_, "malformed header: no JSON at byte ", position, ": ",
           shorten(text.substr(0, text.find("; last read")), 200));
  }

 private:
  enum class Place { file, header, metadata, tensor, shape, offsets };

  template <class... Parts>
  [[noreturn]] void refuse_tensor(const Parts&... parts) const {
    refuse(file_name_, label(tensor_), " ", parts...);
  }

  void start_entry(std::string name) {
    if (name == metadata_key) {
      if (has_metadata_) refuse(file_name_, metadata_key, " comes twice");
      has_metadata_ = true;
    }
    tensor_ = SafetensorsTensor{};
    tensor_.name = std::move(name);
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offset_count_ = 0;
  }

  [[noreturn]] void number_out_of_range(const std::string& text) const {
    if (place_ != Place::shape && place_ != Place::offsets) misplaced("a number");
    refuse_tensor("has ", shorten(text), " in its ", field_, ", which is no integer from 0 to 2^63 - 1");
  }

  [[noreturn]] void misplaced(std::string_view what) const {
    switch (place_) {
      case Place::file:
        break;
      case Place::header:
        if (tensor_.name == metadata_key) refuse(file_name_, metadata_key, " is ", what, ", not an object");
        refuse_tensor("is ", what, ", not an object");
      case Place::metadata:
        refuse(file_name_, "the metadata entry ", in_quotes(metadata_name_), " is ", what, ", not a string");
      case Place::tensor:
        refuse_tensor("has ", what, " as its ", field_, ", not ",
                      field_ == "dtype" ? "a string" : "an array");
      case Place::shape:
      case Place::offsets:
        refuse_tensor("has ", what, " in its ", field_, ", not a number");
    }
    refuse(file_name_, "malformed header: ", what, " in place of an object");
  }

  SafetensorsHeader& header_;
  std::string_view file_name_;
  Place place_ = Place::file;
  bool has_metadata_ = false;
  std::string metadata_name_;
  SafetensorsTensor tensor_;  // its name is the last key of the header
  std::string field_;         // the last key of the tensor
  bool has_dtype_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
  std::size_t offset_count_ = 0;
};

/// Checks that the tensors, whose offsets count from the start of the data as yet, lie one after another in
/// `data_bytes` bytes.
void check_offsets(const SafetensorsHeader& header, std::int64_t data_bytes, std::string_view name) {
  std::int64_t covered = 0;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.begin > tensor.end) {
      refuse(name, label(tensor), " begins at ", tensor.begin, " and ends before that, at ", tensor.end);
    }
    if (tensor.end > data_bytes) {
      refuse(name, label(tensor), " ends at byte ", tensor.end, " of the data, of which the file has ",
             data_bytes);
    }
    const std::int64_t needed = needed_bytes(tensor, name);
    if (needed != tensor.data_bytes()) {
      refuse(name, label(tensor), ": ", describe(tensor), " needs ", needed, " bytes, its offsets ",
             tensor.begin, " and ", tensor.end, " give it ", tensor.data_bytes());
    }
    if (tensor.begin < covered) {
      refuse(name, label(tensor), " begins at ", tensor.begin, " and overlaps a tensor that ends at ",
             covered);
    }
    if (tensor.begin > covered) {
      refuse(name, "bytes ", covered, " to ", tensor.begin, " of the data, before ", label(tensor),
             ", belong to no tensor");
    }
    covered = tensor.end;
  }
  if (covered < data_bytes) {
    refuse(name, "bytes ", covered, " to ", data_bytes,
           " of the data, after the last tensor, belong to no tensor");
  }
}

/// A text as JSON has it.
std::string json_text(const std::string& text, std::string_view file_name) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    refuse(file_name, "the name or metadata text ", in_quotes(text), " is no UTF-8");
  }
}

std::string json_array(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
  return text + "]";
}

/// The header as the reference implementation writes it, without the padding. Offsets count from the start
/// of the data.
std::string json_header(const SafetensorsHeader& header, std::string_view file_name) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += json_text(std::string(metadata_key), file_name) + ":{";
    const char* separator = "";
    for (const auto& [key, value] : header.metadata) {
      text += separator + json_text(key, file_name) + ":" + json_text(value, file_name);
      separator = ",";
    }
    text += "}";
  }
  for (const SafetensorsTensor& tensor : header.tensors) {
    text += text.size() == 1 ? "" : ",";
    text += json_text(tensor.name, file_name) + ":{\"dtype\":\"" + std::string(name_of(tensor.dtype)) +
            "\",\"shape\":" + json_array(tensor.shape) +
            ",\"data_offsets\":" + json_array(std::array{tensor.begin, tensor.end}) + "}";
  }
  return text + "}";
}

void add_data_offset(SafetensorsHeader& header, std::size_t offset) {
  header.data_offset = static_cast<std::int64_t>(offset);
  for (SafetensorsTensor& tensor : header.tensors) {
    tensor.begin += header.data_offset;
    tensor.end += header.data_offset;
  }
}

}  // namespace

std::int64_t bits_of(SafetensorsDtype dtype) { return row_of(dtype).bits; }

std::string_view name_of(SafetensorsDtype dtype) { return row_of(dtype).name; }

std::optional<ScalarType> library_type(SafetensorsDtype dtype) { return row_of(dtype).library; }

std::optional<SafetensorsDtype> safetensors_dtype(ScalarType type) {
  for (const DtypeRow& row : dtype_table)
    if (row.library == type) return row.dtype;
  return std::nullopt;
}

std::string describe(const SafetensorsTensor& tensor) {
  return std::string(name_of(tensor.dtype)) + " of shape " + to_text(tensor.shape);
}

const SafetensorsTensor* SafetensorsHeader::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name.begin(), by_name.end(), name,
                       [&](std::size_t i, std::string_view wanted) { return tensors[i].name < wanted; });
  return found != by_name.end() && tensors[*found].name == name ? &tensors[*found] : nullptr;
}

SafetensorsHeader read_safetensors_header(std::span<const std::byte> file, std::string_view name) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  if (bytes.size() < length_bytes) {
    refuse(name, "is not a safetensors file: it has ", bytes.size(), " bytes, not even the 8 of a length");
  }
  const std::uint64_t length = little_endian(bytes.substr(0, length_bytes));
  if (length > max_header_bytes) {
    refuse(name, "oversized header, or not a safetensors file: ", length, " bytes announced, at most ",
           max_header_bytes, " are read");
  }
  if (length > bytes.size() - length_bytes) {
    refuse(name, "truncated header, or not a safetensors file: ", length, " bytes announced, ",
           bytes.size() - length_bytes, " present");
  }
  const std::string_view text = bytes.substr(length_bytes, length);
  if (!text.starts_with('{')) refuse(name, "malformed header: it does not start with '{'");
  // The JSON parser would take one for the end of the text, and what follows would be read by others only.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    refuse(name, "malformed header: a zero byte at byte ", zero + 1);
  }

  SafetensorsHeader header;
  HeaderEvents events(header, name);
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);

  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  index_names(header, name);
  const std::size_t data_offset = length_bytes + text.size();
  check_offsets(header, static_cast<std::int64_t>(bytes.size() - data_offset), name);
  add_data_offset(header, data_offset);
  return header;
}

SafetensorsLayout plan_safetensors(std::vector<SafetensorsTensor> tensors,
                                   std::map<std::string, std::string> metadata, std::string_view name) {
  SafetensorsLayout layout;
  SafetensorsHeader& header = layout.header;
  header.metadata = std::move(metadata);
  header.tensors = std::move(tensors);
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
              return a.dtype != b.dtype ? a.dtype > b.dtype : a.name < b.name;
            });
  index_names(header, name);

  // What the largest header takes is left over, so that positions in the file do not overflow either.
  std::int64_t left = max_int64 - static_cast<std::int64_t>(length_bytes + max_header_bytes);
  std::int64_t offset = 0;
  for (SafetensorsTensor& tensor : header.tensors) {
    if (tensor.name == metadata_key) refuse(name, label(tensor), ": that name is taken by the metadata");
    if (tensor.shape.size() > max_rank) refuse(name, label(tensor), " has more than ", max_rank, " axes");
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 0) refuse(name, label(tensor), ": ", describe(tensor), " has a negative extent");
    }
    const std::int64_t needed = needed_bytes(tensor, name);
    if (needed > left) refuse(name, label(tensor), ": the file would have more than 2^63 - 1 bytes");
    left -= needed;
    tensor.begin = offset;
    tensor.end = offset += needed;
  }

  std::string text = json_header(header, name);
  text.resize((text.size() + alignment - 1) / alignment * alignment, ' ');
  if (text.size() > max_header_bytes) {
    refuse(name, "oversized header: ", text.size(), " bytes, at most ", max_header_bytes, " are read");
  }
  for (std::size_t i = 0; i < length_bytes; ++i)
    layout.bytes += static_cast<char>(text.size() >> (8 * i) & 0xff);
  layout.bytes += text;
  add_data_offset(header, layout.bytes.size());
  return layout;
}

}  // namespace papillon::cli
