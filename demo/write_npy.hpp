// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <fstream>
#include <papillon/core/view.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/npy.hpp"

/// Writes a contiguous row-major View as an .npy file.
template <class View>
void write_npy(const std::string& path, const View& array) {
  static_assert(std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>);
  using Value = std::remove_const_t<typename View::value_type>;
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < View::rank(); ++d) shape.push_back(static_cast<std::int64_t>(array.extent(d)));
  std::ofstream file(path, std::ios::binary);
  file << papillon::cli::npy_header_bytes(papillon::cli::npy_type(papillon::scalar_type_of<Value>), false,
                                          shape);
  file.write(reinterpret_cast<const char*>(array.data()),
             static_cast<std::streamsize>(array.size() * sizeof(Value)));
  if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
}
