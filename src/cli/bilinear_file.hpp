// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "papillon/bilinear.hpp"

namespace papillon::cli {

/// The algorithm of a name, `strassen`, `winograd`, `hopcroft-kerr` or `strassen-squared`, or that of a JSON
/// file: an object of `name`, `m`, `k`, `n`, `rank` and the tables `u`, `v`, `w`, each a list of `rank` rows
/// or of all their entries.
///
/// Throws std::invalid_argument naming the file unless it has these and multiplies matrices.
BilinearAlgorithm bilinear_algorithm_from(const std::string& name);

}  // namespace papillon::cli
