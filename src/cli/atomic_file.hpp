// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace papillon::cli {

/// A file of known size that appears under its name only when it is complete.
///
/// It is made under a temporary name in the same folder, with all its space reserved, and mapped for writing;
/// commit() brings it to the disk and renames it. Without commit() — an exception, SIGINT, SIGTERM or SIGHUP
/// — the temporary file is removed and whatever had the name before is untouched. One exists at a time.
///
/// Errors are std::runtime_error (std::invalid_argument for a name that is taken or no file) and name the
/// file.
class AtomicFile {
 public:
  /// Throws as the constructor does where the name is taken or no file, for work that is better not begun
  /// then.
  static void check_name(const std::string& name, bool overwrite);

  /// `overwrite` allows replacing a regular file of that name.
  AtomicFile(std::string name, std::int64_t size, bool overwrite);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

  /// Writes at `offset`, without making pages of the mapping resident; the mapping shows what was written.
  void write(std::int64_t offset, std::span<const std::byte> source) const;

  /// Starts bringing a range of bytes to the disk, and lets go of its pages in the mapping; they keep their
  /// contents.
  void flush(std::int64_t offset, std::int64_t length) const;

  /// Makes the file appear under its name.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void reserve(std::int64_t size) const;
  void discard();

  std::string name_;
  std::string folder_;
  std::string temporary_name_;
  bool overwrite_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace papillon::cli
