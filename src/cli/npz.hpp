// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/loaded_array.hpp"

namespace papillon::cli {

/// Whether `a` comes before `b` where runs of digits count as numbers: factor_2 before factor_10.
bool naturally_less(std::string_view a, std::string_view b);

/// The arrays of an .npz file (a zip archive of .npy files, stored or deflated) or of a folder's .npy files
/// (those whose name begins with a dot are left out), in natural order of their names.
///
/// Throws std::invalid_argument naming the archive or folder, and the entry where one is at fault: no
/// archive, a broken one, an entry that is encrypted, fails its checksum, or is no .npy file, no arrays, more
/// than `most`. Throws std::runtime_error for an archive in a build without libzip.
std::vector<LoadedArray> load_arrays(const std::string& name, std::size_t most);

}  // namespace papillon::cli
