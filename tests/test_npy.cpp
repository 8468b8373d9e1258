// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy reader and writer. tests/test_cli.py holds them against NumPy itself; here headers are put
// together by hand, so that every version, every order of keys and every fault can be written.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/npy.hpp"

using namespace papillon;
using namespace papillon::cli;

namespace {

/// A file of the given version whose header is `text` as it stands, followed by `data_bytes` zero bytes.
std::string file_of(int version, const std::string& text, std::size_t data_bytes) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text + std::string(data_bytes, '\0');
}

NpyHeader read(const std::string& file) { return read_npy_header(std::as_bytes(std::span(file)), "x.npy"); }

std::string refusal(const std::string& file) {
  try {
    read(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_of_dict(const std::string& text, std::size_t data_bytes = 0) {
  return refusal(file_of(1, text, data_bytes));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct TypeCase {
  NpyType type;
  const char* descr;
  std::int64_t bytes;
};

constexpr std::array<TypeCase, 9> type_cases = {{{NpyType::float16, "<f2", 2},
                                                 {NpyType::float32, "<f4", 4},
                                                 {NpyType::float64, "<f8", 8},
                                                 {NpyType::int8, "|i1", 1},
                                                 {NpyType::int32, "<i4", 4},
                                                 {NpyType::int64, "<i8", 8},
                                                 {NpyType::complex64, "<c8", 8},
                                                 {NpyType::complex128, "<c16", 16},
                                                 {NpyType::void16, "|V2", 2}}};

/// What Python prints for a tuple.
std::string python_tuple(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() == 1) return text.substr(0, text.size() - 1) + ")";
  return (shape.empty() ? text : text.substr(0, text.size() - 2)) + ")";
}

std::vector<std::vector<std::int64_t>> shapes_of_every_rank() {
  std::vector<std::vector<std::int64_t>> shapes = {{}, {0}, {3, 0, 2}};
  for (std::size_t rank = 1; rank <= 8; ++rank) {
    std::vector<std::int64_t> shape;
    for (std::size_t d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(d % 3 + 1));
    shapes.push_back(shape);
  }
  return shapes;
}

std::size_t bytes_of(const std::vector<std::int64_t>& shape, std::int64_t item) {
  for (const std::int64_t extent : shape) item *= extent;
  return static_cast<std::size_t>(item);
}

}  // namespace

TEST_CASE("npy: every type, version, order and rank is read") {
  for (const TypeCase& type : type_cases) {
    for (const int version : {1, 2, 3}) {
      for (const bool fortran : {false, true}) {
        for (const std::vector<std::int64_t>& shape : shapes_of_every_rank()) {
          const std::string text = std::string("{'descr': '") + type.descr +
                                   "', 'fortran_order': " + (fortran ? "True" : "False") +
                                   ", 'shape': " + python_tuple(shape) + ", }   \n";
          CAPTURE(version);
          CAPTURE(text);
          const NpyHeader header = read(file_of(version, text, bytes_of(shape, type.bytes)));
          CHECK(header.type == type.type);
          CHECK(header.fortran_order == fortran);
          CHECK(header.shape == shape);
          CHECK(header.data_offset == static_cast<std::int64_t>((version == 1 ? 10 : 12) + text.size()));
          CHECK(header.data_bytes() == static_cast<std::int64_t>(bytes_of(shape, type.bytes)));
        }
      }
    }
  }
}

TEST_CASE("npy: what is written is read back, aligned to 64 bytes") {
  for (const TypeCase& type : type_cases) {
    CHECK(size_of(type.type) == type.bytes);
    CHECK(descr_of(type.type) == type.descr);
    for (const bool fortran : {false, true}) {
      for (const std::vector<std::int64_t>& shape : shapes_of_every_rank()) {
        const std::string bytes = npy_header_bytes(type.type, fortran, shape);
        CHECK(bytes.size() % 64 == 0);
        CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\1\0", 8));
        CHECK(bytes.back() == '\n');
        const NpyHeader header = read(bytes + std::string(bytes_of(shape, type.bytes), '\0'));
        CHECK(header.type == type.type);
        CHECK(header.fortran_order == fortran);
        CHECK(header.shape == shape);
        CHECK(header.data_offset == static_cast<std::int64_t>(bytes.size()));
      }
    }
  }
}

TEST_CASE("npy: the written header is the text that NumPy writes") {
  const std::array<std::int64_t, 2> matrix = {3, 4};
  CHECK(contains(npy_header_bytes(NpyType::float32, false, matrix),
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } "));
  const std::array<std::int64_t, 1> vector = {3};
  CHECK(contains(npy_header_bytes(NpyType::int8, true, vector),
                 "{'descr': '|i1', 'fortran_order': True, 'shape': (3,), } "));
  CHECK(contains(npy_header_bytes(NpyType::complex128, false, {}),
                 "{'descr': '<c16', 'fortran_order': False, 'shape': (), } "));
}

TEST_CASE("npy: the header length is written in 16 bits up to 65535 and in 32 bits above") {
  const std::vector<std::int64_t> shape(30000, 1);  // 3 bytes each: over 65535
  const std::string bytes = npy_header_bytes(NpyType::float32, false, shape);
  CHECK(bytes.substr(0, 8) == std::string("\x93NUMPY\2\0", 8));
  CHECK(bytes.size() % 64 == 0);
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  CHECK((byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24) == bytes.size() - 12);

  bool first_seen = false;
  bool second_seen = false;
  for (std::size_t rank = 21750; rank < 21850; ++rank) {
    const std::string header = npy_header_bytes(NpyType::float32, false, std::vector<std::int64_t>(rank, 1));
    const bool first = header[6] == 1;
    const bool fits = header.size() <= 65536;  // a multiple of 64, so 10 + 65535 allows no more
    CHECK(first == fits);
    first_seen = first_seen || first;
    second_seen = second_seen || !first;
  }
  CHECK(first_seen);
  CHECK(second_seen);
}

TEST_CASE("npy: free forms of the dict") {
  const std::vector<std::int64_t> shape = {2, 3};
  for (const std::string text : {
           "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
           "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f4'}",
           "{'fortran_order': False, 'shape': (2, 3,), 'descr': '<f4',}",
           R"( { "descr" : "<f4" , "fortran_order" : False , "shape" : ( 2 , 3 , ) , } )",
           "\n{\t'descr':\n'<f4',\r\n'fortran_order': False, 'shape': (2, 3), }\n\n",
           "{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3)}",
           "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}",
       }) {
    CAPTURE(text);
    const NpyHeader header = read(file_of(1, text, 24));
    CHECK(header.type == NpyType::float32);
    CHECK(header.shape == shape);
  }
  for (const std::string descr : {"|V2", "<V2", "=V2", "V2"}) {
    CHECK(read(file_of(1, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': ()}", 2)).type ==
          NpyType::void16);
  }
  for (const std::string descr : {"|i1", "<i1", "i1"}) {
    CHECK(read(file_of(1, "{'descr': '" + descr + "', 'fortran_order': False, 'shape': ()}", 1)).type ==
          NpyType::int8);
  }
}

TEST_CASE("npy: files that are none, or of unknown versions") {
  CHECK(contains(refusal(""), "x.npy: is not an .npy file"));
  CHECK(contains(refusal("\x93NUMP"), "is not an .npy file"));
  CHECK(contains(refusal("PK\3\4 a zip archive, such as .npz"), "is not an .npy file"));
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}";
  CHECK(contains(refusal(file_of(0, dict, 4)), "unknown .npy format version 0.0"));
  CHECK(contains(refusal(file_of(4, dict, 4)), "unknown .npy format version 4.0"));
  std::string minor = file_of(1, dict, 4);
  minor[7] = 1;
  CHECK(contains(refusal(minor), "unknown .npy format version 1.1"));
}

TEST_CASE("npy: a file cut at any byte is refused") {
  for (const int version : {1, 2, 3}) {
    const std::string whole =
        file_of(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    CHECK(refusal(whole) == "accepted");
    const std::size_t data = whole.size() - 24;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const std::string text = refusal(whole.substr(0, length));
      CAPTURE(length);
      CHECK(contains(text, length < 6      ? "is not an .npy file"
                           : length < data ? "truncated .npy header"
                                           : "truncated data: float32 of shape (2, 3) needs 24 bytes"));
    }
    CHECK(contains(refusal(whole + "x"), "1 extra bytes after the data"));
  }
}

TEST_CASE("npy: a header of more than 1 MiB is refused before it is looked at") {
  std::string file = std::string("\x93NUMPY\2\0", 8) + std::string("\xff\xff\xff\xff", 4);
  CHECK(contains(refusal(file), "oversized .npy header: 4294967295 bytes"));
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}";
  const std::size_t limit = std::size_t{1} << 20;
  CHECK(refusal(file_of(2, dict + std::string(limit - dict.size(), ' '), 4)) == "accepted");
  CHECK(contains(refusal(file_of(2, dict + std::string(limit + 1 - dict.size(), ' '), 4)), "oversized"));
}

TEST_CASE("npy: element types that are not supported") {
  const auto of = [](const std::string& descr) {
    return refusal_of_dict("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", 16);
  };
  for (const std::string descr : {"'>f4'", "'>f8'", "'>i4'", "'>c16'", "'>V2'", "'>f2'"}) {
    CHECK(contains(of(descr), "x.npy: big-endian elements (" + descr + ")"));
  }
  for (const std::string descr : {"'|O'", "'O'", "'|O8'"}) CHECK(contains(of(descr), "Python objects"));
  CHECK(contains(of("[('a', '<f4'), ('b', '<f4')]"), "structured element types"));
  CHECK(contains(of("('<f4', (2,))"), "structured element types"));
  for (const std::string descr : {"'|b1'", "'|u1'", "'<u4'", "'<i2'", "'|S4'", "'<U4'", "'<M8[s]'", "'<f16'",
                                  "'|V4'", "'|f4'", "''", "'<'", "'<<f4'", "'<f44'", "'<F4'"}) {
    CAPTURE(descr);
    CHECK(contains(of(descr), "element type " + descr + " is not supported"));
  }
  CHECK(of("'" + std::string(50000, 'x') + "'").size() < 200);
}

TEST_CASE("npy: shapes that are none") {
  const auto of = [](const std::string& shape) {
    return refusal_of_dict("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + "}");
  };
  CHECK(contains(of("(-1,)"), "negative extent"));
  CHECK(contains(of("(3, -4)"), "negative extent"));
  CHECK(contains(of("(9223372036854775808,)"), "extent above 2^63 - 1"));
  CHECK(contains(of("(99999999999999999999999999,)"), "extent above 2^63 - 1"));
  CHECK(contains(of("(9223372036854775807,)"), "more than 2^63 - 1 bytes"));
  CHECK(contains(of("(4294967296, 4294967296)"), "more than 2^63 - 1 bytes"));
  CHECK(contains(of("(1152921504606846976,)"), "more than 2^63 - 1 bytes"));  // 2^60 · 8 bytes
  CHECK(contains(of("(4294967296, 4294967296, 0)"), "more than 2^63 - 1 bytes"));
  CHECK(contains(of("(0, 4294967296, 4294967296)"), "more than 2^63 - 1 bytes"));
  CHECK(contains(of("(576460752303423488,)"),
                 "truncated data"));  // 2^59 · 8 bytes: a size, but not this file's
  CHECK(refusal_of_dict(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (" +
                [] {
                  std::string ones;
                  for (int i = 0; i < 64; ++i) ones += "1, ";
                  return ones;
                }() +
                ")}",
            8) == "accepted");
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "1,";
  CHECK(contains(of("(" + many + ")"), "more than 64 axes"));
  for (const std::string shape :
       {"(3)", "3", "[3]", "(3", "(,)", "(3,,4)", "(3 4)", "(03,)", "(+3,)", "(3.0,)", "(0x3,)", "(1_0,)",
        "(3L L,)", "(None,)", "('3',)", "((3,),)", "", "(True,)"}) {
    CAPTURE(shape);
    CHECK(contains(of(shape), "malformed .npy header"));
  }
}

TEST_CASE("npy: malformed dicts") {
  const std::string descr = "'descr': '<f4'";
  const std::string order = "'fortran_order': False";
  const std::string shape = "'shape': ()";
  const std::string all = descr + ", " + order + ", " + shape;
  CHECK(refusal_of_dict("{" + all + "}", 4) == "accepted");
  for (const std::string& text : {
           std::string(),
           std::string("{"),
           std::string("{}"),
           std::string("{,}"),
           std::string(100, ' '),
           all,
           "{" + all,
           "{" + all + ",,}",
           "{" + all + "} x",
           "{" + all + "}" + std::string(1, '\0'),
           "{" + all + "}{" + all + "}",
           "[" + all + "]",
           "{" + descr + ", " + order + "}",
           "{" + descr + ", " + shape + "}",
           "{" + order + ", " + shape + "}",
           "{" + descr + ", " + all + "}",
           "{" + all + ", " + shape + "}",
           "{" + all + ", 'extra': 1}",
           "{" + descr + " " + order + " " + shape + "}",
           "{descr: '<f4', " + order + ", " + shape + "}",
           "{'descr' '<f4', " + order + ", " + shape + "}",
           std::string("{'descr': '<f4}"),
           "{'descr': <f4, " + order + ", " + shape + "}",
           "{'descr': '<f4', 'fortran_order': false, " + shape + "}",
           "{'descr': '<f4', 'fortran_order': 0, " + shape + "}",
           "{'descr': '<f4', 'fortran_order': Falsehood, " + shape + "}",
           "{'descr': None, " + order + ", " + shape + "}",
           "{'Descr': '<f4', " + order + ", " + shape + "}",
       }) {
    CAPTURE(text);
    CHECK(contains(refusal_of_dict(text, 4), "x.npy: malformed .npy header: "));
  }
}

TEST_CASE("npy: the library's name of every type") {
  CHECK(library_type(NpyType::float16) == ScalarType::float16);
  CHECK(library_type(NpyType::float32) == ScalarType::float32);
  CHECK(library_type(NpyType::float64) == ScalarType::float64);
  CHECK(library_type(NpyType::int32) == ScalarType::int32);
  CHECK(library_type(NpyType::int64) == ScalarType::int64);
  CHECK(library_type(NpyType::complex64) == ScalarType::complex64);
  CHECK(library_type(NpyType::complex128) == ScalarType::complex128);
  CHECK(library_type(NpyType::void16) == ScalarType::bfloat16);
  CHECK(!library_type(NpyType::int8).has_value());
}
