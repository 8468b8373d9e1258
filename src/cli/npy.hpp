// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "papillon/core/scalar.hpp"

namespace papillon::cli {

/// The element types read from and written to .npy files. `void16` is NumPy's 2-byte void, the form in which
/// it stores a bfloat16 array.
enum class NpyType : std::uint8_t {
  float16,
  float32,
  float64,
  int8,
  int32,
  int64,
  complex64,
  complex128,
  void16,
};

/// Bytes of one element.
std::int64_t size_of(NpyType type);

/// NumPy's type string: "<f4", "|i1", "|V2", …
std::string_view descr_of(NpyType type);

/// What the library calls the type; none for int8. A 2-byte void is bfloat16.
std::optional<ScalarType> library_type(NpyType type);

/// The element type as which the files hold one of the library's.
NpyType npy_type(ScalarType type);

/// Where an array lies in an .npy file.
struct NpyHeader {
  NpyType type = NpyType::float32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< bytes before the first element

  /// Number of elements: 1 for rank 0.
  std::int64_t element_count() const;
  std::int64_t data_bytes() const { return element_count() * size_of(type); }
};

/// "float32 of shape (3, 4)", as error messages say it.
std::string describe(const NpyHeader& header);

/// Reads the header of `file` (the bytes of a whole .npy file, format version 1.0, 2.0 or 3.0) and checks
/// that exactly the data it promises follows. `name` is the file's name for messages.
///
/// Throws std::invalid_argument for anything else: no .npy file, unknown version, truncated or oversized
/// (more than 1 MiB) or malformed header, big-endian or unsupported element types, more than 64 axes,
/// negative or overflowing extents, too little or too much data. Allocates no more than 64 extents, whatever
/// the header says.
///
/// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
NpyHeader read_npy_header(std::span<const std::byte> file, std::string_view name);

/// The library's name of the element type. Throws std::invalid_argument, naming the file, for int8.
ScalarType require_library_type(const NpyHeader& header, std::string_view name);

/// Throws std::invalid_argument, naming the file, unless the rank is from 1 to that of the library's arrays.
void require_library_rank(const NpyHeader& header, std::string_view name);

/// The bytes that precede the data of an .npy file: version 1.0 (2.0 where the header needs more than 65535
/// bytes), padded so that the data starts at a multiple of 64 bytes.
std::string npy_header_bytes(NpyType type, bool fortran_order, std::span<const std::int64_t> shape);

}  // namespace papillon::cli
