// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/tensor_file.hpp"
#include "papillon/quantize_options.hpp"

namespace papillon::cli {

struct StudySettings {
  QuantizeOptions options;              ///< but for format, rotation and signs
  std::vector<BlockFormat> formats;     ///< empty: one of each kind
  std::vector<std::int64_t> rotations;  ///< empty: none, 16 to 256, and the whole axis
  std::optional<std::uint64_t> seed;    ///< signs of the rotations
  std::string json;                     ///< file to write, or empty
  std::string chart;                    ///< likewise
  bool force = false;
  int threads = 0;
};

/// Prints the error of every format with every rotation that the tensor's axis allows, for each of the
/// tensors, and for several their mean; writes the files asked for. Throws std::invalid_argument for options
/// that none of the tensors can be quantised with.
void run_study(const TensorFile& input, const std::vector<const StoredTensor*>& tensors,
               const StudySettings& settings);

}  // namespace papillon::cli
