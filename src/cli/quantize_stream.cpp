// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/quantize_stream.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "papillon/core/block_scale.hpp"
#include "papillon/quantize.hpp"

namespace papillon::cli {

namespace {

constexpr std::int64_t part_bytes = std::int64_t{64} << 20;
constexpr std::int64_t tile_rows = 128;  // of swizzled scales

/// Memory as quantize and dequantize want it, aligned to 64 bytes.
using Buffer = Kokkos::View<std::uint8_t*, Kokkos::HostSpace>;

Buffer make_buffer(std::size_t bytes) {
  return Buffer(Kokkos::view_alloc(Kokkos::WithoutInitializing, "papillon: part of a tensor"), bytes);
}

std::span<std::byte> bytes_of(const Buffer& buffer, std::int64_t count) {
  return {reinterpret_cast<std::byte*>(buffer.data()), static_cast<std::size_t>(count)};
}

/// Rows of about `part_bytes` in whole units; all of them if `divisible` is false.
std::int64_t rows_of_a_part(const QuantizedLayout& layout, std::int64_t element_bytes, std::int64_t unit,
                            bool divisible) {
  const std::int64_t row_bytes = std::max<std::int64_t>(layout.columns * element_bytes, 1);
  const std::int64_t units = std::max<std::int64_t>(part_bytes / row_bytes / unit, 1);
  if (!divisible || layout.columns == 0 || units >= layout.rows / unit) return layout.rows;
  return units * unit;
}

std::int64_t element_bytes_of(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

bool is_last_axis(const QuantizedTensor& tensor) { return tensor.options.axis == tensor.rank() - 1; }

/// The options for a part, which is a matrix of whole rows.
QuantizeOptions options_of_rows(QuantizeOptions options) {
  options.axis = 1;
  return options;
}

void add(QuantizeStatistics& sum, const QuantizeStatistics& part) {
  sum.nan += part.nan;
  sum.infinite += part.infinite;
  sum.saturated += part.saturated;
  sum.zero_scale_blocks += part.zero_scale_blocks;
}

/// Codes and scales of some rows, in memory.
class Codes {
 public:
  explicit Codes(const QuantizedLayout& layout)
      : payload_(make_buffer(layout.payload_bytes)), scales_(make_buffer(layout.scale_bytes)) {}

  BlockScaledView view(const QuantizedLayout& layout) {
    return {{payload_.data(), layout.payload_bytes}, {scales_.data(), layout.scale_bytes}, &global_scale_};
  }
  ConstBlockScaledView const_view(const QuantizedLayout& layout) const {
    return {{payload_.data(), layout.payload_bytes}, {scales_.data(), layout.scale_bytes}, &global_scale_};
  }
  std::span<std::byte> payload(const QuantizedLayout& layout) const {
    return bytes_of(payload_, static_cast<std::int64_t>(layout.payload_bytes));
  }
  std::span<std::byte> scales(const QuantizedLayout& layout) const {
    return bytes_of(scales_, static_cast<std::int64_t>(layout.scale_bytes));
  }
  float& global_scale() { return global_scale_; }

 private:
  Buffer payload_;
  Buffer scales_;
  float global_scale_ = 0;
};

/// Where the codes and scales of the rows from `row` on begin, in bytes; `row` is a multiple of 128 with the
/// swizzled layout, whose tiles of 128 rows follow each other.
std::int64_t payload_offset(const QuantizedLayout& layout, std::int64_t row) {
  return row * layout.row_bytes;
}
std::int64_t scales_offset(const QuantizedLayout& layout, std::int64_t row) {
  return row * layout.scale_columns * layout.scale_element_bytes;
}

/// A tensor on its way through quantize.
class Quantization {
 public:
  Quantization(const TensorFile& input, const StoredTensor& x, const QuantizedTensor& quantized,
               const Progress& progress)
      : input_(input), x_(x), quantized_(quantized), layout_(quantized.layout()), progress_(progress) {
    const QuantizeOptions& options = quantized.options;
    const bool square = options.block_shape == BlockShape::square;
    const bool divisible = x.is_row_major() && is_last_axis(quantized) &&
                           options.rounding == Rounding::nearest_even && !(square && quantized.rank() != 2) &&
                           !(computes_global() && options.scale_rule == ScaleRule::transformer_engine);
    const std::int64_t unit = std::lcm(tile_rows, square ? layout_.block : 1);
    part_rows_ = rows_of_a_part(layout_, element_bytes_of(*x.type), unit, divisible);
  }

  bool computes_global() const {
    return quantized_.options.format == BlockFormat::nvfp4 &&
           quantized_.options.global_scale_source == GlobalScaleSource::computed;
  }
  bool in_parts() const { return part_rows_ < layout_.rows; }

  /// Calls done(codes, layout, first row) for each part.
  template <class Done>
  void run(const QuantizeOptions& options, const Done& done) const {
    if (!in_parts()) {
      const TensorElements x(input_, x_);
      Codes codes(layout_);
      quantize_part(x.array(), options, codes, layout_);
      done(codes, layout_, std::int64_t{0});
      return progress_(x_.bytes);
    }
    const std::int64_t row_bytes = layout_.columns * element_bytes_of(*x_.type);
    const Buffer buffer = make_buffer(static_cast<std::size_t>(part_rows_ * row_bytes));
    const QuantizeOptions part_options = options_of_rows(options);
    Codes codes(quantized_layout(std::array{part_rows_, layout_.columns}, part_options));
    for (std::int64_t row = 0; row < layout_.rows; row += part_rows_) {
      const std::array extents = {std::min(part_rows_, layout_.rows - row), layout_.columns};
      const std::int64_t bytes = extents[0] * row_bytes;
      input_.file.read(x_.offset + row * row_bytes, bytes_of(buffer, bytes));
      const QuantizedLayout part_layout = quantized_layout(extents, part_options);
      quantize_part(detail::make_row_major<const void*>(buffer.data(), *x_.type, extents), part_options,
                    codes, part_layout);
      done(codes, part_layout, row);
      progress_(bytes);
    }
  }

 private:
  static void quantize_part(const ConstTensorDescriptor& x, const QuantizeOptions& options, Codes& codes,
                            const QuantizedLayout& layout) {
    const Kokkos::DefaultHostExecutionSpace space;
    quantize(space, x, codes.view(layout), options);
    space.fence("papillon: part of a tensor");
  }

  const TensorFile& input_;
  const StoredTensor& x_;
  const QuantizedTensor& quantized_;
  QuantizedLayout layout_;
  const Progress& progress_;
  std::int64_t part_rows_ = 0;
};

const SafetensorsTensor& place_of(const SafetensorsHeader& layout, const std::string& name) {
  return *layout.find(name);
}

}  // namespace

QuantizeStatistics quantize_tensor(const TensorFile& input, const StoredTensor& x,
                                   const QuantizedTensor& quantized, const AtomicFile& output,
                                   const SafetensorsHeader& layout, const Progress& progress) {
  const Quantization quantization(input, x, quantized, progress);
  QuantizeOptions options = quantized.options;
  if (quantization.computes_global() && quantization.in_parts()) {
    // The largest magnitude of all parts first. The scale that follows from it is given to each.
    float amax = 0, part_amax = 0;
    QuantizeOptions first = options;
    first.global_scale_source = GlobalScaleSource::given;
    first.global_scale = 1;
    first.amax = &part_amax;
    quantization.run(
        first, [&](const Codes&, const QuantizedLayout&, std::int64_t) { amax = std::max(amax, part_amax); });
    options.global_scale_source = GlobalScaleSource::given;
    options.global_scale = detail::GlobalScale::from_amax(amax, options.scale_rule).decode;
  }
  QuantizeStatistics sum, part;
  options.statistics = &part;
  const QuantizedLayout whole = quantized.layout();
  const std::int64_t payload = place_of(layout, quantized.name).begin;
  const std::int64_t scales = place_of(layout, quantized.scales_name()).begin;
  quantization.run(options, [&](Codes& codes, const QuantizedLayout& rows, std::int64_t first_row) {
    const auto write = [&](std::int64_t offset, std::span<const std::byte> bytes) {
      if (bytes.empty()) return;
      output.write(offset, bytes);
      output.flush(offset, static_cast<std::int64_t>(bytes.size()));
    };
    write(payload + payload_offset(whole, first_row), codes.payload(rows));
    write(scales + scales_offset(whole, first_row), codes.scales(rows));
    if (options.format == BlockFormat::nvfp4) {
      output.write(place_of(layout, quantized.global_scale_name()).begin,
                   std::as_bytes(std::span(&codes.global_scale(), 1)));
    }
    add(sum, part);
  });
  return sum;
}

void dequantize_tensor(const TensorFile& input, const QuantizedTensor& quantized, ScalarType type,
                       const AtomicFile& output, std::int64_t offset, const Progress& progress) {
  const Kokkos::DefaultHostExecutionSpace space;
  const QuantizedLayout layout = quantized.layout();
  const std::int64_t element_bytes = element_bytes_of(type);
  const std::int64_t part_rows = rows_of_a_part(layout, element_bytes, tile_rows, is_last_axis(quantized));
  const bool whole = part_rows >= layout.rows;
  const std::int64_t payload = input.find(quantized.name)->offset;
  const std::int64_t scales = input.find(quantized.scales_name())->offset;
  QuantizeOptions options = quantized.options;
  if (!whole) {
    options = options_of_rows(options);
    options.block_shape = BlockShape::vector;  // every row has its scales
  }
  const auto layout_of = [&](std::int64_t rows) {
    return whole ? layout : quantized_layout(std::array{rows, layout.columns}, options);
  };
  Codes codes(layout_of(part_rows));
  if (options.format == BlockFormat::nvfp4) {
    input.file.read(input.find(quantized.global_scale_name())->offset,
                    std::as_writable_bytes(std::span(&codes.global_scale(), 1)));
  }
  const std::int64_t row_bytes = layout.columns * element_bytes;
  const Buffer buffer = make_buffer(static_cast<std::size_t>(whole ? 0 : part_rows * row_bytes));
  for (std::int64_t row = 0; row < layout.rows; row += part_rows) {
    const std::int64_t rows = std::min(part_rows, layout.rows - row);
    const QuantizedLayout part = layout_of(rows);
    input.file.read(payload + payload_offset(layout, row), codes.payload(part));
    input.file.read(scales + scales_offset(layout, row), codes.scales(part));
    const std::int64_t begin = offset + row * row_bytes;
    // All at once it goes to the mapping, where files have their arrays aligned to the element.
    void* target = whole ? static_cast<void*>(output.bytes().data() + offset) : buffer.data();
    const TensorDescriptor y =
        whole ? detail::make_row_major<void*>(target, type, quantized.shape)
              : detail::make_row_major<void*>(target, type, std::array{rows, layout.columns});
    dequantize(space, codes.const_view(part), y, options);
    space.fence("papillon: part of a tensor");
    if (!whole) output.write(begin, bytes_of(buffer, rows * row_bytes));
    if (rows * row_bytes > 0) output.flush(begin, rows * row_bytes);
    progress(rows * row_bytes);
  }
}

}  // namespace papillon::cli
