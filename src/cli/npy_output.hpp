// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/atomic_file.hpp"
#include "cli/npy.hpp"

namespace papillon::cli {

/// An .npy file to write, that appears under its name only when it is complete (see AtomicFile); its header
/// is written.
class NpyOutput {
 public:
  /// Type, order and shape are those of `header`. Throws as AtomicFile does, and std::invalid_argument where
  /// the array has more than 2^63 - 1 bytes.
  NpyOutput(const std::string& name, const NpyHeader& header, bool overwrite);

  const AtomicFile& file() const { return file_; }
  std::int64_t data_offset() const { return offset_; }
  std::byte* data() const { return file_.bytes().data() + offset_; }
  void commit() { file_.commit(); }

 private:
  NpyOutput(const std::string& name, const NpyHeader& header, const std::string& prefix, bool overwrite);

  std::int64_t offset_;
  AtomicFile file_;
};

}  // namespace papillon::cli
