// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "papillon/core/quantize_problem.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "papillon/core/errors.hpp"
#include "papillon/core/hadamard_problem.hpp"
#include "papillon/core/tensor_checks.hpp"

namespace papillon::detail {
namespace {

constexpr int most_axes = 4;
constexpr std::size_t alignment = 16;

void check_choices(std::string_view operator_name, const QuantizeOptions& o) {
  const auto unknown = [&](std::string_view name, auto value) {
    throw_invalid_argument(operator_name, name, " has the unknown value ", static_cast<int>(value));
  };
  if (name_of(o.format) == "unknown") unknown("format", o.format);
  if (name_of(o.scale_rule) == "unknown") unknown("scale_rule", o.scale_rule);
  if (o.scale_layout != ScaleLayout::row_major && o.scale_layout != ScaleLayout::swizzled)
    unknown("scale_layout", o.scale_layout);
  if (o.block_shape != BlockShape::vector && o.block_shape != BlockShape::square)
    unknown("block_shape", o.block_shape);
  if (o.rounding != Rounding::nearest_even && o.rounding != Rounding::stochastic)
    unknown("rounding", o.rounding);
  if (name_of(o.global_scale_source) == "unknown") unknown("global_scale_source", o.global_scale_source);
}

ScaleRule checked_rule(std::string_view operator_name, const QuantizeOptions& options) {
  const bool mx = is_mx(options.format);
  const bool nvfp4 = options.format == BlockFormat::nvfp4;
  const ScaleRule standard = nvfp4 ? ScaleRule::divide : mx ? ScaleRule::ocp : ScaleRule::symmetric;
  const ScaleRule other = nvfp4 ? ScaleRule::transformer_engine : mx ? ScaleRule::round_up : standard;
  if (options.scale_rule == ScaleRule::automatic || options.scale_rule == standard) return standard;
  if (options.scale_rule == other) return other;
  throw_invalid_argument(operator_name, "scale_rule = ", name_of(options.scale_rule), " is none of ",
                         name_of(options.format), "'s, which has ", name_of(standard),
                         other != standard ? " and " : "", other != standard ? name_of(other) : "");
}

/// Elements that share a scale, of rows of `columns` elements, `lines` of which stand beside one another.
std::int64_t checked_block(std::string_view operator_name, const QuantizeOptions& options,
                           std::int64_t columns, std::int64_t lines) {
  if (!has_float_scales(options.format)) {
    const std::int64_t own = options.format == BlockFormat::nvfp4 ? 16 : 32;
    if (options.block != 0 && options.block != own) {
      throw_invalid_argument(operator_name, "block = ", options.block, " but ", name_of(options.format),
                             " has blocks of ", own);
    }
    return own;
  }
  if (options.block < 0) throw_invalid_argument(operator_name, "block = ", options.block, " is negative");
  if (options.block == 0 && options.block_shape == BlockShape::square) {
    throw_invalid_argument(operator_name,
                           "block = 0, the whole axis, cannot be had with block_shape = square");
  }
  // A longer block than there are elements, or lines of a square one, is no other block.
  const std::int64_t longest = std::max<std::int64_t>(
      options.block_shape == BlockShape::square ? std::max(columns, lines) : columns, 1);
  return options.block == 0 ? longest : std::min(options.block, longest);
}

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

struct Shape {
  QuantizedRows rows;
  int axis = 0;
};

/// What the extents and options say of codes and scales, for array `name`.
Shape checked_shape(std::string_view operator_name, std::string_view name,
                    std::span<const std::int64_t> extents, const QuantizeOptions& options) {
  check_choices(operator_name, options);
  const auto rank = static_cast<int>(extents.size());
  if (rank < 1 || rank > most_axes) {
    throw_invalid_argument(operator_name, name, " has rank ", rank, "; ranks 1 to ", most_axes, " are taken");
  }
  if (options.axis < -rank || options.axis >= rank) {
    throw_invalid_argument(operator_name, "axis = ", options.axis, " is outside -", rank, " … ", rank - 1,
                           " for shape ", to_text(extents));
  }
  Shape shape;
  shape.axis = options.axis < 0 ? options.axis + rank : options.axis;
  QuantizedLayout& layout = shape.rows.layout;
  layout.rows = 1;
  bool too_large = false;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t extent = extents[static_cast<std::size_t>(d)];
    if (extent < 0) {
      throw_invalid_argument(operator_name, name, " has a negative extent: ", to_text(extents));
    }
    if (d == shape.axis) {
      layout.columns = extent;
    } else {
      too_large = too_large || __builtin_mul_overflow(layout.rows, extent, &layout.rows);
    }
  }
  constexpr std::int64_t most_bytes = std::int64_t{1} << 58;
  too_large = too_large || layout.rows > most_bytes || layout.columns > most_bytes ||
              static_cast<__int128>(layout.rows + 128) * (layout.columns + 128) > most_bytes;
  if (too_large) {
    throw_invalid_argument(operator_name, name, " of shape ", to_text(extents),
                           " has more than 2^58 elements");
  }
  shape.rows.scaling = {options.format, checked_rule(operator_name, options)};
  const int line = shape.axis == rank - 1 ? rank - 2 : rank - 1;
  const std::int64_t lines = line >= 0 ? extents[static_cast<std::size_t>(line)] : 1;
  layout.block = checked_block(operator_name, options, layout.columns, lines);
  layout.blocks = (layout.columns + layout.block - 1) / layout.block;
  const ElementFormat element = element_format(options.format);
  layout.element_bits = element == ElementFormat::e2m1 || element == ElementFormat::int4 ? 4 : 8;
  const bool floats = has_float_scales(options.format);
  layout.scale_element_bytes = floats ? 4 : 1;
  const std::int64_t codes = floats ? layout.columns : layout.blocks * layout.block;
  layout.row_bytes = layout.element_bits == 4 ? (codes + 1) / 2 : codes;
  layout.scale_layout = options.scale_layout;
  layout.scale_rows = layout.rows;
  layout.scale_columns = layout.blocks;
  if (options.scale_layout == ScaleLayout::swizzled) {
    if (floats) {
      throw_invalid_argument(operator_name, "scale_layout = swizzled is for one-byte scales, but those of ",
                             name_of(options.format), " are floats");
    }
    layout.scale_rows = rounded_up(layout.rows, 128);
    layout.scale_columns = rounded_up(layout.blocks, 4);
  }
  layout.payload_bytes = static_cast<std::size_t>(layout.rows * layout.row_bytes);
  layout.scale_bytes =
      static_cast<std::size_t>(layout.scale_rows * layout.scale_columns * layout.scale_element_bytes);
  if (options.block_shape == BlockShape::square) shape.rows.square_rows = lines;
  return shape;
}

RowIndex row_index(const ConstTensorDescriptor& tensor, int axis) {
  RowIndex index;
  index.element_stride = tensor.strides[static_cast<std::size_t>(axis)];
  for (int d = 0; d < tensor.rank; ++d) {
    if (d == axis) continue;
    const auto i = static_cast<std::size_t>(d);
    const auto place = static_cast<std::size_t>(index.outer_rank++);
    index.extents[place] = tensor.extents[i];
    index.strides[place] = tensor.strides[i];
  }
  // Neighbouring indices that step as one spare divisions.
  for (int d = index.outer_rank - 2; d >= 0; --d) {
    if (index.extents[d] != 1 && index.strides[d] != index.extents[d + 1] * index.strides[d + 1]) continue;
    index.extents[d] *= index.extents[d + 1];
    index.strides[d] = index.strides[d + 1];
    for (int e = d + 1; e + 1 < index.outer_rank; ++e) {
      index.extents[e] = index.extents[e + 1];
      index.strides[e] = index.strides[e + 1];
    }
    --index.outer_rank;
  }
  return index;
}

void check_scalar(std::string_view operator_name, std::string_view name, ScalarType type) {
  if (is_complex(type) || is_integer(type)) {
    throw_invalid_argument(operator_name, name, " holds ", name_of(type),
                           "; float16, bfloat16, float32 and float64 are taken");
  }
}

bool is_empty(const ConstTensorDescriptor& x) {
  const auto shape = x.shape();
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// Bytes [first, last) of memory, with a name for messages.
struct Range {
  std::string name;
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
};

Range range_of(const std::string& name, const void* data, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  return {name, first, data == nullptr ? first : first + bytes};
}

Range range_of(const std::string& name, const ConstTensorDescriptor& tensor) {
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.type));
  std::int64_t low = 0;
  std::int64_t high = bytes;
  for (int d = 0; d < tensor.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    const std::int64_t reach = (tensor.extents[i] - 1) * tensor.strides[i] * bytes;
    (reach < 0 ? low : high) += reach;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(tensor.data);
  return {name, start + static_cast<std::uintptr_t>(low), start + static_cast<std::uintptr_t>(high)};
}

void check_apart(std::string_view operator_name, const Range& a, const Range& b) {
  if (a.first < b.last && b.first < a.last) {
    throw_invalid_argument(operator_name, a.name, " at ", reinterpret_cast<const void*>(a.first), " and ",
                           b.name, " at ", reinterpret_cast<const void*>(b.first), " overlap");
  }
}

/// What a call writes; `q` is the name of the view.
std::vector<Range> output_ranges(const QuantizeProblem& problem, const std::string& q) {
  const QuantizedLayout& layout = problem.q.layout;
  return {range_of(q + ".payload", problem.payload, layout.payload_bytes),
          range_of(q + ".scales", problem.scales, layout.scale_bytes),
          range_of(q + ".global_scale", problem.global_scale, sizeof(float)),
          range_of("amax", problem.amax, sizeof(float)),
          range_of("statistics", problem.statistics, sizeof(QuantizeStatistics))};
}

void check_all_apart(std::string_view operator_name, std::vector<Range> ranges,
                     const ConstTensorDescriptor& x, const QuantizeOptions& options) {
  ranges.push_back(range_of("workspace", options.workspace.data, options.workspace.bytes));
  const Range signs = range_of("signs", options.signs.values.data(), options.signs.values.size());
  for (const Range& range : ranges) check_apart(operator_name, range, signs);
  if (!is_empty(x)) ranges.push_back(range_of("x", x));
  for (std::size_t a = 0; a < ranges.size(); ++a)
    for (std::size_t b = a + 1; b < ranges.size(); ++b) check_apart(operator_name, ranges[a], ranges[b]);
}

template <class Byte>
void check_buffer(std::string_view operator_name, std::string_view name, std::span<Byte> buffer,
                  std::size_t bytes, const QuantizedLayout& layout) {
  if (buffer.size() != bytes) {
    throw_invalid_argument(operator_name, name, " has ", buffer.size(), " bytes but ", layout.rows,
                           " rows of ", layout.columns, " elements in blocks of ", layout.block, " take ",
                           bytes);
  }
  if (bytes == 0) return;
  if (buffer.data() == nullptr) throw_invalid_argument(operator_name, name, " has a null pointer");
  if (reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment != 0) {
    throw_invalid_argument(operator_name, name, " at ", static_cast<const void*>(buffer.data()),
                           " is not aligned to ", alignment, " bytes");
  }
}

template <class Byte, class Float>
void check_view(std::string_view operator_name, const std::string& name,
                const BasicBlockScaledView<Byte, Float>& q, const QuantizedRows& rows) {
  check_buffer(operator_name, name + ".payload", q.payload, rows.layout.payload_bytes, rows.layout);
  check_buffer(operator_name, name + ".scales", q.scales, rows.layout.scale_bytes, rows.layout);
  if (rows.scaling.format != BlockFormat::nvfp4) return;
  if (q.global_scale == nullptr) {
    throw_invalid_argument(operator_name, name, ".global_scale is null, but nvfp4 has a scale of the tensor");
  }
  if (reinterpret_cast<std::uintptr_t>(q.global_scale) % alignof(float) != 0) {
    throw_invalid_argument(operator_name, name, ".global_scale at ", static_cast<const void*>(q.global_scale),
                           " is not aligned to a float");
  }
}

/// Points of a rotation; 0 for none.
std::int64_t checked_group(std::string_view operator_name, const QuantizeOptions& options,
                           const ConstTensorDescriptor& x, int axis, bool signs_readable) {
  const std::int64_t n = x.extents[static_cast<std::size_t>(axis)];
  const Signs& signs = options.signs;
  if (options.rotation < whole_axis) {
    throw_invalid_argument(operator_name, "rotation = ", options.rotation,
                           " is neither 0, nor the points of a group, nor whole_axis (-1)");
  }
  if (options.rotation == 0) {
    if (signs.seed || signs.values.data() != nullptr)
      throw_invalid_argument(operator_name,
                             "signs are given, but rotation = 0: there is nothing they belong to");
    return 0;
  }
  if (signs.side != SignSide::input)
    throw_invalid_argument(operator_name, "signs.side = output: signs of a rotation are on its input side");
  if (n == 0) return 0;
  const std::int64_t group = options.rotation == whole_axis ? n : options.rotation;
  // The checks of the transform itself, whose messages say what is wrong with the length, group and signs.
  alignas(16) static std::byte placeholder[16];  // x may be aligned to 16-bit elements alone
  const TensorDescriptor row = make_row_major<void*>(placeholder, ScalarType::float32, std::array{n});
  try {
    make_hadamard_problem(row, row, rotation_options(group, signs, false), signs_readable);
  } catch (const std::invalid_argument& error) {
    throw_invalid_argument(operator_name, "rotation = ", options.rotation, " of axis ", axis, " of shape ",
                           to_text(x.shape()), ": ", error.what());
  }
  return group;
}

template <class T>
void check_output(std::string_view operator_name, std::string_view name, const T* pointer) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) != 0) {
    throw_invalid_argument(operator_name, name, " at ", static_cast<const void*>(pointer),
                           " is not aligned to ", alignof(T), " bytes");
  }
}

}  // namespace

HadamardOptions rotation_options(std::int64_t group, const Signs& signs, bool inverse) {
  HadamardOptions options;
  options.norm = Normalization::ortho;
  options.group = group;
  options.signs = signs;
  options.transpose = inverse;
  if (inverse) options.signs.side = SignSide::output;
  return options;
}

QuantizeProblem make_quantize_problem(const ConstTensorDescriptor& x, const BlockScaledView& q,
                                      const QuantizeOptions& options, bool signs_readable,
                                      const std::string& q_name) {
  constexpr std::string_view name = "quantize";
  check_tensor(name, x, "x");
  check_scalar(name, "x", x.type);
  const Shape shape = checked_shape(name, "x", x.shape(), options);
  check_view(name, q_name, q, shape.rows);
  QuantizeProblem problem;
  problem.scalar = x.type;
  problem.x = x.data;
  problem.x_rows = row_index(x, shape.axis);
  problem.q = shape.rows;
  problem.payload = q.payload.data();
  problem.scales = q.scales.data();
  if (options.format == BlockFormat::nvfp4) problem.global_scale = q.global_scale;
  problem.global_source = options.global_scale_source;
  if (options.global_scale_source == GlobalScaleSource::given) {
    if (options.format == BlockFormat::nvfp4 && !is_usable_scale(options.global_scale)) {
      throw_invalid_argument(name, "global_scale = ", options.global_scale, " is not positive and finite");
    }
    problem.given_scale = options.global_scale;
  }
  problem.empty = is_empty(x);
  problem.group = checked_group(name, options, x, shape.axis, signs_readable);
  problem.signs = options.signs;
  problem.stochastic = options.rounding == Rounding::stochastic;
  problem.random = {options.random_seed, options.random_offset};
  problem.amax = options.amax;
  problem.statistics = options.statistics;
  problem.workspace = options.workspace;
  check_output(name, "amax", options.amax);
  check_output(name, "statistics", options.statistics);

  check_all_apart(name, output_ranges(problem, q_name), x, options);
  return problem;
}

QuantizePair make_quantize_pair(const ConstTensorDescriptor& x, const BlockScaledView& q,
                                const BlockScaledView& q_other, int other_axis,
                                const QuantizeOptions& options, bool signs_readable) {
  QuantizePair pair;
  pair.first = make_quantize_problem(x, q, options, signs_readable);
  QuantizeOptions other = options;
  other.axis = other_axis;
  other.amax = nullptr;
  other.statistics = nullptr;
  pair.second = make_quantize_problem(x, q_other, other, signs_readable, "q_other");
  const auto position = [&](int axis) { return axis < 0 ? axis + x.rank : axis; };
  if (position(options.axis) == position(other_axis)) {
    throw_invalid_argument("quantize", "other_axis = ", other_axis, " is options.axis too, for shape ",
                           to_text(x.shape()));
  }
  std::vector<Range> ranges = output_ranges(pair.first, "q");
  for (const Range& range : output_ranges(pair.second, "q_other")) ranges.push_back(range);
  check_all_apart("quantize", ranges, x, options);
  return pair;
}

DequantizeProblem make_dequantize_problem(const ConstBlockScaledView& q, const TensorDescriptor& y,
                                          const QuantizeOptions& options, bool signs_readable) {
  constexpr std::string_view name = "dequantize";
  check_tensor(name, y, "y");
  check_scalar(name, "y", y.type);
  const Shape shape = checked_shape(name, "y", y.shape(), options);
  check_view(name, "q", q, shape.rows);
  DequantizeProblem problem;
  problem.scalar = y.type;
  problem.y = y.data;
  problem.y_rows = row_index(y, shape.axis);
  problem.q = shape.rows;
  problem.payload = q.payload.data();
  problem.scales = q.scales.data();
  if (options.format == BlockFormat::nvfp4) problem.global_scale = q.global_scale;
  problem.empty = is_empty(y);
  problem.group = checked_group(name, options, y, shape.axis, signs_readable);
  problem.signs = options.signs;
  problem.workspace = options.workspace;
  if (problem.empty) return problem;
  check_not_repeating(name, y);
  const Range workspace = range_of("workspace", options.workspace.data, options.workspace.bytes);
  const Range target = range_of("y", y);
  check_apart(name, target, workspace);
  for (const Range& source : {range_of("q.payload", problem.payload, q.payload.size()),
                              range_of("q.scales", problem.scales, q.scales.size()),
                              range_of("q.global_scale", problem.global_scale, sizeof(float)),
                              range_of("signs", options.signs.values.data(), options.signs.values.size())}) {
    check_apart(name, target, source);
    check_apart(name, workspace, source);
  }
  return problem;
}

}  // namespace papillon::detail

namespace papillon {

QuantizedLayout quantized_layout(std::span<const std::int64_t> extents, const QuantizeOptions& options) {
  return detail::checked_shape("quantized_layout", "extents", extents, options).rows.layout;
}

}  // namespace papillon
