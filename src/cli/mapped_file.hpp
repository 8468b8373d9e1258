// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace papillon::cli {

/// A regular file mapped for reading only, so that a file larger than memory can be read.
///
/// Throws std::invalid_argument naming the file when it cannot be opened, is no regular file or cannot be
/// mapped.
class MappedFile {
 public:
  explicit MappedFile(std::string name);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// Copies the bytes from `offset` on. Throws std::runtime_error when the file has become shorter or fails.
  void read(std::int64_t offset, std::span<std::byte> target) const;

  /// Lets go of the pages of a range that has been read through bytes(); they keep their contents.
  void release(std::int64_t offset, std::int64_t length) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace papillon::cli
