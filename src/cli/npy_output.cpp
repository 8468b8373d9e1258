// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/npy_output.hpp"

#include <cstring>

#include "cli/file_checks.hpp"
#include "papillon/core/errors.hpp"

namespace papillon::cli {

namespace {

std::int64_t checked_size(const std::string& name, const NpyHeader& header, std::int64_t offset) {
  __int128 bytes = size_of(header.type);
  for (const std::int64_t extent : header.shape) bytes = bytes > INT64_MAX ? bytes : bytes * extent;
  if (bytes > INT64_MAX - offset)
    refuse(name, "an array of shape ", to_text(header.shape), " has more than 2^63 - 1 bytes");
  return offset + static_cast<std::int64_t>(bytes);
}

}  // namespace

NpyOutput::NpyOutput(const std::string& name, const NpyHeader& header, bool overwrite)
    : NpyOutput(name, header, npy_header_bytes(header.type, header.fortran_order, header.shape), overwrite) {}

NpyOutput::NpyOutput(const std::string& name, const NpyHeader& header, const std::string& prefix,
                     bool overwrite)
    : offset_(static_cast<std::int64_t>(prefix.size())),
      file_(name, checked_size(name, header, offset_), overwrite) {
  std::memcpy(file_.bytes().data(), prefix.data(), prefix.size());
}

}  // namespace papillon::cli
