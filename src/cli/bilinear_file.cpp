// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/bilinear_file.hpp"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "cli/file_checks.hpp"
#include "cli/mapped_file.hpp"

namespace papillon::cli {

namespace {

using nlohmann::json;

constexpr int largest_extent = 64;
constexpr int largest_rank = 16807;

const json& member(const json& object, std::string_view key, const std::string& file) {
  const auto place = object.find(key);
  if (place == object.end()) refuse(file, "has no \"", key, "\"");
  return *place;
}

/// An integer of the file from `least` to `most`; what is none is refused under the name `what`.
int integer_of(const json& value, int least, int most, std::string_view what, const std::string& file) {
  if (!value.is_number_integer() || value < least || value > most) {
    refuse(file, what, " holds ", shorten(value.dump()), "; integers from ", least, " to ", most,
           " are taken");
  }
  return value.get<int>();
}

std::vector<std::int8_t> table_of(const json& value, std::string_view key, const std::string& file) {
  std::vector<std::int8_t> table;
  const auto add = [&](const json& entry) {
    table.push_back(static_cast<std::int8_t>(integer_of(entry, -127, 127, key, file)));
  };
  if (!value.is_array()) refuse(file, "\"", key, "\" is no list");
  for (const json& row : value) {
    if (row.is_array()) {
      for (const json& entry : row) add(entry);
    } else {
      add(row);
    }
  }
  return table;
}

json parsed(const std::string& name) {
  const MappedFile file(name);
  const auto* const text = reinterpret_cast<const char*>(file.bytes().data());
  try {
    return json::parse(text, text + file.bytes().size());
  } catch (const json::exception& error) {
    refuse(name, "is no JSON: ", error.what());
  }
}

BilinearAlgorithm read_algorithm(const std::string& file) {
  const json object = parsed(file);
  if (!object.is_object()) refuse(file, "holds no JSON object");
  BilinearAlgorithm algorithm;
  const json& name = member(object, "name", file);
  if (!name.is_string()) refuse(file, "\"name\" is no text");
  algorithm.name = name.get<std::string>();
  algorithm.m = integer_of(member(object, "m", file), 1, largest_extent, "m", file);
  algorithm.k = integer_of(member(object, "k", file), 1, largest_extent, "k", file);
  algorithm.n = integer_of(member(object, "n", file), 1, largest_extent, "n", file);
  algorithm.rank = integer_of(member(object, "rank", file), 1, largest_rank, "rank", file);
  algorithm.u = table_of(member(object, "u", file), "u", file);
  algorithm.v = table_of(member(object, "v", file), "v", file);
  algorithm.w = table_of(member(object, "w", file), "w", file);
  const std::string reason = why_no_matrix_product(algorithm);
  if (!reason.empty()) refuse(file, "is not an algorithm for matrix products: ", reason);
  return algorithm;
}

}  // namespace

BilinearAlgorithm bilinear_algorithm_from(const std::string& name) {
  for (const auto* known : {&strassen_algorithm(), &winograd_algorithm(), &hopcroft_kerr_algorithm()})
    if (known->name == name) return *known;
  if (name == "strassen-squared") return strassen_squared_algorithm();
  try {
    return read_algorithm(name);
  } catch (const std::invalid_argument& error) {
    if (name.find_first_of("./") != std::string::npos) throw;
    throw std::invalid_argument(std::string(error.what()) +
                                " (it is none of strassen, winograd, hopcroft-kerr and strassen-squared)");
  }
}

}  // namespace papillon::cli
