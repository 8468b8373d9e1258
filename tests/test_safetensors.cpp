// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The safetensors reader and writer, and the files that a checkpoint is streamed through. Headers are put
// together by hand, byte for byte, so that every fault can be written.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/atomic_file.hpp"
#include "cli/file_copy.hpp"
#include "cli/mapped_file.hpp"
#include "cli/safetensors.hpp"

using namespace papillon;
using namespace papillon::cli;

namespace {

using Dtype = SafetensorsDtype;
using Shape = std::vector<std::int64_t>;

constexpr std::int64_t max_int64 = std::numeric_limits<std::int64_t>::max();

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

/// A file whose header is `text` as it stands, followed by `data_bytes` zero bytes.
std::string file_of(const std::string& text, std::size_t data_bytes = 0) {
  return length_of(text.size()) + text + std::string(data_bytes, '\0');
}

SafetensorsHeader read(const std::string& file) {
  return read_safetensors_header(std::as_bytes(std::span(file)), "x.safetensors");
}

std::string refusal(const std::string& file) {
  try {
    read(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const std::string& text, std::size_t data_bytes = 0) {
  return refusal(file_of(text, data_bytes));
}

/// What is said of a header with a single tensor "a" whose entry is `entry` as it stands.
std::string refusal_of_entry(const std::string& entry, std::size_t data_bytes = 0) {
  return refusal_of("{\"a\":" + entry + "}", data_bytes);
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

SafetensorsTensor tensor(const std::string& name, Dtype dtype, const Shape& shape) {
  return {.name = name, .dtype = dtype, .shape = shape};
}

std::string refusal_of_plan(const std::vector<SafetensorsTensor>& tensors,
                            const std::map<std::string, std::string>& metadata = {}) {
  try {
    plan_safetensors(tensors, metadata, "y.safetensors");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

/// The file that a layout asks for, its data zero.
std::string file_of(const SafetensorsLayout& layout) {
  return layout.bytes +
         std::string(static_cast<std::size_t>(layout.header.file_bytes()) - layout.bytes.size(), '\0');
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct DtypeCase {
  Dtype dtype;
  const char* name;
  std::int64_t bits;
};

/// By rising alignment, as the format's reference implementation sorts them.
constexpr std::array<DtypeCase, 22> dtype_cases = {{
    {Dtype::boolean, "BOOL", 8},
    {Dtype::f4, "F4", 4},
    {Dtype::f6_e2m3, "F6_E2M3", 6},
    {Dtype::f6_e3m2, "F6_E3M2", 6},
    {Dtype::u8, "U8", 8},
    {Dtype::i8, "I8", 8},
    {Dtype::f8_e5m2, "F8_E5M2", 8},
    {Dtype::f8_e4m3, "F8_E4M3", 8},
    {Dtype::f8_e8m0, "F8_E8M0", 8},
    {Dtype::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    {Dtype::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    {Dtype::i16, "I16", 16},
    {Dtype::u16, "U16", 16},
    {Dtype::f16, "F16", 16},
    {Dtype::bf16, "BF16", 16},
    {Dtype::i32, "I32", 32},
    {Dtype::u32, "U32", 32},
    {Dtype::f32, "F32", 32},
    {Dtype::c64, "C64", 64},
    {Dtype::f64, "F64", 64},
    {Dtype::i64, "I64", 64},
    {Dtype::u64, "U64", 64},
}};

/// A folder of temporary files.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "papillon-tests-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& name, const std::string& bytes) {
  std::ofstream file(name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

/// Bytes of files that this process has mapped and resident.
std::int64_t resident_file_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0, shared = 0;
  file >> size >> resident >> shared;
  REQUIRE(file.good());
  return shared * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("safetensors: every dtype is read and written") {
  std::vector<SafetensorsTensor> all;
  for (const DtypeCase& type : dtype_cases) {
    CAPTURE(type.name);
    CHECK(bits_of(type.dtype) == type.bits);
    CHECK(name_of(type.dtype) == type.name);
    const std::int64_t bytes = 24 * type.bits / 8;
    const SafetensorsHeader header =
        read(file_of("{\"a\":" + entry(type.name, "[2,3,4]", "[0," + std::to_string(bytes) + "]") + "}",
                     static_cast<std::size_t>(bytes)));
    REQUIRE(header.tensors.size() == 1);
    CHECK(header.tensors[0].name == "a");
    CHECK(header.tensors[0].dtype == type.dtype);
    CHECK(header.tensors[0].shape == Shape{2, 3, 4});
    CHECK(header.tensors[0].begin == header.data_offset);
    CHECK(header.tensors[0].data_bytes() == bytes);
    all.push_back(tensor(type.name, type.dtype, {4, 2}));
  }
  const SafetensorsLayout layout = plan_safetensors(all, {}, "y.safetensors");
  const SafetensorsHeader header = read(file_of(layout));
  REQUIRE(header.tensors.size() == dtype_cases.size());
  for (std::size_t i = 0; i < dtype_cases.size(); ++i) {  // the largest alignment first
    const DtypeCase& type = dtype_cases[dtype_cases.size() - 1 - i];
    CHECK(header.tensors[i].name == type.name);
    CHECK(header.tensors[i].dtype == type.dtype);
    CHECK(header.tensors[i].data_bytes() == type.bits);
  }
}

TEST_CASE("safetensors: the library's name of the dtypes") {
  for (const ScalarType type :
       {ScalarType::float16, ScalarType::bfloat16, ScalarType::float32, ScalarType::float64,
        ScalarType::int32, ScalarType::int64, ScalarType::complex64}) {
    const auto dtype = safetensors_dtype(type);
    REQUIRE(dtype.has_value());
    CHECK(library_type(*dtype) == type);
    CHECK(bits_of(*dtype) == 8 * static_cast<std::int64_t>(size_of(type)));
  }
  CHECK(safetensors_dtype(ScalarType::bfloat16) == Dtype::bf16);
  CHECK(safetensors_dtype(ScalarType::float16) == Dtype::f16);
  CHECK(safetensors_dtype(ScalarType::int32) == Dtype::i32);
  CHECK(safetensors_dtype(ScalarType::float32) == Dtype::f32);
  CHECK(safetensors_dtype(ScalarType::int64) == Dtype::i64);
  CHECK(safetensors_dtype(ScalarType::float64) == Dtype::f64);
  CHECK(!safetensors_dtype(ScalarType::complex128).has_value());
  CHECK(!library_type(Dtype::u8).has_value());
  CHECK(!library_type(Dtype::u32).has_value());
  CHECK(!library_type(Dtype::f8_e4m3).has_value());
}

TEST_CASE("safetensors: the written bytes are those of the reference implementation") {
  const SafetensorsLayout layout =
      plan_safetensors({tensor("weight_scale", Dtype::f8_e4m3, {3, 1}), tensor("weight", Dtype::u8, {3, 5}),
                        tensor("bias", Dtype::f32, {3}), tensor("a", Dtype::f32, {})},
                       {{"format", "pt"}}, "y.safetensors");
  const std::string text = R"({"__metadata__":{"format":"pt"},)"
                           R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                           R"("bias":{"dtype":"F32","shape":[3],"data_offsets":[4,16]},)"
                           R"("weight_scale":{"dtype":"F8_E4M3","shape":[3,1],"data_offsets":[16,19]},)"
                           R"("weight":{"dtype":"U8","shape":[3,5],"data_offsets":[19,34]}})";
  const std::string padded = text + std::string((8 - text.size() % 8) % 8, ' ');
  CHECK(layout.bytes == length_of(padded.size()) + padded);
  CHECK(layout.header.data_offset == static_cast<std::int64_t>(layout.bytes.size()));
  CHECK(layout.header.file_bytes() == layout.header.data_offset + 34);

  const SafetensorsHeader header = read(file_of(layout));
  CHECK(header.metadata == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(header.data_offset == layout.header.data_offset);
  REQUIRE(header.tensors.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const SafetensorsTensor& planned = layout.header.tensors[i];
    CHECK(header.tensors[i].name == planned.name);
    CHECK(header.tensors[i].dtype == planned.dtype);
    CHECK(header.tensors[i].shape == planned.shape);
    CHECK(header.tensors[i].begin == planned.begin);
    CHECK(header.tensors[i].end == planned.end);
    CHECK(header.find(planned.name) == &header.tensors[i]);
    CHECK(layout.header.find(planned.name) == &planned);
  }
  CHECK(header.find("weigh") == nullptr);
  CHECK(header.find("weights") == nullptr);
  CHECK(header.find("") == nullptr);
}

TEST_CASE("safetensors: data start at a multiple of 8 whatever the header's length") {
  for (std::size_t length = 0; length < 20; ++length) {
    const SafetensorsLayout layout =
        plan_safetensors({tensor(std::string(length, 'n'), Dtype::u8, {1})}, {}, "y.safetensors");
    CHECK(layout.bytes.size() % 8 == 0);
    CHECK(read(file_of(layout)).tensors[0].name == std::string(length, 'n'));
  }
}

TEST_CASE("safetensors: a file without tensors") {
  CHECK(plan_safetensors({}, {}, "y.safetensors").bytes == length_of(8) + "{}      ");
  const SafetensorsHeader header = read(file_of("{}"));
  CHECK(header.tensors.empty());
  CHECK(header.metadata.empty());
  CHECK(header.file_bytes() == 10);
  CHECK(read(file_of(R"({"__metadata__":{}})")).tensors.empty());
  CHECK(
      contains(refusal_of("{}", 1), "bytes 0 to 1 of the data, after the last tensor, belong to no tensor"));
}

TEST_CASE("safetensors: names and metadata of any text") {
  const std::vector<std::string> texts = {"",
                                          "model.layers.0.weight",
                                          "quote \" backslash \\ slash /",
                                          "\b\f\n\r\t",
                                          std::string("zero \0 inside", 13),
                                          "\x01\x1f\x7f",
                                          "gr\xc3\xb6\xc3\x9f"
                                          "e",
                                          "\xe6\x9d\xb1\xe4\xba\xac",
                                          "\xf0\x9f\xa6\x8b butterfly",
                                          "__metadata",
                                          "a,b:{}[]"};
  std::vector<SafetensorsTensor> tensors;
  std::map<std::string, std::string> metadata;
  for (const std::string& text : texts) {
    tensors.push_back(tensor(text, Dtype::u8, {1}));
    metadata[text] = "of " + text;
  }
  const SafetensorsLayout layout = plan_safetensors(tensors, metadata, "y.safetensors");
  const SafetensorsHeader header = read(file_of(layout));
  CHECK(header.metadata == metadata);
  CHECK(header.tensors.size() == texts.size());
  for (const std::string& text : texts) {
    CAPTURE(text);
    REQUIRE(header.find(text) != nullptr);
    CHECK(header.find(text)->name == text);
    CHECK(header.find(text)->begin == layout.header.find(text)->begin);
  }
  CHECK(contains(layout.bytes, R"("\b\f\n\r\t")"));  // the short escapes, and UTF-8 as it is
  CHECK(contains(layout.bytes, R"("zero \u0000 inside")"));
  CHECK(contains(layout.bytes, "\"\xf0\x9f\xa6\x8b butterfly\""));

  const SafetensorsHeader escaped =
      read(file_of(R"({"\u00e9\ud83e\udd8b\/\"":)" + entry("U8", "[1]", "[0,1]") + "}", 1));
  CHECK(escaped.tensors[0].name == "\xc3\xa9\xf0\x9f\xa6\x8b/\"");
}

TEST_CASE("safetensors: free forms of the header") {
  const SafetensorsHeader header = read(
      file_of("{\n\t\"b\" : {\"data_offsets\": [ 4 , 12 ],\r\n \"shape\":[2],\"dtype\":\"F32\"} ,\n\"a\":" +
                  entry("U8", "[2, 2]", "[0, 4]") + ", \"__metadata__\": {\"k\": \"v\"} }\n \t  ",
              12));
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].name == "a");  // the order of the data
  CHECK(header.tensors[1].name == "b");
  CHECK(header.tensors[1].begin == header.data_offset + 4);
  CHECK(header.tensors[1].end == header.data_offset + 12);
  CHECK(header.metadata.at("k") == "v");
}

TEST_CASE("safetensors: empty tensors and tensors of rank 0") {
  const SafetensorsHeader header = read(
      file_of("{\"z\":" + entry("F32", "[3,0]", "[8,8]") + ",\"y\":" + entry("F64", "[]", "[0,8]") +
                  ",\"x\":" + entry("F4", "[0]", "[0,0]") + ",\"w\":" + entry("I64", "[0]", "[8,8]") + "}",
              8));
  REQUIRE(header.tensors.size() == 4);
  CHECK(header.tensors[0].name == "x");
  CHECK(header.tensors[1].name == "y");
  CHECK(header.tensors[1].shape.empty());
  CHECK(header.tensors[1].data_bytes() == 8);
  CHECK(header.tensors[2].name == "z");
  CHECK(header.tensors[2].data_bytes() == 0);
  CHECK(header.tensors[3].name == "w");

  const SafetensorsLayout layout =
      plan_safetensors({tensor("e", Dtype::f32, {0}), tensor("f", Dtype::f32, {2}),
                        tensor("s", Dtype::f32, {}), tensor("last", Dtype::u8, {7, 0})},
                       {}, "y.safetensors");
  CHECK(layout.header.file_bytes() == layout.header.data_offset + 12);
  CHECK(read(file_of(layout)).find("last")->shape == Shape{7, 0});
}

TEST_CASE("safetensors: files that are none") {
  for (std::size_t length = 0; length < 8; ++length) {
    CHECK(contains(refusal(std::string(length, '\0')),
                   "x.safetensors: is not a safetensors file: it has " + std::to_string(length) + " bytes"));
  }
  CHECK(contains(refusal(length_of(0)), "malformed header: it does not start with '{'"));
  CHECK(contains(refusal(length_of(1)),
                 "truncated header, or not a safetensors file: 1 bytes announced, 0 pre"));
  CHECK(contains(refusal(length_of(100'000'000) + "{}"), "100000000 bytes announced, 2 present"));
  CHECK(contains(refusal(length_of(100'000'001) + "{}"),
                 "oversized header, or not a safetensors file: 100000001 bytes announced"));
  CHECK(contains(refusal(length_of(~std::uint64_t{0}) + "{}"), "18446744073709551615 bytes announced"));
  CHECK(contains(refusal(length_of(~std::uint64_t{7}) + "{}"), "oversized header"));
  CHECK(contains(refusal("PK\3\4 a zip archive, such as .npz"), "not a safetensors file"));
  CHECK(contains(refusal("\x93NUMPY\1 an .npy file"), "not a safetensors file"));
  for (const std::string text : {" {}", "[]", "\"a\"", "1", "null", "\xef\xbb\xbf{}", "\n{}"}) {
    CAPTURE(text);
    CHECK(contains(refusal_of(text), "malformed header: it does not start with '{'"));
  }
}

TEST_CASE("safetensors: a file cut at any byte is refused") {
  const std::string whole =
      file_of(R"({"__metadata__":{"k":"v"},"a":)" + entry("F32", "[2]", "[0,8]") + "}", 8);
  CHECK(refusal(whole) == "accepted");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(contains(refusal(whole.substr(0, length)),
                   length < 8 ? "is not a safetensors file"
                   : length < whole.size() - 8
                       ? "truncated header"
                       : "tensor \"a\" ends at byte 8 of the data, of which the file has "));
  }
  CHECK(
      contains(refusal(whole + "x"), "bytes 8 to 9 of the data, after the last tensor, belong to no tensor"));
  // The same with the length made to fit what is left of the header: no prefix of JSON is JSON.
  const std::string text = whole.substr(8, whole.size() - 16);
  for (std::size_t length = 1; length < text.size(); ++length)
    CHECK(contains(refusal_of(text.substr(0, length), 8), "malformed header: no JSON at byte "));
}

TEST_CASE("safetensors: a header of 100,000,000 bytes is the largest that is read and written") {
  const auto spaces = [](std::size_t length) { return "{}" + std::string(length - 2, ' '); };
  CHECK(refusal_of(spaces(100'000'000)) == "accepted");
  CHECK(contains(refusal_of(spaces(100'000'001)), "oversized header"));
  CHECK(contains(refusal_of_plan({}, {{"k", std::string(100'000'000, 'v')}}),
                 "y.safetensors: oversized header: 100000032 bytes"));
}

TEST_CASE("safetensors: what is no JSON, or no UTF-8") {
  const std::string good = "\"a\":" + entry("U8", "[1]", "[0,1]");
  CHECK(refusal_of("{" + good + "}", 1) == "accepted");
  for (const std::string& text : {
           std::string("{"),
           "{" + good,
           "{" + good + ",}",
           "{," + good + "}",
           "{" + good + "}}",
           "{" + good + "} x",
           "{" + good + "}{}",
           "{" + good + "} // a comment",
           "{" + good + " " + good + "}",
           std::string("{a:1}"),
           std::string("{'a':{}}"),
           std::string("{\"a\"}"),
           std::string("{\"a\":}"),
           std::string("{\"a\":tru}"),
           std::string("{\"a\":\"\\x\"}"),
           std::string("{\"tab\t\":{}}"),
           std::string("{\"newline\n\":{}}"),
           std::string("{\"\\ud800\":{}}"),  // half a pair of surrogates
           std::string("{\"\\udd8b\":{}}"),
           std::string("{\"\xff\":{}}"),
           std::string("{\"\xc3\":{}}"),              // a character cut off
           std::string("{\"\xc0\xaf\":{}}"),          // an overlong form
           std::string("{\"\xed\xa0\x80\":{}}"),      // a surrogate
           std::string("{\"\xf4\x90\x80\x80\":{}}"),  // above U+10FFFF
           "{\xc2\xa0" + good + "}",
           "{" + good + "}\xff",
           std::string(R"({"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}})"),
           std::string(R"({"a":{"dtype":"U8","shape":[+1],"data_offsets":[0,1]}})"),
           std::string(R"({"a":{"dtype":"U8","shape":[1,],"data_offsets":[0,1]}})"),
           std::string(R"({"a":{"dtype":"U8","shape":[0x1],"data_offsets":[0,1]}})"),
           std::string(R"({"a":{"dtype":"U8","shape":[NaN],"data_offsets":[0,1]}})"),
           std::string(R"({"a":{"dtype":"U8","shape":[1e999],"data_offsets":[0,1]}})"),
       }) {
    CAPTURE(text);
    CHECK(contains(refusal_of(text, 1), "x.safetensors: malformed header: no JSON at byte "));
  }
  CHECK(contains(refusal_of("{\"\xff\":{}}"), "ill-formed UTF-8"));
  CHECK(
      contains(refusal_of("{\"a\": nil}"), "at byte 8: syntax error while parsing value - invalid literal"));
  CHECK(refusal_of("{\"" + std::string(100000, 'x')).size() < 400);
  CHECK(refusal_of("{\"a\":" + std::string(100000, '9') + "e" + std::string(100000, '9')).size() < 400);
  // A zero byte ends the text for some parsers only.
  CHECK(contains(refusal_of("{" + good + "}" + std::string(1, '\0'), 1),
                 "malformed header: a zero byte at byte"));
  CHECK(contains(refusal_of("{}" + std::string(1, '\0') + "{" + good + "}"), "a zero byte at byte 3"));
}

TEST_CASE("safetensors: JSON of another form") {
  CHECK(contains(refusal_of_entry("1"), "tensor \"a\" is a number, not an object"));
  CHECK(contains(refusal_of_entry("-1"), "tensor \"a\" is a number, not an object"));
  CHECK(contains(refusal_of_entry("1.5"), "tensor \"a\" is a number, not an object"));
  CHECK(contains(refusal_of_entry("[]"), "tensor \"a\" is an array, not an object"));
  CHECK(contains(refusal_of_entry("null"), "tensor \"a\" is null, not an object"));
  CHECK(contains(refusal_of_entry("\"x\""), "tensor \"a\" is a string, not an object"));
  CHECK(contains(refusal_of_entry("true"), "tensor \"a\" is a truth value, not an object"));
  CHECK(contains(refusal_of_entry(R"({"dtype":1,"shape":[],"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has a number as its dtype, not a string"));
  CHECK(contains(refusal_of_entry(R"({"dtype":["U8"],"shape":[],"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has an array as its dtype, not a string"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has a number as its shape, not an array"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":{},"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has an object as its shape, not an array"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":"U8","data_offsets":[0,1]})", 1),
                 "tensor \"a\" has a string as its shape, not an array"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":[],"data_offsets":null})", 1),
                 "tensor \"a\" has null as its data_offsets, not an array"));
  for (const char* what : {"[1]", "[]", "{}", "null", "true", "\"1\""}) {
    CAPTURE(what);
    CHECK(contains(refusal_of_entry(entry("U8", std::string("[") + what + "]", "[0,1]"), 1),
                   "in its shape, not a"));
    CHECK(contains(refusal_of_entry(entry("U8", "[1]", std::string("[0,") + what + "]"), 1),
                   "in its data_offsets, not a"));
  }
  // Depth does not matter: the first level too many is refused.
  for (const std::string& bracket : {std::string("["), std::string("{\"a\":")}) {
    std::string deep = "{";
    deep += "\"a\":";
    for (int i = 0; i < 1000000; ++i) deep += bracket;
    CHECK(contains(refusal_of(deep), "tensor \"a\""));
  }
}

TEST_CASE("safetensors: keys that are missing, unknown or repeated") {
  CHECK(contains(refusal_of_entry("{}"), "tensor \"a\" has no dtype"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":[1]})", 1), "tensor \"a\" has no data_offsets"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","data_offsets":[0,1]})", 1), "tensor \"a\" has no shape"));
  CHECK(contains(refusal_of_entry(R"({"shape":[1],"data_offsets":[0,1]})", 1), "tensor \"a\" has no dtype"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"device":"cpu"})", 1),
                 "tensor \"a\" has the unknown key \"device\""));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has dtype twice"));
  CHECK(contains(refusal_of_entry(R"({"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]})", 1),
                 "tensor \"a\" has shape twice"));
  CHECK(
      contains(refusal_of_entry(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]})", 1),
               "tensor \"a\" has data_offsets twice"));
  const std::string one = entry("U8", "[1]", "[0,1]");
  CHECK(contains(
      refusal_of("{\"a\":" + one + ",\"b\":" + entry("U8", "[1]", "[1,2]") + ",\"a\":" + one + "}", 2),
      "tensor \"a\" comes twice"));
  CHECK(contains(refusal_of("{\"a\":" + one + ",\"\\u0061\":" + entry("U8", "[1]", "[1,2]") + "}", 2),
                 "tensor \"a\" comes twice"));
}

TEST_CASE("safetensors: metadata that are no texts") {
  CHECK(refusal_of(R"({"__metadata__":{"a":"b"}})") == "accepted");
  for (const std::string what : {"1", "-1", "1.5", "null", "true", "[]", "{}"}) {
    CAPTURE(what);
    CHECK(contains(refusal_of("{\"__metadata__\":{\"k\":" + what + "}}"), "the metadata entry \"k\" is "));
    if (what != "{}") CHECK(contains(refusal_of("{\"__metadata__\":" + what + "}"), "__metadata__ is "));
  }
  CHECK(contains(refusal_of(R"({"__metadata__":"x"})"), "__metadata__ is a string, not an object"));
  CHECK(contains(refusal_of(R"({"__metadata__":{},"__metadata__":{}})"), "__metadata__ comes twice"));
  CHECK(
      contains(refusal_of(R"({"__metadata__":{"k":"1","k":"2"}})"), "the metadata entry \"k\" comes twice"));
  CHECK(contains(refusal_of("{\"__metadata__\":" + entry("U8", "[1]", "[0,1]") + "}", 1),
                 "the metadata entry \"shape\" is an array, not a string"));
}

TEST_CASE("safetensors: dtypes that are unknown") {
  for (const std::string name :
       {"", "f32", "F32 ", "F128", "BOOLEAN", "U4", "C128", "F8", "F8_E4M3FN", "F32\\u0000"}) {
    CAPTURE(name);
    CHECK(contains(refusal_of_entry(entry(name, "[1]", "[0,4]"), 4),
                   "x.safetensors: tensor \"a\" has the unknown dtype \"" + name + "\""));
  }
  CHECK(refusal_of_entry(entry(std::string(50000, 'x'), "[1]", "[0,4]"), 4).size() < 300);
  CHECK(refusal_of("{\"" + std::string(50000, 'x') + "\":1}").size() < 300);
  CHECK(contains(refusal_of("{\"" + std::string(99, 'x') + "\xc3\xb6\":1}"), "xxx\xef\xbf\xbd...\""));
}

TEST_CASE("safetensors: extents and offsets that are none") {
  for (const std::string number : {"-1", "-0", "1.0", "1e3", "1.5", "-2.5", "9223372036854775808",
                                   "18446744073709551615", "18446744073709551616", "-9223372036854775808",
                                   "-9223372036854775809", "99999999999999999999999999"}) {
    CAPTURE(number);
    CHECK(contains(refusal_of_entry(entry("U8", "[2," + number + "]", "[0,1]"), 1),
                   "tensor \"a\" has " + number + " in its shape, which is no integer from 0 to 2^63 - 1"));
    CHECK(contains(
        refusal_of_entry(entry("U8", "[1]", "[0," + number + "]"), 1),
        "tensor \"a\" has " + number + " in its data_offsets, which is no integer from 0 to 2^63 - 1"));
    CHECK(contains(refusal_of_entry(entry("U8", "[1]", "[" + number + ",1]"), 1), " in its data_offsets, "));
  }
  CHECK(contains(refusal_of_entry(entry("U8", "[1]", "[]"), 1), "has data_offsets of 0 numbers, not 2"));
  CHECK(contains(refusal_of_entry(entry("U8", "[1]", "[0]"), 1), "has data_offsets of 1 numbers, not 2"));
  CHECK(contains(refusal_of_entry(entry("U8", "[1]", "[0,1,1]"), 1), "has data_offsets of 3 numbers, not 2"));

  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  CHECK(refusal_of_entry(entry("U8", "[" + ones + "]", "[0,1]"), 1) == "accepted");
  CHECK(contains(refusal_of_entry(entry("U8", "[" + ones + ",1]", "[0,1]"), 1), "has more than 64 axes"));
}

TEST_CASE("safetensors: shapes whose size overflows") {
  for (const std::string shape : {"[9223372036854775807]", "[4294967296,4294967296]", "[1152921504606846976]",
                                  "[4294967296,4294967296,0]", "[0,4294967296,4294967296]"}) {
    CAPTURE(shape);
    CHECK(contains(refusal_of_entry(entry("F64", shape, "[0,0]")), "has more than 2^63 - 1 bits"));
  }
  // 2^64 elements of 4 bits would be 2^63 bytes, 2^61 are 2^63 bits; just below it is a size, but not this
  // one.
  CHECK(contains(refusal_of_entry(entry("F4", "[2305843009213693952]", "[0,0]")), "more than 2^63 - 1 bits"));
  CHECK(contains(refusal_of_entry(entry("F4", "[2305843009213693950]", "[0,0]")),
                 "needs 1152921504606846975 bytes"));
  CHECK(contains(refusal_of_entry(entry("U8", "[1152921504606846975]", "[0,0]")),
                 "needs 1152921504606846975 bytes"));
  CHECK(contains(refusal_of_entry(entry("U8", "[1]", "[0,9223372036854775807]"), 1),
                 "tensor \"a\" ends at byte 9223372036854775807 of the data, of which the file has 1"));
}

TEST_CASE("safetensors: a number of bytes other than shape and dtype make") {
  CHECK(contains(refusal_of_entry(entry("F32", "[2,3]", "[0,23]"), 23),
                 "tensor \"a\": F32 of shape (2, 3) needs 24 bytes, its offsets 0 and 23 give it 23"));
  CHECK(contains(refusal_of_entry(entry("F32", "[2,3]", "[0,25]"), 25), "needs 24 bytes"));
  CHECK(contains(refusal_of_entry(entry("U8", "[]", "[0,0]"), 0), "needs 1 bytes"));
  CHECK(contains(refusal_of_entry(entry("U8", "[0]", "[0,1]"), 1), "needs 0 bytes"));
  CHECK(contains(refusal_of_entry(entry("F4", "[3]", "[0,2]"), 2),
                 "F4 of shape (3) has 12 bits, which are no whole"));
  CHECK(contains(refusal_of_entry(entry("F6_E2M3", "[2]", "[0,2]"), 2), "12 bits, which are no whole bytes"));
  CHECK(refusal_of_entry(entry("F6_E3M2", "[4]", "[0,3]"), 3) == "accepted");
}

TEST_CASE("safetensors: offsets that do not fit the file or each other") {
  const auto two = [](const std::string& first, const std::string& second, std::size_t bytes) {
    return refusal_of("{\"a\":" + first + ",\"b\":" + second + "}", bytes);
  };
  const std::string a = entry("U8", "[4]", "[0,4]");
  CHECK(two(a, entry("U8", "[4]", "[4,8]"), 8) == "accepted");
  CHECK(two(entry("U8", "[4]", "[4,8]"), a, 8) == "accepted");
  CHECK(contains(two(a, entry("U8", "[4]", "[3,7]"), 7),
                 "tensor \"b\" begins at 3 and overlaps a tensor that ends at 4"));
  CHECK(contains(two(a, entry("U8", "[4]", "[0,4]"), 4), "tensor \"b\" begins at 0 and overlaps"));
  CHECK(contains(two(a, entry("U8", "[2]", "[1,3]"), 4), "tensor \"b\" begins at 1 and overlaps"));
  CHECK(contains(two(a, entry("U8", "[0]", "[2,2]"), 4), "tensor \"b\" begins at 2 and overlaps"));
  CHECK(contains(two(a, entry("U8", "[4]", "[5,9]"), 9),
                 "bytes 4 to 5 of the data, before tensor \"b\", belong to no"));
  CHECK(contains(two(a, entry("U8", "[0]", "[5,5]"), 5),
                 "bytes 4 to 5 of the data, before tensor \"b\", belong to no"));
  CHECK(contains(two(a, entry("U8", "[4]", "[4,8]"), 9), "bytes 8 to 9 of the data, after the last tensor"));
  CHECK(contains(two(a, entry("U8", "[4]", "[4,8]"), 7),
                 "tensor \"b\" ends at byte 8 of the data, of which the file has 7"));
  CHECK(contains(two(a, entry("U8", "[0]", "[9,9]"), 4), "tensor \"b\" ends at byte 9 of the data"));
  CHECK(contains(refusal_of_entry(entry("U8", "[4]", "[1,5]"), 5),
                 "bytes 0 to 1 of the data, before tensor \"a\""));
  CHECK(contains(refusal_of_entry(entry("U8", "[4]", "[4,0]"), 4),
                 "tensor \"a\" begins at 4 and ends before that, at 0"));
  CHECK(
      contains(refusal_of_entry(entry("U8", "[4]", "[9223372036854775807,3]"), 4), "ends before that, at 3"));
}

TEST_CASE("safetensors: layouts that cannot be written") {
  CHECK(refusal_of_plan({tensor("a", Dtype::u8, {1}), tensor("b", Dtype::u8, {1})}) == "accepted");
  CHECK(contains(refusal_of_plan({tensor("a", Dtype::u8, {1}), tensor("b", Dtype::u8, {1}),
                                  tensor("a", Dtype::f32, {1})}),
                 "y.safetensors: tensor \"a\" comes twice"));
  CHECK(contains(refusal_of_plan({tensor("__metadata__", Dtype::u8, {1})}),
                 "that name is taken by the metadata"));
  CHECK(contains(refusal_of_plan({tensor("\xff", Dtype::u8, {1})}), "\" is no UTF-8"));
  CHECK(contains(refusal_of_plan({}, {{"\xff", "v"}}), "is no UTF-8"));
  CHECK(contains(refusal_of_plan({}, {{"k", "v\xc3"}}), "is no UTF-8"));
  CHECK(contains(refusal_of_plan({tensor("a", Dtype::u8, {2, -1})}),
                 "tensor \"a\": U8 of shape (2, -1) has a negative extent"));
  CHECK(contains(refusal_of_plan({tensor("a", Dtype::f4, {3})}), "12 bits, which are no whole bytes"));
  CHECK(contains(refusal_of_plan({tensor("a", Dtype::u8, Shape(65, 1))}), "more than 64 axes"));
  CHECK(contains(refusal_of_plan({tensor("a", Dtype::u64, {max_int64})}), "more than 2^63 - 1 bits"));
  std::vector<SafetensorsTensor> many;
  const std::int64_t largest = max_int64 / 8;
  for (int i = 0; i < 8; ++i) many.push_back(tensor(std::to_string(i), Dtype::u8, {largest}));
  CHECK(contains(refusal_of_plan(many), "tensor \"7\": the file would have more than 2^63 - 1 bytes"));
}

TEST_CASE("safetensors: offsets beyond 4 GiB are planned") {
  const std::int64_t gib = std::int64_t{1} << 30;
  const SafetensorsLayout layout =
      plan_safetensors({tensor("a", Dtype::bf16, {5, gib}), tensor("b", Dtype::f4, {gib, 6}),
                        tensor("c", Dtype::f32, {3 * gib})},
                       {}, "y.safetensors");
  const std::int64_t offset = layout.header.data_offset;
  CHECK(layout.header.find("c")->begin == offset);
  CHECK(layout.header.find("a")->begin == offset + 12 * gib);
  CHECK(layout.header.find("b")->begin == offset + 22 * gib);
  CHECK(layout.header.file_bytes() == offset + 25 * gib);
  CHECK(contains(layout.bytes, "[12884901888,23622320128]"));
}

TEST_CASE("safetensors: a file of more than 4 GiB is read") {
  const Folder folder;
  const std::string name = folder.file("large.safetensors");
  const std::int64_t rows = std::int64_t{5} << 20;  // of 1 KiB
  const SafetensorsLayout layout =
      plan_safetensors({tensor("large", Dtype::f32, {rows, 256}), tensor("small", Dtype::u8, {3})}, {}, name);
  write_file(name, layout.bytes);
  std::filesystem::resize_file(name, static_cast<std::uintmax_t>(layout.header.file_bytes()));  // sparse
  {
    std::fstream file(name, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(layout.header.find("small")->begin);
    file.write("xyz", 3);
  }
  const MappedFile file(name);
  const SafetensorsHeader header = read_safetensors_header(file.bytes(), name);
  const SafetensorsTensor* small = header.find("small");
  REQUIRE(small != nullptr);
  CHECK(small->begin == header.data_offset + rows * 1024);
  std::array<std::byte, 3> data{};
  file.read(small->begin, data);
  CHECK(std::memcmp(data.data(), "xyz", 3) == 0);

  std::filesystem::resize_file(name, static_cast<std::uintmax_t>(layout.header.file_bytes()) - 1);
  const MappedFile cut(name);
  CHECK_THROWS_WITH_AS(
      read_safetensors_header(cut.bytes(), name),
      (name + ": tensor \"small\" ends at byte 5368709123 of the data, of which the file has "
              "5368709122")
          .c_str(),
      std::invalid_argument);
}

TEST_CASE("safetensors: a checkpoint is streamed into another, tensor by tensor") {
  const Folder folder;
  const std::string from = folder.file("from.safetensors");
  const std::string to = folder.file("to.safetensors");
  // A large tensor of more than one piece of the copy, an empty one, and one of odd length.
  const std::vector<SafetensorsTensor> tensors = {
      tensor("b", Dtype::f32, {9, 300007}), tensor("empty", Dtype::f32, {0}), tensor("a", Dtype::u8, {5})};
  const SafetensorsLayout source = plan_safetensors(tensors, {{"format", "pt"}}, from);
  std::string bytes = file_of(source);
  for (std::size_t i = source.bytes.size(); i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i % 251);  // no piece begins like another
  write_file(from, bytes);

  const MappedFile input(from);
  const SafetensorsHeader header = read_safetensors_header(input.bytes(), from);
  std::vector<SafetensorsTensor> wanted = header.tensors;
  wanted.push_back(tensor("c", Dtype::f64, {}));  // moves all that was there
  const SafetensorsLayout layout = plan_safetensors(wanted, header.metadata, to);
  {
    AtomicFile output(to, layout.header.file_bytes(), false);
    output.write(0, std::as_bytes(std::span(layout.bytes)));
    for (const SafetensorsTensor& each : header.tensors)
      copy_bytes(input, each.begin, output, layout.header.find(each.name)->begin, each.data_bytes());
    CHECK(!std::filesystem::exists(to));
    output.commit();
  }

  const MappedFile result(to);
  const SafetensorsHeader again = read_safetensors_header(result.bytes(), to);
  CHECK(again.metadata == header.metadata);
  CHECK(again.tensors.size() == 4);
  for (const SafetensorsTensor& each : header.tensors) {
    const SafetensorsTensor* copy = again.find(each.name);
    REQUIRE(copy != nullptr);
    CHECK(copy->shape == each.shape);
    REQUIRE(copy->data_bytes() == each.data_bytes());
    CHECK(std::memcmp(result.bytes().data() + copy->begin, bytes.data() + each.begin,
                      static_cast<std::size_t>(each.data_bytes())) == 0);
  }
}

TEST_CASE("safetensors: pages of a mapped file are let go") {
  const Folder folder;
  const std::string name = folder.file("pages");
  const std::int64_t size = std::int64_t{32} << 20;
  write_file(name, std::string(static_cast<std::size_t>(size), 'p'));
  const MappedFile file(name);
  const auto read_all = [&] {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < size; i += 1024)
      sum += std::to_integer<int>(file.bytes()[static_cast<std::size_t>(i)]);
    return sum;
  };
  const std::int64_t sum = size / 1024 * 'p';
  const std::int64_t before = resident_file_bytes();
  CHECK(read_all() == sum);
  CHECK(resident_file_bytes() - before > size / 2);
  file.release(1000, size - 1000);
  CHECK(resident_file_bytes() - before < size / 8);
  CHECK(read_all() == sum);
}
