// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "papillon/core/scalar.hpp"

namespace papillon::cli {

/// The element types of safetensors files, in the order of the reference implementation: by rising alignment,
/// which is what files are sorted by.
enum class SafetensorsDtype : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

/// Bits of one element: 4, 6, or a whole number of bytes.
std::int64_t bits_of(SafetensorsDtype dtype);

/// As files name it: "F8_E4M3", "BF16", …
std::string_view name_of(SafetensorsDtype dtype);

/// What the library calls the type, where it has it.
std::optional<ScalarType> library_type(SafetensorsDtype dtype);

/// The element type as which files hold one of the library's; none for complex128.
std::optional<SafetensorsDtype> safetensors_dtype(ScalarType type);

/// An array in a safetensors file: row-major, little-endian, without gaps.
struct SafetensorsTensor {
  std::string name;
  SafetensorsDtype dtype = SafetensorsDtype::f32;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;  ///< of its bytes, from the start of the file (not of the data, as headers count)
  std::int64_t end = 0;    ///< one past its last byte

  std::int64_t data_bytes() const { return end - begin; }
};

/// "F32 of shape (3, 4)", as error messages say it.
std::string describe(const SafetensorsTensor& tensor);

/// What a safetensors file says of itself.
struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;  ///< the texts of `__metadata__`
  std::vector<SafetensorsTensor> tensors;       ///< as they follow each other in the file
  std::vector<std::size_t> by_name;             ///< indices of `tensors`, by rising name
  std::int64_t data_offset = 0;                 ///< bytes before the first tensor

  /// The tensor of that name, or none.
  const SafetensorsTensor* find(std::string_view name) const;

  /// Bytes of the whole file.
  std::int64_t file_bytes() const { return tensors.empty() ? data_offset : tensors.back().end; }
};

/// Reads the header of `file` (the bytes of a whole safetensors file) and checks that the tensors make up the
/// rest of it. `name` is the file's name for messages. Only the pages of the header are touched.
///
/// Throws std::invalid_argument, naming the file and the tensor, for anything else: fewer than 8 bytes; a
/// header that is longer than the file or 100,000,000 bytes, does not start with '{', is no JSON in UTF-8,
/// has a name, a key or a metadata entry twice; metadata that are no texts; a tensor with other keys than
/// dtype, shape and data_offsets (the reference implementation skips those, and a copy would lose them) or
/// without one of them; unknown dtypes; more than 64 axes; extents and offsets that are no integers from 0 to
/// 2^63 - 1; tensors that begin after their end, end after the file, have another number of bytes than their
/// shape and dtype, overlap or leave bytes between them or at the end of the file. Takes memory for what the
/// header holds, never for what it claims.
///
/// Format: https://github.com/huggingface/safetensors#format
SafetensorsHeader read_safetensors_header(std::span<const std::byte> file, std::string_view name);

/// Where everything goes in a safetensors file yet to be written.
struct SafetensorsLayout {
  std::string bytes;  ///< what precedes the data: the length, and the header padded with spaces
  SafetensorsHeader header;
};

/// The layout of a file with these tensors, whose `begin` and `end` are not looked at. `name` is the file's
/// name for messages.
///
/// The tensors come by falling alignment of their dtype, then by name, whatever order they are given in, and
/// the data start at a multiple of 8 bytes, as the reference implementation has it: so every tensor is
/// aligned to its elements and can be used where it is mapped, and equal contents are equal files.
///
/// Throws std::invalid_argument, naming the file and the tensor, for names that come twice, are
/// `__metadata__` or, as metadata, are no UTF-8; negative extents; more than 64 axes; more than 2^63 - 1
/// bytes; elements of 4 or 6 bits that do not fill whole bytes; a header of more than 100,000,000 bytes.
SafetensorsLayout plan_safetensors(std::vector<SafetensorsTensor> tensors,
                                   std::map<std::string, std::string> metadata, std::string_view name);

}  // namespace papillon::cli
