// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/quantized_tensor.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "cli/commands.hpp"
#include "cli/file_checks.hpp"
#include "papillon/core/quantize_problem.hpp"
#include "papillon/version.hpp"

namespace papillon::cli {

namespace {

using nlohmann::json;

constexpr std::string_view metadata_key = "papillon_quantization";
constexpr int metadata_version = 1;

constexpr std::array all_formats = {BlockFormat::nvfp4,      BlockFormat::mxfp4,    BlockFormat::mxfp8_e4m3,
                                    BlockFormat::mxfp8_e5m2, BlockFormat::fp8_e4m3, BlockFormat::fp8_e5m2,
                                    BlockFormat::int8,       BlockFormat::int4};
constexpr std::array all_rules = {ScaleRule::automatic, ScaleRule::divide,   ScaleRule::transformer_engine,
                                  ScaleRule::ocp,       ScaleRule::round_up, ScaleRule::symmetric};
constexpr std::array all_layouts = {ScaleLayout::row_major, ScaleLayout::swizzled};
constexpr std::array all_shapes = {BlockShape::vector, BlockShape::square};

/// Which of the values has the name. Throws std::invalid_argument for a name of none.
template <class Values>
auto value_of(const Values& values, const json& object, const char* key) {
  const auto name = object.at(key).get<std::string>();
  for (const auto value : values)
    if (name_of(value) == name) return value;
  throw std::invalid_argument(std::string(key) + " is '" + shorten(name) + "'");
}

SafetensorsDtype scale_dtype(BlockFormat format) {
  switch (format) {
    case BlockFormat::nvfp4:
      return SafetensorsDtype::f8_e4m3;
    case BlockFormat::mxfp4:
    case BlockFormat::mxfp8_e4m3:
    case BlockFormat::mxfp8_e5m2:
      return SafetensorsDtype::f8_e8m0;
    default:
      return SafetensorsDtype::f32;
  }
}

/// Everything about x but its elements is checked as the library does, on a matrix of no rows: its quantised
/// axis is the other's. Sizes and the axis are checked by `quantized_layout`.
void check_options(const QuantizedTensor& tensor) {
  alignas(16) static std::byte placeholder[16];
  float global_scale = 0;
  QuantizeOptions options = tensor.options;
  options.axis = 1;
  const std::array extents = {std::int64_t{0}, tensor.layout().columns};
  const auto x = detail::make_row_major<const void*>(placeholder, tensor.type, extents);
  detail::make_quantize_problem(x, {{}, {}, &global_scale}, options, true);
}

json write_entry(const QuantizedTensor& tensor) {
  const QuantizeOptions& options = tensor.options;
  json object = {{"format", name_of(options.format)},
                 {"dtype", name_of(tensor.type)},
                 {"shape", tensor.shape},
                 {"axis", options.axis},
                 {"block", options.block},
                 {"block_shape", name_of(options.block_shape)},
                 {"scale_rule", name_of(options.scale_rule)},
                 {"scale_layout", name_of(options.scale_layout)},
                 {"rotation", options.rotation},
                 {"rounding", name_of(options.rounding)}};
  if (options.signs.seed) object["seed"] = *options.signs.seed;
  if (options.rounding == Rounding::stochastic) {
    object["random_seed"] = options.random_seed;
    object["random_offset"] = options.random_offset;
  }
  if (options.global_scale_source == GlobalScaleSource::given)
    object["given_global_scale"] = options.global_scale;
  return object;
}

/// What matters for dequantising; the rest of an entry is there for people.
QuantizedTensor read_entry(const std::string& name, const json& object) {
  QuantizedTensor tensor;
  tensor.name = name;
  const auto dtype = object.at("dtype").get<std::string>();
  const std::optional<ScalarType> type = scalar_type_from_name(dtype);
  if (!type) throw std::invalid_argument("dtype is '" + shorten(dtype) + "'");
  tensor.type = *type;
  tensor.shape = object.at("shape").get<std::vector<std::int64_t>>();
  QuantizeOptions& options = tensor.options;
  options.format = value_of(all_formats, object, "format");
  options.axis = object.at("axis").get<int>();
  options.block = object.at("block").get<std::int64_t>();
  options.block_shape = value_of(all_shapes, object, "block_shape");
  options.scale_rule = value_of(all_rules, object, "scale_rule");
  options.scale_layout = value_of(all_layouts, object, "scale_layout");
  options.rotation = object.at("rotation").get<std::int64_t>();
  if (object.contains("seed")) options.signs.seed = object.at("seed").get<std::uint64_t>();
  if (options.axis < 0) throw std::invalid_argument("axis is " + std::to_string(options.axis));
  tensor.layout();  // throws what does not fit
  check_options(tensor);
  return tensor;
}

/// Whether the file has the tensors that belong to a description.
void check_stored(const TensorFile& file, const QuantizedTensor& tensor) {
  for (const SafetensorsTensor& wanted : tensor.stored()) {
    const StoredTensor* found = file.find(wanted.name);
    if (found == nullptr)
      refuse(file.file.name(), "tensor \"", wanted.name, "\" is missing, which belongs to the quantised \"",
             tensor.name, "\"");
    if (found->dtype != wanted.dtype || found->shape != wanted.shape)
      refuse(file.file.name(), "tensor \"", wanted.name, "\" is ", found->description,
             ", but the metadata of the quantised \"", tensor.name, "\" say ", describe(wanted));
  }
}

}  // namespace

std::vector<SafetensorsTensor> QuantizedTensor::stored() const {
  const QuantizedLayout sizes = layout();
  std::vector<std::int64_t> codes_shape, scales_shape;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != static_cast<std::size_t>(options.axis)) codes_shape.push_back(shape[d]);
  scales_shape = codes_shape;
  codes_shape.push_back(sizes.row_bytes);
  scales_shape.push_back(sizes.blocks);
  if (options.scale_layout == ScaleLayout::swizzled) scales_shape = {sizes.scale_rows, sizes.scale_columns};
  std::vector<SafetensorsTensor> result;
  result.push_back({name, SafetensorsDtype::u8, codes_shape});
  result.push_back({scales_name(), scale_dtype(options.format), scales_shape});
  if (options.format == BlockFormat::nvfp4)
    result.push_back({global_scale_name(), SafetensorsDtype::f32, {}});
  return result;
}

QuantizedTensor describe_quantized(const TensorFile& file, const StoredTensor& x,
                                   const QuantizeOptions& options) {
  QuantizedTensor tensor{.name = x.name, .type = x.type.value(), .shape = x.shape, .options = options};
  try {
    const QuantizedLayout layout = tensor.layout();
    QuantizeOptions& stored = tensor.options;
    if (stored.axis < 0) stored.axis += static_cast<int>(x.shape.size());
    if (stored.rotation == whole_axis) stored.rotation = layout.columns;
    check_options(tensor);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file.prefix(x) + x.description + ": " + error.what());
  }
  return tensor;
}

std::map<std::string, QuantizedTensor> read_quantized(const TensorFile& file) {
  std::map<std::string, QuantizedTensor> tensors;
  const auto entry = file.metadata.find(std::string(metadata_key));
  if (entry == file.metadata.end()) return tensors;
  std::string name;
  const auto fail = [&](const std::string& why) {
    refuse(file.file.name(), "metadata ", metadata_key, name.empty() ? "" : ", tensor \"" + name + "\"", ": ",
           why);
  };
  try {
    const json all = json::parse(entry->second);
    const auto version = all.at("version").get<int>();
    if (version != metadata_version) fail("version " + std::to_string(version) + " is not known");
    for (const auto& [key, object] : all.at("tensors").items()) {
      name = key;
      tensors.emplace(name, read_entry(name, object));
    }
  } catch (const json::exception& error) {
    fail(shorten(error.what(), 120));
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).starts_with(file.file.name() + ": ")) throw;
    fail(error.what());
  }
  for (const auto& [key, tensor] : tensors) check_stored(file, tensor);
  return tensors;
}

void write_quantized(const std::map<std::string, QuantizedTensor>& tensors,
                     std::map<std::string, std::string>& metadata) {
  metadata.erase(std::string(metadata_key));
  if (tensors.empty()) return;
  json all = {{"version", metadata_version}, {"papillon", version}, {"tensors", json::object()}};
  for (const auto& [name, tensor] : tensors) all["tensors"][name] = write_entry(tensor);
  metadata.emplace(metadata_key, all.dump());
}

}  // namespace papillon::cli
